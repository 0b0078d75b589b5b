// SPDX-License-Identifier: Apache-2.0
// Finds the checkpoints that another run writes into its directory, each once, as they appear. It is TensorFlow's
// checkpoints_iterator, and wait_for_new_checkpoint if one is enough.
//
//   NewCheckpoints checkpoints(files, clock, log, "runs/mnist", {.timeout_secs = 600});
//   while (const auto path = checkpoints.next()) evaluate(*path);
//
// It looks at the state file again and again. If it names another checkpoint, this object opens and verifies it.
// Checkpoints that were replaced before anybody asked are skipped. [one thread, but for stop()]
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

struct NewCheckpointsOptions {
  std::string last = {};                    // a path that is already known
  double sleep_secs = 1;                    // time between two looks at the directory
  double min_interval_secs = 0;             // least time between the returns of two checkpoints
  std::optional<double> timeout_secs = {};  // limit of the wait in next(); none: for ever
  // Called when that is over. True ends the sequence, false waits again. None: it ends.
  std::function<bool()> on_timeout = {};
  // Called before each look. True: the run writes no more checkpoints, and the sequence ends if that look finds none.
  // run_finished() below is such a function. None: the run may always write another.
  std::function<bool()> finished = {};
  // Called before each look, and after each sleep_secs of any wait. False ends the sequence. None: it continues.
  std::function<bool()> keep_going = {};
};

// True if the last training there has come to its end (RunHost::note_finished), not by a signal or an error. Its last
// checkpoint was durable before.
bool run_finished(const FileSystem& files, const std::string& directory);

class NewCheckpoints {
 public:
  // Borrows all but the options. The directory need not exist yet.
  NewCheckpoints(FileSystem& files, Clock& clock, Logger& log, std::string directory,
                 NewCheckpointsOptions options = {});

  // Returns the path of the newest whole checkpoint, when it is another one than the last; none: the sequence ends. It
  // gives up early if the next look would be after the timeout. RestoreError: there are checkpoints, and none can be
  // restored.
  std::optional<std::string> next();

  // Waits for this time; false: the sequence ended meanwhile.
  bool wait(double seconds);

  // Ends the sequence: a waiting next() returns none, and so do all later ones. [any thread]
  void stop();

 private:
  std::string newest() const;
  enum class Found { kNew, kTimeout, kEnd };
  Found wait_for_new();
  bool goes_on() const;
  bool sleep_until(std::int64_t deadline_ns);

  FileSystem& files_;
  Clock& clock_;
  Logger& log_;
  const std::string directory_;
  const NewCheckpointsOptions options_;
  std::string last_;
  std::optional<std::int64_t> returned_at_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;  // guarded by mutex_
};

}  // namespace belay::runtime
