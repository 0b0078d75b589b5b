// SPDX-License-Identifier: Apache-2.0
// What a run is: where it is kept, how long it goes on, what its random numbers begin with. [run] of a manifest.
//
// Settings are plain structs that hold their defaults: a manifest and a program fill the same ones. They say nothing
// about where a value was written, and nothing in them is checked: a function that takes them says what it refuses.
//
//   CheckpointSettings checkpoint{.save_steps = 100, .max_to_keep = 2};
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace belay::runtime {

enum class RunMode { kTrain, kEvaluate, kPredict, kTrainAndEvaluate, kContinuousEval, kExport };

struct RunSettings {
  // kTrainAndEvaluate trains, and evaluates behind each checkpoint unless EvalSettings has another period;
  // kContinuousEval evaluates the checkpoints of a training in another process.
  RunMode mode = RunMode::kTrain;
  // Whose variables the modes kEvaluate, kPredict and kExport use: "latest", "best", a step, or the path of a
  // checkpoint or of a run directory. They take no lock; kExport alone writes into the run directory, below `export`.
  std::string checkpoint = "latest";
  // The run directory, absolute: checkpoints, events, the effective manifest. It is made where it is missing, with all
  // above it. Empty: nothing is kept.
  std::string dir = {};
  // The global step, that of earlier attempts included, at which the default stop_at_step stops. Not set: until the
  // input ends.
  std::optional<std::int64_t> max_steps = {};
  // Before this global step a hook's request to stop is refused, with a line in the log: training goes on, and the hook
  // may ask again. Signals, time boxes, an input that ends, errors and the program's own requests end it at any step.
  // At most max_steps. 0: nothing is refused.
  std::int64_t min_steps = 0;
  // Of every random number: initial values, dropout, the order of the inputs. At most 2^63 - 1 in a manifest, since
  // TOML has no larger integer.
  std::uint64_t seed = 42;
  // Threads of the kernels; the bits of a result depend on their number. 0: all cores that the process may use, at most
  // OMP_THREAD_LIMIT; more than that limit is an error.
  std::int64_t threads = 0;

  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

}  // namespace belay::runtime
