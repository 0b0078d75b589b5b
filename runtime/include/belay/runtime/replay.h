// SPDX-License-Identifier: Apache-2.0
// Steps of a run once more, with hooks that were not there, and the proof that they are the same steps: what `belay
// replay` does, for a program.
//
//   belay::ReplayOptions options{.step = 1337, .fetches = {"loss"}, .batch = true, .out = "why"};
//   options.hooks.push_back(belay::plugin_hook("gradient_norms"));
//   options.hooks.push_back(belay::own_hook("look", std::make_unique<Look>(found)));
//   const belay::ReplayReport report = belay::replay("runs/digits", options);
//   std::fputs(report.text.c_str(), stdout);  // 0 differing bits at step 1500: model.ckpt-1500 is what this came to
//
// The replay takes the newest checkpoint before the step, with the manifest and the plugins of the attempt that made
// the step, makes the steps up to it as the run did, calls the new hooks in it, and goes on to the next checkpoint or
// digest of the run, which its variables are compared with. docs/guide/time-travel.md shows it from the beginning, and
// docs/guide/what-is-compared.md what it proves.
//
// Order of calls. The hooks that are given get what hooks of any session get: `begin` before the graph is frozen,
// `after_create_session` behind the restore, `before_run` and `after_run` in the steps `step` to `to` and in no other,
// `end` behind the last step. They begin without a state. Of the run's own hooks those are called in every step that
// can change a number; those that only watch are left out.
//
// Ownership. The run's directory is only read, and its lock is not taken: a training may go on in it. All that is
// written goes into `out`, a run directory of its own. A hook of the program's is destroyed before replay() returns;
// what it found has to be in something that outlives it.
//
// Thread. All of it happens on the thread that calls replay(), but for the threads that any run has (its input, the
// log). One run or replay at a time in a process. Signals are the program's: on_step ends a replay.
//
// Errors. What goes wrong is in the report, not thrown. Messages are those of `belay replay`, and call the members of
// ReplayOptions as its options are called (--what-if, --out); docs/reference/commands.md has all of them.
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

struct ReplayOptions {
  // The first step that is looked at, counted as in the log, from 1; and the last one. 0 for `to`: `step` alone.
  std::int64_t step = 0;
  std::int64_t to = 0;
  // Called in these steps: plugins by their names, found as the manifest's are, before objects of the program's, each
  // in the order of the list. They may only watch. A plugin with an option that can change a number (`belay describe`
  // shows which can) is refused before anything runs; a hook that feeds a tensor or writes to a variable ends the
  // replay where it does so, with its name.
  std::vector<OwnHook> hooks = {};
  // TOML files whose [[hooks]] are called, too, before those of `hooks`.
  std::vector<std::string> hook_files = {};
  // Tensors of each of these steps that go into `out`/step-N.npz: roles of the model ("loss"), or nodes by their names.
  std::vector<std::string> fetches = {};
  // The features and labels of each of these steps go there, too, as batch/NAME.
  bool batch = false;
  // The directory that is written into: new, or empty. Empty: replay-of-RUN-STEP in the current directory.
  std::string out = {};
  // Looks for the first step whose loss, or a variable behind it, is NaN or infinite, and for the first tensor of it
  // that is: from the newest checkpoint on, or from the newest before `step` where that is not 0. None of the members
  // above but `out` goes with it, and what_if does not.
  bool first_non_finite = false;
  // Hooks may feed and assign, plugins and data may be others than the run's: from `step` on it is another run, and the
  // comparison says by how much.
  bool what_if = false;
  // Folders with plugins; searched behind those of the manifest and before BELAY_PLUGIN_PATH.
  std::vector<std::string> plugin_path = {};
  // Called behind every step that is made, with its number. False ends the replay there, and nothing is proved.
  std::function<bool(std::int64_t step)> on_step = {};
  LogOptions log = {};
};

// How a replay ended.
enum class ReplayProof {
  kNothing,    // no checkpoint and no digest lies at the last step or behind it, or none is asked for
  kSame,       // not one bit differs: these are the run's steps
  kOther,      // some bits differ
  kNotReached  // the steps ended before
};

// The first tensor that is not finite, of first_non_finite.
struct NonFiniteFound {
  std::int64_t step = 0;
  std::string tensor;    // "hidden/Tanh:0", or "input/NAME" of a batch's component
  std::string ops;       // what computes it: "MatMul + BiasAdd + Tanh"
  std::string position;  // of the first such element: "[9, 5]"
  std::string value;     // of that element: "nan"
  std::uint64_t count = 0;
  // What it was made from, and whether that is finite.
  struct Input {
    std::string tensor;
    bool finite = true;
  };
  std::vector<Input> inputs = {};
  // "the loss is nan, and 3 of 8 variables are not finite behind the step"
  std::string consequence;
};

struct ReplayReport {
  // kDone: the steps were made and nothing says that they are others, or what was looked for was found; with what_if
  // whatever came out. kTrainingFailed: other bits, steps that ended before, nothing found, or an error in a step.
  // kUsage, kPlugin and kInUse as of a run; kNoRestore: the checkpoints cannot be read.
  RunStatus status = RunStatus::kDone;
  // Why, for people, where no step was made or an error ended one; the log has it, too.
  std::string error = {};
  // What came out, for people: the lines that `belay replay` prints, each with its newline. Empty behind an error.
  std::string text = {};

  // What it began with: the path of a checkpoint of the run, its step, and which attempt of the run made these steps.
  // Empty and 0 where it did not come so far; attempt 0: it is not known.
  std::string checkpoint = {};
  std::int64_t checkpoint_step = 0;
  std::int64_t attempt = 0;
  // The last step that was made.
  std::int64_t global_step = 0;

  ReplayProof proof = ReplayProof::kNothing;
  // What it was compared with: "model.ckpt-1500", or "the digest in metrics.jsonl"; empty: with nothing.
  std::string compared_with = {};
  // Of all variables, where that is a checkpoint: how many bits they have, and how many differ.
  std::uint64_t bits = 0;
  std::uint64_t differing_bits = 0;

  // Absolute path of `out`, and of what is in it with tensors: step-N.npz, by step.
  std::string directory = {};
  std::vector<std::string> archives = {};
  // None: all is finite, or was not looked for, or an operation of the model ended the step before there were values.
  std::optional<NonFiniteFound> non_finite = {};
};

// `run` is the directory of a run of a manifest: `run.dir`. A run of a program has no manifest, and cannot be replayed.
ReplayReport replay(const std::string& run, const ReplayOptions& options);

}  // namespace belay
