// SPDX-License-Identifier: Apache-2.0
// Warns of problems with the saves of a run, at most once each.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/monitored/run/run_environment.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class SaveWarnings {
 public:
  // Borrows it.
  explicit SaveWarnings(const RunEnvironment& environment) : environment_(environment) {}

  // Warns if the disk of the directory has no room for one checkpoint. [session thread]
  void say_if_disk_is_full(const DirectSession& session, const std::string& directory);
  // Warns if a save of so many seconds does not fit into the grace after a signal. `in_background`: another save may be
  // running when the signal comes. grace 0: nothing ends a save. [the thread that wrote]
  void say_if_slower_than_grace(double seconds, double grace, bool in_background);
  // Warns that the save of `step` waits for that of another step, and the training with it. [session thread]
  void say_that_it_waits(std::int64_t step, std::int64_t being_written);

 private:
  const RunEnvironment& environment_;
  bool said_disk_ = false;
  bool said_grace_ = false;
  bool said_wait_ = false;
};

}  // namespace belay::runtime
