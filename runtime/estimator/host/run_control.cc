// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/run_control.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {

void RunControl::stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!stopping_) reason_ = reason;
  stopping_ = true;
}

void RunControl::wake(const Error& reason) {
  interrupt_.cancel(reason);
  const std::lock_guard lock(mutex_);
  if (session_ != nullptr) session_->interrupt(reason);
}

RunControl::Interruptible::Interruptible(RunControl& control, MonitoredSession& session) : control_(control) {
  const std::lock_guard lock(control_.mutex_);
  control_.session_ = &session;
}

RunControl::Interruptible::~Interruptible() {
  std::thread saving;
  {
    const std::lock_guard lock(control_.mutex_);
    control_.session_->resume();
    saving = std::move(control_.saving_);
    control_.session_ = nullptr;
  }
  if (saving.joinable()) saving.join();
}

// The save has a separate thread. It may wait for a disk for ever, and then the caller ends the process.
void RunControl::save_beside_hook() {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr || saves_) return;
  if (saving_.joinable()) saving_.join();
  try {
    saved_ = false;
    saves_ = true;
    saving_ = std::thread([this, session = session_] {
      saved_ = session->save_beside_hook();
      saves_ = false;
    });
  } catch (const std::system_error&) {
    saves_ = false;  // there can be no thread now
  }
}

std::string RunControl::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void RunControl::note_saved(const std::string& path, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  saved_path_ = path;
  saved_step_ = step;
}

std::string RunControl::what_is_kept() const {
  const std::lock_guard lock(mutex_);
  const std::int64_t step = step_.load(std::memory_order_relaxed);
  if (saved_path_.empty())
    return step < 0 ? "nothing was saved since the start, the next one continues from the same place"
                    : "nothing was saved, the next start begins at step 0";
  const std::int64_t lost = std::max<std::int64_t>(step - saved_step_, 0);
  return "saved is " + escaped(saved_path_) + ", from which the next start continues; " +
         (lost == 0 ? "no step is lost" : std::to_string(lost) + (lost == 1 ? " step is lost" : " steps are lost"));
}

}  // namespace belay::runtime
