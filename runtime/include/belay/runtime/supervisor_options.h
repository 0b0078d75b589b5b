// SPDX-License-Identifier: Apache-2.0
// The options of a Supervisor's calls, as plain structs with their defaults. The functions that take them are in
// supervisor.h.
//
//   supervisor.managed_session(body, {.start_standard_services = false});
#pragma once

#include <string>

namespace belay {

// Options of managed_session.
struct ManagedSessionOptions {
  std::string target = {};              // see TrainingSessionOptions::target
  bool start_standard_services = true;  // and the queue runners
  bool close_summary_writer = true;     // at the end
};

// Options of prepare_or_wait_for_session.
struct PrepareSessionOptions {
  std::string target = {};
  bool wait_for_checkpoint = false;     // the chief, for one in the logdir
  double max_wait_secs = 7200;          // a worker, for the chief
  bool start_standard_services = true;  // and the queue runners
};

}  // namespace belay
