// SPDX-License-Identifier: Apache-2.0
// The things that a run needs from outside: clock, log and files, and the settings that its sessions share. They are
// always borrowed.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/cancellation.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/session/direct_session.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

struct RunEnvironment {
  Clock& clock;
  Logger& log;
  FileSystem& files;
  StoreTargets& targets;
  CancellationSource& interrupt;  // a signal: ends every wait of the run
  DirectSessionOptions session;   // threads, seed, queues
};

// A wait of one session while it has nothing to run. It uses the environment's clock, and ends when the environment is
// interrupted or the session is stopped. [any thread]
class Pause {
 public:
  // Throws the reason for its end.
  void wait(const RunEnvironment& environment, double seconds);
  // Ends the current wait and later ones.
  void end(const Error& reason);
  void reset();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> reason_;
};

}  // namespace belay::runtime
