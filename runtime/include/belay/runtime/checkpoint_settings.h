// SPDX-License-Identifier: Apache-2.0
// When a run saves, how many checkpoints it keeps, and what it does with a state that cannot be saved. [checkpoint] of
// a manifest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::runtime {

// Where a checkpoint is written: by a thread of its own while training goes on, or between two steps.
enum class SaveMode { kAsync, kSync };

// What save_failures failed saves in a row do to the run, besides an error in the log each: nothing; training waits
// until a checkpoint is written; the run ends.
enum class OnSaveError { kContinue, kPause, kStop };

// Which values of best_metric are better. kAuto: as the metric's name says, "loss" or "accuracy".
enum class BestMode { kAuto, kMin, kMax };

struct CheckpointSettings {
  // The periods of the default checkpoint_saver; with both, whichever comes first. Neither is set: every 600 s. 0: off;
  // with no period left there is no checkpoint_saver, and nothing is saved unless somebody asks for it, not even at the
  // end.
  std::optional<double> save_secs = {};
  std::optional<std::int64_t> save_steps = {};
  // Async: training waits for a copy of the variables, and goes on while that is written. after_save is called at the
  // first boundary behind the moment when the checkpoint is durable. One is written at a time: the next one that is due
  // waits for it, and so does the end of the session. Sync: before_save, the checkpoint and after_save come at one
  // boundary, as in TensorFlow.
  SaveMode save = SaveMode::kAsync;
  // Checkpoints are called BASENAME-STEP. A run does not go on in a directory whose checkpoints are called otherwise.
  std::string basename = "model.ckpt";
  // Behind each save older checkpoints are removed, down to so many. 0: all are kept.
  std::int64_t max_to_keep = 5;
  // Of those that would be removed one every so many hours is pinned, so that it stays for good: the first that was
  // saved so long after the last of them, or after the run began. 0: none.
  double keep_every_hours = 0;
  // The first checkpoint at or behind each multiple of it is pinned when it is saved. 0: none.
  std::int64_t keep_every_steps = 0;
  OnSaveError on_save_error = OnSaveError::kContinue;
  // So many saves in a row that failed make on_save_error hold; at least 1.
  std::int64_t save_failures = 3;
  // A run that ends by an error saves what it has, where that is one whole step behind the last checkpoint; an error
  // DIVERGED (of a hook that found NaN) saves nothing.
  bool save_on_exception = false;
  // A state with NaN or infinity is not saved, whatever on_save_error is: the run ends with DIVERGED (status 4), and
  // the newest checkpoint is the one before it.
  bool refuse_non_finite = true;

  // Besides those, so many are kept: the best by a metric of the evaluations. A save follows each evaluation that makes
  // one of them. 0: none. A resume goes on with the list.
  std::int64_t keep_best = 0;
  // The role of the metric: "eval/loss", "eval_hard/accuracy".
  std::string best_metric = "eval/loss";
  BestMode best_mode = BestMode::kAuto;

  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};

// Whether the run saves by itself: by a period, or behind its best evaluations. If not, it does only where it is asked
// to (SIGUSR2, a hook), and what a save needs is looked for then.
constexpr bool saves_by_itself(const CheckpointSettings& settings) noexcept {
  return settings.save_secs != 0.0 || settings.save_steps.value_or(0) != 0 || settings.keep_best > 0;
}

// Whether checkpoints can be called so: one part of a path, which leaves room for what is put behind it, and not
// "before", since before-1 is what --from-scratch moved aside.
constexpr bool is_checkpoint_basename(std::string_view name) noexcept {
  constexpr std::size_t kMostBytes = 200;
  return !name.empty() && name.size() <= kMostBytes && name != "before" &&
         std::none_of(name.begin(), name.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte == '/' || byte < 0x20 || byte == 0x7f;
         });
}

}  // namespace belay::runtime
