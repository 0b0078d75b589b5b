// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other, from what lies in their directories: what differs in manifest, plugins and fingerprint,
// and the last step at which both are known to have had the same bits. Indexes, states and metrics.jsonl are read, no
// variable is; no plugin is loaded and no lock is taken. [any thread]
//
//   const RunDifference d = difference_of_runs(files, "runs/a", "runs/b", log);
//   d.last_equal, d.first_different      between them the runs part
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

struct DifferingValue {
  std::string key;   // "optimizer.learning_rate", "model:mlp", "threads"
  std::string a, b;  // as TOML writes them; build ids; empty: it is not there
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
  std::int64_t last_a = 0, last_b = 0;      // how far each is known to have come
  std::vector<CommonStep> common;           // by step
  // Of the common steps before the first that differs, the last one; and that first one. None: there is none.
  std::optional<std::int64_t> last_equal, first_different;
  // Variables of that first one that differ, in their checksums or forms, or that one side lacks; by name. None where
  // one of the runs left a digest alone.
  std::vector<std::string> variables;
  // At the last common step of all.
  bool same_end() const noexcept { return !common.empty() && !first_different; }
};

// NOT_FOUND where one of them is no run's directory. A checkpoint whose index cannot be read is passed over with a
// warning.
RunDifference difference_of_runs(FileSystem& files, const std::string& a, const std::string& b, Logger& log);

}  // namespace belay::runtime
