// SPDX-License-Identifier: Apache-2.0
// The checkpoints that another run writes into its directory, each once, as they appear: TensorFlow's
// checkpoints_iterator, and wait_for_new_checkpoint where one is enough.
//
//   NewCheckpoints checkpoints(files, clock, log, "runs/mnist", {.timeout_secs = 600});
//   while (const auto path = checkpoints.next()) evaluate(*path);
//
// It looks at the state file again and again, and opens a checkpoint, to verify it, when that names another one. Those
// that were replaced before anybody asked are passed over. [one thread, but for stop()]
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

struct NewCheckpointsOptions {
  std::string last = {};                    // a path that is known already
  double sleep_secs = 1;                    // from one look at the directory to the next
  double min_interval_secs = 0;             // from the return of one checkpoint to that of the next
  std::optional<double> timeout_secs = {};  // how long next() waits for one; none: for ever
  // Called when that is over: true ends the sequence, false waits once more. None: it ends.
  std::function<bool()> on_timeout = {};
  // Asked before each look: true says that the run writes no more checkpoints, and the sequence ends where that look
  // finds none. run_finished() below is such a question. None: it may always write another.
  std::function<bool()> finished = {};
  // Asked before each look, and after each sleep_secs of any wait: false ends the sequence. None: it goes on.
  std::function<bool()> keep_going = {};
};

// Whether the last training there has come to its end (RunHost::note_finished); a stop by a signal and an error are
// none. Its last checkpoint was durable before.
bool run_finished(const FileSystem& files, const std::string& directory);

class NewCheckpoints {
 public:
  // All but the options are borrowed. The directory need not exist yet.
  NewCheckpoints(FileSystem& files, Clock& clock, Logger& log, std::string directory,
                 NewCheckpointsOptions options = {});

  // The path of the newest whole checkpoint, once it is another one than the last; nothing at the end of the sequence.
  // It gives up before the timeout where the next look would be behind it. RestoreError where there are checkpoints and
  // none can be restored.
  std::optional<std::string> next();

  // Lets so much time pass; false where the sequence ended meanwhile.
  bool wait(double seconds);

  // The sequence ends: a next() that waits returns nothing, and so do all later ones. [any thread]
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
  bool stopped_ = false;  // by mutex_
};

}  // namespace belay::runtime
