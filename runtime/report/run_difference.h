// SPDX-License-Identifier: Apache-2.0
// Compares two runs by their directories: the differences in manifest, plugins and fingerprint, and the last step with
// equal bits. It reads indexes, states and metrics.jsonl, but no variables. It loads no plugin and takes no lock. [any
// thread]
//
//   const RunDifference d = difference_of_runs(files, "runs/a", "runs/b", log);
//   d.last_equal, d.first_different      between them the runs part
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct DifferingValue {
  std::string key;   // "optimizer.learning_rate", "model:mlp", "threads"
  std::string a, b;  // in TOML, or build ids; empty: it is not there
};

// A step at which both runs left something to compare: a checkpoint, or a digest (belay/state_digest.h).
struct CommonStep {
  std::int64_t step = 0;
  bool equal = false;
};

struct RunDifference {
  std::vector<DifferingValue> manifest;     // of the last attempts, without run.dir
  std::vector<DifferingValue> plugins;      // build ids, by kind and name
  std::vector<DifferingValue> fingerprint;  // threads, processor, program, seed, ...
  std::int64_t last_a = 0, last_b = 0;      // the last step that each run is known to have reached
  std::vector<CommonStep> common;           // by step
  // The last common step before the first difference, and the first different one. None: there is none.
  std::optional<std::int64_t> last_equal, first_different;
  // Names of the variables with a difference at that first step, in checksum or form, or missing on one side. Empty:
  // one of the runs left only a digest.
  std::vector<std::string> variables;
  // True if the last of all common steps is equal.
  bool same_end() const noexcept { return !common.empty() && !first_different; }
};

// NOT_FOUND: one of them is no run's directory. It skips a checkpoint with an unreadable index and gives a warning.
RunDifference difference_of_runs(FileSystem& files, const std::string& a, const std::string& b, Logger& log);

}  // namespace belay::runtime
