// SPDX-License-Identifier: Apache-2.0
// [checkpoint] of a manifest: when a run saves, how many checkpoints it keeps, and its reaction to a state that cannot
// be saved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::runtime {

// A separate thread writes a checkpoint while training continues, or it is written between two steps.
enum class SaveMode { kAsync, kSync };

// The reaction to `save_failures` failed saves in a row, in addition to one error in the log for each. The run
// continues, waits until a checkpoint is written, or ends.
enum class OnSaveError { kContinue, kPause, kStop };

// The direction in which best_metric is better. kAuto: by the metric's name, such as "loss" or "accuracy".
enum class BestMode { kAuto, kMin, kMax };

struct CheckpointSettings {
  // The periods of the default checkpoint_saver; with both, the first that is over. If neither is set: every 600 s. 0:
  // off. Without a period there is no checkpoint_saver. Then nothing is saved, not even at the end, unless a hook, a
  // signal or the program asks for it.
  std::optional<double> save_secs = {};
  std::optional<std::int64_t> save_steps = {};
  // Async: training waits for a copy of the variables, and continues while the copy is written. after_save comes at the
  // first step boundary after the checkpoint is durable. One checkpoint is written at a time; the next save and the end
  // of the session wait for it. Sync: before_save, the checkpoint and after_save come at one boundary, as in
  // TensorFlow.
  SaveMode save = SaveMode::kAsync;
  // Checkpoints are called BASENAME-STEP. A run does not continue in a directory whose checkpoints have another
  // basename.
  std::string basename = "model.ckpt";
  // The number of checkpoints to keep: each save removes older ones. 0: all are kept.
  std::int64_t max_to_keep = 5;
  // Every this many hours, one checkpoint that would be removed is pinned, so it stays. It is the first that was saved
  // this long after the last pinned one, or after the run began. 0: none.
  double keep_every_hours = 0;
  // The first checkpoint at or after each multiple of this step is pinned when it is saved. 0: none.
  std::int64_t keep_every_steps = 0;
  OnSaveError on_save_error = OnSaveError::kContinue;
  // Number of failed saves in a row that trigger on_save_error; at least 1.
  std::int64_t save_failures = 3;
  // If true, a run that ends with an error saves its state, if the state is a whole step after the last checkpoint. An
  // error DIVERGED (of a hook that found NaN) saves nothing.
  bool save_on_exception = false;
  // If true, a state with NaN or infinity is not saved, with any on_save_error. The run ends with DIVERGED (status 4),
  // and the previous checkpoint stays the newest.
  bool refuse_non_finite = true;

  // Number of additional checkpoints to keep: the best by a metric of the evaluations. Each evaluation that is among
  // the best causes a save. 0: none. A resumed run continues the list.
  std::int64_t keep_best = 0;
  // The role of the metric: "eval/loss", "eval_hard/accuracy".
  std::string best_metric = "eval/loss";
  BestMode best_mode = BestMode::kAuto;

  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};

// True if the run saves by itself: at a period, or after its best evaluations. Otherwise it saves only on request
// (SIGUSR2, a hook), and checks only then that it can save.
constexpr bool saves_by_itself(const CheckpointSettings& settings) noexcept {
  return settings.save_secs != 0.0 || settings.save_steps.value_or(0) != 0 || settings.keep_best > 0;
}

// True if checkpoints can have this name. It must be one part of a path and leave room for a suffix. "before" is
// excluded, because --from-scratch moves checkpoints to before-1.
constexpr bool is_checkpoint_basename(std::string_view name) noexcept {
  constexpr std::size_t kMostBytes = 200;
  return !name.empty() && name.size() <= kMostBytes && name != "before" &&
         std::none_of(name.begin(), name.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte == '/' || byte < 0x20 || byte == 0x7f;
         });
}

}  // namespace belay::runtime
