// SPDX-License-Identifier: Apache-2.0
// Makes steps of a run again, from its directory to the proof that they are the same steps. The caller does the rest:
// `belay replay` has its signals and its watchdog, a program's replay() its report.
//
//   Replay replay(request, log, files);
//   replay.plan();                                  // what to begin with, and what proves it; nothing is written
//   manifest = replay.manifest(environment, problems);       // plugins' notes are read, and none is loaded
//   PreparedRun run(*manifest, {.replay = replay.options()}, platform, environment, control);
//   prepare(run, problems, Preparation::kRun, calls);
//   const ReplayResult result = replay.train(run, progress);
//
// It outlives the run. [main]
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/estimator/replay/non_finite_search.h"
#include "runtime/estimator/replay/replay_plan.h"
#include "runtime/estimator/replay/replay_proof.h"
#include "runtime/estimator/replay/replay_request.h"
#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

struct ReplayResult {
  ReplayProof proof = ReplayProof::kNothing;
  std::string source;          // "model.ckpt-1500", "the digest in metrics.jsonl"; empty: there is none
  StateDifference difference;  // if the source is a checkpoint
  TrainingResult training;
  // kDone: the steps were made, and no proof shows other steps; or the search found its step. With what_if other bits
  // are expected. Otherwise kTrainingFailed.
  RunStatus status = RunStatus::kDone;
  std::string text;  // for people, each line with its newline
};

class Replay {
 public:
  // Log and files are borrowed.
  Replay(ReplayRequest request, Logger& log, FileSystem& files);

  // The absolute path of the directory for everything that is written.
  const std::string& directory() const noexcept { return directory_; }

  // Reads the run's directory. INVALID_ARGUMENT: it is no run directory, or the replay's directory is not empty.
  // RestoreError if the checkpoints cannot be read; NOT_FOUND and OUT_OF_RANGE of plan_replay().
  void plan();
  const ReplayPlan& planned() const noexcept { return plan_; }
  // Returns none, with problems, if it or the new hooks cannot be read. INVALID_ARGUMENT for a --hook that is no
  // NAME{OPTIONS}.
  std::optional<Manifest> manifest(const Environment& environment, Diagnostics& problems);
  // Call it after manifest(). The task calls this object.
  std::shared_ptr<const ReplayTask> options();
  // Call it after prepare(). It calls `progress` after every step. An error that ends the steps is thrown. The
  // exception is an error of the model's operation that ends a step of a search.
  ReplayResult train(PreparedRun& run, const std::function<void()>& progress);

  // For --first-non-finite.
  const NonFiniteSearch& search() const noexcept { return search_; }

 private:
  void check_directories() const;
  void check(const Manifest& manifest, const ResolvedPlugins& found, Diagnostics& problems) const;
  void check_data(const Manifest& manifest, const ResolvedPlugins& found, Diagnostics& problems) const;
  void prove(DirectSession& session);
  void say_begin(const PreparedRun& run) const;
  void judge(ReplayResult& result) const;
  std::string differing_text() const;

  const ReplayRequest request_;
  Logger& log_;
  FileSystem& files_;
  const std::string directory_;
  ReplayPlan plan_;
  NonFiniteSearch search_;
  std::size_t kept_hooks_ = 0;
  std::set<std::string> left_out_;
  PreparedRun* run_ = nullptr;
  StateDifference difference_;  // if the proof is a checkpoint
  std::string digest_;          // if it is a digest
  bool proved_ = false;         // the run came so far
};

}  // namespace belay::runtime
