// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/open_session.h"

namespace belay::runtime {

std::shared_ptr<DirectSession> OpenSession::get() const {
  const std::lock_guard lock(mutex_);
  return raw_;
}

void OpenSession::set(const std::shared_ptr<DirectSession>& session) {
  const std::lock_guard lock(mutex_);
  raw_ = session;
  if (stop_now_) session->interrupt(Error(Code::kStop, stop_reason_));
}

void OpenSession::reset() {
  const std::lock_guard lock(mutex_);
  raw_.reset();
}

void OpenSession::request_stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!stop_requested_) stop_reason_ = reason;
  stop_requested_ = true;
}

void OpenSession::stop_now(const Error& stop) {
  const std::lock_guard lock(mutex_);
  stop_now_ = true;  // for a session that is being made at this moment
  if (raw_ != nullptr && !ending_) raw_->interrupt(stop);
}

std::string OpenSession::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return stop_reason_;
}

void OpenSession::begin_end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  raw_->resume();  // for the hooks' own runs
}

}  // namespace belay::runtime
