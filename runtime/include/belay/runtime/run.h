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
// The program handles signals (call request_stop), a time limit for a training that hangs, and printing. Models, inputs
// and all other plugins are found by the manifest and the environment (docs/reference/manifest.md), and loaded from
// their files.
//
// Several processes may train one model ([cluster] in the manifest). The launcher's variables identify this process, or
// options.place does.
//
// Threads: one thread makes the run and drives it. request_stop, stop_now and request_save may be called from any
// thread. A process has one run at a time. An exception are ranks that are threads of it, by the cluster plugin
// "local": each has its own run.
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

// The end of a run, with the exit statuses of `belay run` (docs/reference/commands.md).
enum class RunStatus : int {
  kDone = 0,            // a stop condition was reached, and the last checkpoint is durable
  kTrainingFailed = 1,  // model, input or hook error, or recoveries used up
  kUsage = 2,           // manifest, or an input that is missing, damaged or ends before the first step: nothing trained
  kPlugin = 3,          // a plugin was refused or failed to load
  kDiverged = 4,        // NaN, infinity or a limit
  kNoRestore = 5,       // checkpoints exist, none can be restored: refuses to start over
  kInUse = 6,           // another run holds the directory
  kSaveFailed = 7       // trained to the end, but the last checkpoint was not written
};

class ManifestRun;

// The place of a process among those that train one model together.
struct ProcessPlace {
  int rank = 0;  // 0 <= rank < size; 0 is the chief, which has the run's directory
  int size = 1;
  int local_rank = -1;  // among those of its machine; -1: not known
};

// The options of a run.
struct ManifestRunOptions {
  // Like --set of belay run: "run.max_steps=500", "optimizer.learning_rate=0.1", "hooks.0.max=5". They are applied in
  // this order before the manifest is checked. Relative paths in them are relative to the manifest.
  std::vector<std::string> sets = {};
  // Folders with plugins, absolute, searched after those of [plugins] path and before BELAY_PLUGIN_PATH.
  std::vector<std::string> plugin_path = {};
  // If true, checkpoints of the directory are moved aside and not restored.
  bool from_scratch = false;
  // If true, differences from the training of the newest checkpoint (the seed, the model, the data ...) are warnings
  // instead of problems.
  bool accept_changes = false;
  // If true, a directory without a checkpoint is a problem.
  bool must_resume = false;
  // If true, a program, processor or plugin that may change bits is a problem instead of a warning. Data files are then
  // compared in full.
  bool exact = false;
  // The place of this process, if the program knows it better than the launcher's variables. Those are then ignored:
  // the program's processes may have other work too, or another order. With the plugins of MPI these are rank and size
  // in the communicator that the program passes. Pass it in sets, as "cluster.communicator=" and the result of
  // MPI_Comm_c2f. size 1: the process trains alone. Empty: the launcher's variables. It applies only to trainings.
  std::optional<ProcessPlace> place = {};
  // Called with the run after every step, and after every batch of an evaluation or a prediction, on the thread of
  // run().
  std::function<void(ManifestRun&)> on_progress = {};
  LogOptions log = {};
};

// An error in a manifest.
struct ManifestProblem {
  // The place: line and column are counted from 1, in characters; 0: no place. For a --set the file is "--set run.dir",
  // and the column counts in it.
  std::string file;
  int line = 0;
  int column = 0;
  // One sentence without a full stop.
  std::string message;
  // The fix; it may be empty.
  std::string help;
  // The stable code of its kind, "B1003"; it may be empty. `belay explain` explains it.
  std::string code;
};

// The measurements of one evaluation input.
struct EvaluationReport {
  // The section's name: "eval" of [input.eval].
  std::string input;
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  // "loss" first, then in the model's order.
  std::vector<std::pair<std::string, double>> metrics = {};
};

// The result of a run.
struct RunReport {
  RunStatus status = RunStatus::kDone;
  // The reason for people, if the status is not kDone. The log has it too.
  std::string error = {};
  // For a training: the reason for its end, and its last step.
  EndReason reason = {};
  std::int64_t steps = 0;  // of this start
  std::int64_t global_step = 0;
  double seconds = 0;
  std::int64_t recoveries = 0;
  // The last checkpoint that was written, or the one for an evaluation or prediction; empty: none.
  std::string checkpoint = {};
  // Hooks that failed and were disabled, by on_error = "disable".
  std::vector<std::string> disabled_hooks = {};
  // Paths that [[exporters]] wrote after a completed training, or in mode export, in order.
  std::vector<std::string> exports = {};
  // For a training: one for each [input.eval...]. For mode evaluate: all. For mode continuous_eval: those of the last
  // checkpoint.
  std::vector<EvaluationReport> evaluations = {};
  // For mode predict: the number of written examples, or the sampled string after [predict] prompt.
  std::int64_t predicted_examples = 0;
  std::string sampled = {};
};

// One run of a manifest.
class ManifestRun {
 public:
  // Reads the manifest and checks it against the declarations in the plugins' files. It runs no code of a plugin and
  // writes nothing. Errors of the manifest are in problems(), not thrown. A relative `file` is below the current
  // directory. Relative paths in the manifest are relative to its folder.
  explicit ManifestRun(const std::string& file, ManifestRunOptions options = {});
  ~ManifestRun();
  ManifestRun(const ManifestRun&) = delete;
  ManifestRun& operator=(const ManifestRun&) = delete;

  // True if no problem was found so far.
  bool ok() const noexcept;
  // All problems, ordered by place.
  std::vector<ManifestProblem> problems() const;
  // The problems as text for people: file:line:column, the line itself, the fix. It ends with a newline, unless it is
  // empty.
  std::string problems_text() const;
  // The manifest with all defaults, as TOML. FAILED_PRECONDITION: it could not be read.
  std::string effective_manifest() const;

  // Checks further, like `belay check`: loads the plugins, opens the inputs, builds the graph, calls begin of the
  // hooks, and destroys all of it. It writes nothing and takes no lock. Returns ok(). The call is optional: run() makes
  // the same checks.
  bool check();

  // Does the work of [run] mode: trains, then evaluates and exports; evaluates a checkpoint, or those of another
  // training; predicts; exports. Call it once; a second call is FAILED_PRECONDITION. Errors are in the report, not
  // thrown. When it returns, plugins and inputs are closed and the directory's lock is free. Mode predict writes to
  // [predict] output, or without it to stdout. Sampled text goes to that file, if it is set, and always into the
  // report.
  RunReport run();

  // Ends the run at the next boundary: the last checkpoint is written, and the report has kDone and this reason. Before
  // run() it ends the run before its first step.
  void request_stop(const std::string& reason);
  // Does the same, and ends a wait in progress, such as for input, now.
  void stop_now(const std::string& reason);
  // Asks for a checkpoint at the next boundary; the training continues.
  void request_save();

 private:
  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
