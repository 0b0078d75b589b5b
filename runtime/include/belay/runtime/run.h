// SPDX-License-Identifier: Apache-2.0
// Runs a manifest from a program, as `belay run` does: the same checks, directories, hooks and exit status.
//
//   belay::ManifestRun run("train.toml", {.sets = {"run.max_steps=500"}});
//   if (!run.ok()) {
//     std::fputs(run.problems_text().c_str(), stderr);       // each with its line, all at once
//     return static_cast<int>(belay::RunStatus::kUsage);
//   }
//   const belay::RunReport report = run.run();
//   std::printf("step %lld\n", static_cast<long long>(report.global_step));
//   return static_cast<int>(report.status);
//
// What stays the program's: signals (call request_stop), a limit for a training that hangs, what is printed. Models,
// inputs and all other plugins are found as the manifest and the environment say (docs/reference/manifest.md), and
// loaded from their files.
//
// Several processes that train one model ([cluster] in the manifest): which of them this is the launcher's variables
// say, or options.place.
//
// Threads: one makes the run and drives it; request_stop, stop_now and request_save may be called by any. One run at a
// time in a process, but for ranks that are threads of it, by the cluster plugin "local": each has a run of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/runtime/end_reason.h"
#include "belay/runtime/log_options.h"

namespace belay {

// How a run ended, with the numbers that `belay run` exits with (docs/reference/commands.md).
enum class RunStatus : int {
  kDone = 0,            // a stop condition was reached, and the last checkpoint is durable
  kTrainingFailed = 1,  // model, input or hook error, recoveries used up
  kUsage = 2,           // manifest, or an input that is not there or ends before the first step: nothing was trained
  kPlugin = 3,          // a plugin was refused or failed to load
  kDiverged = 4,        // NaN, infinity or a limit
  kNoRestore = 5,       // checkpoints exist, none can be restored: refuses to start over
  kInUse = 6,           // another run holds the directory
  kSaveFailed = 7       // trained to the end, but the last checkpoint was not written
};

class ManifestRun;

// A process among those that train one model together.
struct ProcessPlace {
  int rank = 0;  // 0 <= rank < size; 0 is the chief, which has the run's directory
  int size = 1;
  int local_rank = -1;  // among those of its machine; -1: not known
};

struct ManifestRunOptions {
  // As --set of belay run: "run.max_steps=500", "optimizer.learning_rate=0.1", "hooks.0.max=5". Applied in this order
  // before the manifest is checked; relative paths in them are relative to the manifest.
  std::vector<std::string> sets = {};
  // Folders with plugins, absolute; searched behind those of [plugins] path and before BELAY_PLUGIN_PATH.
  std::vector<std::string> plugin_path = {};
  // Checkpoints of the directory are moved aside, not restored.
  bool from_scratch = false;
  // What makes it another training than that of the newest checkpoint (the seed, the model, the data ...) is a warning
  // instead of a problem.
  bool accept_changes = false;
  // A directory without a checkpoint is a problem.
  bool must_resume = false;
  // A program, processor or plugin with which the bits may differ is a problem instead of a warning, and data files are
  // compared in full.
  bool exact = false;
  // Which process of the run this is, for a program that knows it better than the launcher's variables, which are not
  // looked at then: its processes may have other work besides, or another order. With the plugins of MPI these are rank
  // and size in the communicator that it hands in ("cluster.communicator=" and what MPI_Comm_c2f says of it, in sets).
  // A size of 1: it trains alone. None: as the launcher's variables say. It is of trainings alone.
  std::optional<ProcessPlace> place = {};
  // Called with the run behind every step, and every batch of an evaluation or a prediction, on the thread of run().
  std::function<void(ManifestRun&)> on_progress = {};
  LogOptions log = {};
};

// Something wrong with a manifest.
struct ManifestProblem {
  // Where: line and column are counted from 1, in characters; 0: nowhere in particular. Of a --set the file is "--set
  // run.dir", and the column counts in it.
  std::string file;
  int line = 0;
  int column = 0;
  // One sentence without a full stop.
  std::string message;
  // What to do about it; may be empty.
  std::string help;
};

// What one evaluation input measured.
struct EvaluationReport {
  // The section's name: "eval" of [input.eval].
  std::string input;
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  // "loss" first, then in the model's order.
  std::vector<std::pair<std::string, double>> metrics = {};
};

struct RunReport {
  RunStatus status = RunStatus::kDone;
  // Why, for people, where the status is not kDone; the log has it, too.
  std::string error = {};
  // Of a training: why it ended, and how far it came.
  EndReason reason = {};
  std::int64_t steps = 0;  // of this start
  std::int64_t global_step = 0;
  double seconds = 0;
  std::int64_t recoveries = 0;
  // The last checkpoint that was written, or the one that was evaluated or predicted with; empty: none.
  std::string checkpoint = {};
  // Hooks that failed and were left out, by on_error = "disable".
  std::vector<std::string> disabled_hooks = {};
  // What [[exporters]] wrote behind a training that came to its end, or in mode export: paths, in their order.
  std::vector<std::string> exports = {};
  // Behind a training, one for each [input.eval...]; of mode evaluate all there is, of continuous_eval those of the
  // last checkpoint.
  std::vector<EvaluationReport> evaluations = {};
  // Of mode predict: how many examples were written, or the string that was sampled behind [predict] prompt.
  std::int64_t predicted_examples = 0;
  std::string sampled = {};
};

class ManifestRun {
 public:
  // Reads the manifest and checks it with what the plugins' files declare. No plugin's code runs and nothing is
  // written. What is wrong is in problems(): the constructor throws nothing for it. A relative `file` is below the
  // current directory; relative paths inside it are relative to its folder.
  explicit ManifestRun(const std::string& file, ManifestRunOptions options = {});
  ~ManifestRun();
  ManifestRun(const ManifestRun&) = delete;
  ManifestRun& operator=(const ManifestRun&) = delete;

  // Nothing wrong was found so far.
  bool ok() const noexcept;
  // All of it, by place.
  std::vector<ManifestProblem> problems() const;
  // The same for people: file:line:column, the line itself, what to do about it. Ends with a newline, unless it is
  // empty.
  std::string problems_text() const;
  // The manifest with every default filled in, as TOML. FAILED_PRECONDITION where it could not be read.
  std::string effective_manifest() const;

  // Looks further, as `belay check` does: loads the plugins, opens the inputs, builds the graph and calls begin of the
  // hooks, and takes all of it down again. Writes nothing and takes no lock. Returns ok(). It may be left out: run()
  // checks the same.
  bool check();

  // Does what [run] mode says: trains, then evaluates and exports; evaluates a checkpoint, or those of a training
  // elsewhere; predicts; exports. Once. What goes wrong is in the report, not thrown; FAILED_PRECONDITION for a second
  // call. When it returns, plugins and inputs are closed and the directory's lock is free. Mode predict writes to
  // [predict] output, or without one to stdout; text that is sampled to that file, if there is one, and always into the
  // report.
  RunReport run();

  // Ends the run at the next boundary: the last checkpoint is written, the report says kDone and this reason. Before
  // run() it ends it before its first step.
  void request_stop(const std::string& reason);
  // The same, and what waits at this moment, for input say, ends now.
  void stop_now(const std::string& reason);
  // A checkpoint at the next boundary; the training goes on.
  void request_save();

 private:
  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
