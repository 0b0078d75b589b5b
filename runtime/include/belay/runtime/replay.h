// SPDX-License-Identifier: Apache-2.0
// Repeats steps of a run with additional hooks, and proves that they are the same steps: `belay replay` for a program.
//
//   belay::ReplayOptions options{.step = 1337, .fetches = {"loss"}, .batch = true, .out = "why"};
//   options.hooks.push_back(belay::plugin_hook("gradient_norms"));
//   options.hooks.push_back(belay::own_hook("look", std::make_unique<Look>(found)));
//   const belay::ReplayReport report = belay::replay("runs/digits", options);
//   std::fputs(report.text.c_str(), stdout);  // 0 differing bits at step 1500: model.ckpt-1500 is what this came to
//
// The replay takes the newest checkpoint before the step, with the manifest and the plugins of the attempt that made
// the step. It makes the steps up to it as the run did, and calls the new hooks in it. Then it continues to the run's
// next checkpoint or digest, and compares all variables with it. docs/guide/time-travel.md is an introduction.
// docs/guide/what-is-compared.md states what the proof covers.
//
// Order of calls. The added hooks get the usual calls: `begin` before the graph is frozen, `after_create_session` after
// the restore, `end` after the last step. `before_run` and `after_run` come only in the steps `step` to `to`. They
// begin without a state. The run's own hooks are called in every step if they can change a number; the others are left
// out.
//
// Ownership. The replay only reads the run's directory and does not take its lock: a training may continue in it. It
// writes everything into `out`, a new run directory. A program's hook is destroyed before replay() returns, so its
// results must be in an object that outlives it.
//
// Thread. All calls are on the thread that calls replay(), except for the threads of any run (its input, the log). A
// process makes one run or replay at a time. The program handles signals: on_step ends a replay.
//
// Errors are in the report, not thrown. Messages are those of `belay replay`, with its names for the members of
// ReplayOptions (--what-if, --out). docs/reference/commands.md has all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/log_options.h"
#include "belay/runtime/own_hook.h"
#include "belay/runtime/run.h"

namespace belay {

// The options of a replay.
struct ReplayOptions {
  // The first and the last step to look at, counted as in the log, from 1. `to` 0: `step` alone.
  std::int64_t step = 0;
  std::int64_t to = 0;
  // The added hooks, in the order of the list: plugins first, found like the manifest's, then objects of the program.
  // They may only watch. A plugin with an option that can change a number is refused before anything runs; `belay
  // describe` shows such options. A hook that feeds a tensor or writes to a variable ends the replay at that place,
  // with its name.
  std::vector<OwnHook> hooks = {};
  // TOML files with more [[hooks]], which are called before those of `hooks`.
  std::vector<std::string> hook_files = {};
  // Tensors of each of these steps to write into `out`/step-N.npz: roles of the model ("loss"), or nodes by their
  // names.
  std::vector<std::string> fetches = {};
  // If true, the features and labels of each of these steps are written there too, as batch/NAME.
  bool batch = false;
  // The directory to write into: new, or empty. Empty string: replay-of-RUN-STEP in the current directory.
  std::string out = {};
  // If true, searches for the first step with a loss, or a variable after it, that is NaN or infinite. It then finds
  // the first such tensor of that step. It begins at the newest checkpoint, or at the newest before `step` if that is
  // not 0. Only `out` of the members above may be set, and what_if must be false.
  bool first_non_finite = false;
  // If true, hooks may feed and assign, and plugins and data may differ from the run's. From `step` on it is then
  // another run, and the comparison shows the difference.
  bool what_if = false;
  // Folders with plugins, searched after those of the manifest and before BELAY_PLUGIN_PATH.
  std::vector<std::string> plugin_path = {};
  // Called after every step, with its number. False ends the replay there, and nothing is proved.
  std::function<bool(std::int64_t step)> on_step = {};
  LogOptions log = {};
};

// The proof at the end of a replay.
enum class ReplayProof {
  kNothing,    // no checkpoint or digest is at the last step or after it, or no proof was requested
  kSame,       // not one bit differs: these are the run's steps
  kOther,      // some bits differ
  kNotReached  // the steps ended before
};

// The result of first_non_finite: the first tensor that is not finite.
struct NonFiniteFound {
  std::int64_t step = 0;
  std::string tensor;    // "hidden/Tanh:0", or "input/NAME" for a batch's component
  std::string ops;       // the operations that compute it: "MatMul + BiasAdd + Tanh"
  std::string position;  // of the first such element: "[9, 5]"
  std::string value;     // of that element: "nan"
  std::uint64_t count = 0;
  // A tensor that it was computed from; finite: all its elements are finite.
  struct Input {
    std::string tensor;
    bool finite = true;
  };
  std::vector<Input> inputs = {};
  // A clause such as "the loss is nan, and 3 of 8 variables are not finite ...".
  std::string consequence;
};

// The result of a replay.
struct ReplayReport {
  // kDone: the steps were made and no proof contradicts them, or the search found its tensor; with what_if for any
  // result. kTrainingFailed: other bits, steps that ended earlier, an unsuccessful search, or an error in a step.
  // kUsage, kPlugin and kInUse are as for a run. kNoRestore: the checkpoints cannot be read.
  RunStatus status = RunStatus::kDone;
  // The reason for people, if no step was made or an error ended one. The log has it too.
  std::string error = {};
  // The result for people: the lines that `belay replay` prints, each with its newline. Empty after an error.
  std::string text = {};

  // The start of the replay: the path of a checkpoint of the run, its step, and the run's attempt that made these
  // steps. Empty and 0 if it did not get there; attempt 0: not known.
  std::string checkpoint = {};
  std::int64_t checkpoint_step = 0;
  std::int64_t attempt = 0;
  // The last step that was made.
  std::int64_t global_step = 0;

  ReplayProof proof = ReplayProof::kNothing;
  // The other side of the comparison: "model.ckpt-1500", or "the digest in metrics.jsonl"; empty: none.
  std::string compared_with = {};
  // For a comparison with a checkpoint: the number of bits of all variables, and of those that differ.
  std::uint64_t bits = 0;
  std::uint64_t differing_bits = 0;

  // Absolute path of `out`, and of its files with tensors: step-N.npz, by step.
  std::string directory = {};
  std::vector<std::string> archives = {};
  // Empty: all is finite, there was no search, or an operation of the model ended the step before there were values.
  std::optional<NonFiniteFound> non_finite = {};
};

// Makes the replay. `run` is the directory of a run of a manifest: `run.dir`. A program's run has no manifest and
// cannot be replayed.
ReplayReport replay(const std::string& run, const ReplayOptions& options);

}  // namespace belay
