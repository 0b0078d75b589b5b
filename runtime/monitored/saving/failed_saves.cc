// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/failed_saves.h"

#include <fmt/core.h>

#include <algorithm>

namespace belay::runtime {
namespace {

// The period of the log lines about failed saves while training continues.
constexpr std::int64_t kSayUnsavedNs = 600'000'000'000;

}  // namespace

void FailedSaves::note(std::int64_t step, std::int64_t begun_ns, const Error& error) {
  error_ = error.what();
  if (error.code() == Code::kDiverged) throw Error(error);
  ++count_;
  if (!unsaved_) unsaved_ = {begun_ns, begun_ns + kSayUnsavedNs};
  if (settings_.on_save_error == OnSaveError::kStop && count_ >= settings_.save_failures) throw Error(error);
  environment_.log.error("",
                         fmt::format("the checkpoint of step {} was not written ({}): {}", step, reaction(), error_));
}

void FailedSaves::note_last(std::int64_t step, const Error& error) {
  error_ = error.what();
  environment_.log.error("", fmt::format("the checkpoint of step {} was not written: {}", step, error_));
}

void FailedSaves::note_written() noexcept {
  error_.clear();
  count_ = 0;
  unsaved_.reset();
}

// The line of the first failure may be far up in a long log.
void FailedSaves::say(std::int64_t saved_step, std::int64_t step) {
  const std::int64_t now = environment_.clock.monotonic_ns();
  const std::int64_t minutes = (now - unsaved_->since_ns) / 60'000'000'000;
  unsaved_->say_at_ns = now + kSayUnsavedNs;
  environment_.log.warning(
      "", fmt::format("no checkpoint was written for {} min: {}, the training is at step {}, and what lies between is "
                      "lost if the process ends; the last save failed with: {}",
                      minutes, saved_step < 0 ? "there is none" : "the newest is of step " + std::to_string(saved_step),
                      step, error_));
}

// Returns the reaction as a clause: how many saves failed one after the other, and the setting on_save_error.
std::string FailedSaves::reaction() const {
  if (settings_.on_save_error == OnSaveError::kContinue) return "on_save_error = \"continue\"";
  return fmt::format("failure {} in a row, on_save_error = \"{}\" after {}", count_,
                     settings_.on_save_error == OnSaveError::kStop ? "stop" : "pause", settings_.save_failures);
}

bool FailedSaves::must_wait() const noexcept {
  return settings_.on_save_error == OnSaveError::kPause && count_ >= settings_.save_failures;
}

bool FailedSaves::wait(double seconds, const std::string& directory) {
  constexpr double kLookSecs = 1;
  for (; seconds > 0; seconds -= kLookSecs) {
    try {
      pause_.wait(environment_, std::min(seconds, kLookSecs));
    } catch (const Error&) {
      return false;
    }
    try {
      environment_.files.exists(directory);
    } catch (const Error&) {
      // The next save reports it.
    }
  }
  return true;
}

}  // namespace belay::runtime
