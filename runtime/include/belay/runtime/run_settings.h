// SPDX-License-Identifier: Apache-2.0
// [run] of a manifest: the directory of a run, its length, its seed.
//
// Settings are plain structs that hold their defaults: a manifest and a program fill the same ones. They do not contain
// the place of a value, and they check nothing. The functions with these arguments state which values they refuse.
//
//   CheckpointSettings checkpoint{.save_steps = 100, .max_to_keep = 2};
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace belay::runtime {

enum class RunMode { kTrain, kEvaluate, kPredict, kTrainAndEvaluate, kContinuousEval, kExport };

struct RunSettings {
  // kTrainAndEvaluate trains, and evaluates after each checkpoint unless EvalSettings has another period.
  // kContinuousEval evaluates the checkpoints of a training in another process.
  RunMode mode = RunMode::kTrain;
  // The variables for the modes kEvaluate, kPredict and kExport: "latest", "best", a step, or the path of a checkpoint
  // or of a run directory. These modes take no lock. Only kExport writes into the run directory, below `export`.
  std::string checkpoint = "latest";
  // The run directory, absolute: checkpoints, events, the effective manifest. It is made with its parents if it does
  // not exist. Empty: nothing is kept.
  std::string dir = {};
  // The global step, including earlier attempts, at which the default stop_at_step stops. Not set: until the input
  // ends.
  std::optional<std::int64_t> max_steps = {};
  // Before this global step the run refuses a hook's request to stop, with a line in the log. Training continues, and
  // the hook may ask again. Signals, time limits, the end of an input, errors and the program's own requests end it at
  // any step. At most max_steps. 0: nothing is refused.
  std::int64_t min_steps = 0;
  // Seed of every random number: initial values, dropout, the order of the inputs. It is at most 2^63 - 1 in a
  // manifest, because TOML has no larger integer.
  std::uint64_t seed = 42;
  // Threads of the kernels; the bits of a result depend on their number. 0: all cores that the process may use, at most
  // OMP_THREAD_LIMIT. A number above that limit is an error.
  std::int64_t threads = 0;

  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

}  // namespace belay::runtime
