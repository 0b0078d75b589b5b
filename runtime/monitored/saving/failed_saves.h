// SPDX-License-Identifier: Apache-2.0
// Counts the failed saves in a row. Then [checkpoint] on_save_error decides: the run continues, waits or ends. [session
// thread, but for stop_waiting and allow_waiting]
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "belay/error.h"
#include "belay/runtime/checkpoint_settings.h"
#include "runtime/monitored/run/run_environment.h"

namespace belay::runtime {

class FailedSaves {
 public:
  // Both are borrowed.
  FailedSaves(const RunEnvironment& environment, const CheckpointSettings& settings)
      : environment_(environment), settings_(settings) {}

  // Counts and logs the failure of the save of that step. Throws it if it is DIVERGED or ends the run.
  void note(std::int64_t step, std::int64_t begun_ns, const Error& error);
  // Logs the failure of a save that no other save follows.
  void note_last(std::int64_t step, const Error& error);
  // A checkpoint was written, so the count begins again.
  void note_written() noexcept;

  std::int64_t count() const noexcept { return count_; }
  // Returns the error of the newest save, or nothing if it did not fail.
  const std::string& error() const noexcept { return error_; }

  // True if it is time to log the failing saves again.
  bool must_say() const noexcept { return unsaved_ && environment_.clock.monotonic_ns() >= unsaved_->say_at_ns; }
  // `saved_step`: the step of the newest checkpoint, or -1.
  void say(std::int64_t saved_step, std::int64_t step);

  // True if the training waits until a checkpoint can be written.
  bool must_wait() const noexcept;
  // Returns false if stop_waiting ended the wait. It looks into the directory now and then, and the watchdog counts
  // that as progress.
  bool wait(double seconds, const std::string& directory);
  // Ends the current wait and later ones, until allow_waiting(). Any thread.
  void stop_waiting(const Error& reason) { pause_.end(reason); }
  void allow_waiting() { pause_.reset(); }

 private:
  // The series of failed saves. It begins with the first one.
  struct Unsaved {
    std::int64_t since_ns, say_at_ns;
  };
  std::string reaction() const;

  const RunEnvironment& environment_;
  const CheckpointSettings& settings_;
  std::string error_;
  std::int64_t count_ = 0;
  std::optional<Unsaved> unsaved_;
  Pause pause_;
};

}  // namespace belay::runtime
