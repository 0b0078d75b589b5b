// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/run_command.h"

#include <fmt/core.h>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/api/log.h"
#include "runtime/api/run_driver.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/run/command_trace.h"
#include "runtime/cli/run/disk_room.h"
#include "runtime/cli/run/exported_folder.h"
#include "runtime/cli/run/plan_text.h"
#include "runtime/cli/run/run_blocks.h"
#include "runtime/cli/watch/signals.h"
#include "runtime/cli/watch/taken_away.h"
#include "runtime/cli/watch/temporary_folder.h"
#include "runtime/cli/watch/time_box.h"
#include "runtime/cli/watch/watched_run.h"
#include "runtime/estimator/evaluation/metrics_line.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/process/stacks.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// If nothing more is saved: "ended by a second signal, SIGTERM, in hook "x" in after_run at step 41: saved is
// runs/x/model.ckpt-40, ..."
void say_given_up(Logger& log, int signal, std::optional<double> grace_secs, const std::string& doing,
                  const std::string& kept) {
  std::string why = "a second signal, " + signal_name(signal);
  if (grace_secs) why = signal_name(signal) + ", after its signal_grace_secs = " + rounded_text(*grace_secs);
  log.status_line("");
  log.warning("", "ended by " + why + (doing.empty() ? "" : ", in " + doing) + ": " + kept);
  log.flush();
}

void say_removed(Logger& log, const std::string& checkpoint) {
  log.error("", "[B4025] the last checkpoint was removed after it was written: there is no " + escaped(checkpoint));
}

// A line of stdout: "eval at step 400 on 1000 examples: loss = 0.08, accuracy = 0.975"
void print_result(Logger& log, const EvaluatedInput& result) {
  log.status_line("");
  log.flush();
  std::cout << result.input << " at step " << result.result.global_step << " on " << result.result.examples
            << " examples: " << metrics_text(result.result) << "\n";
  for (const std::string& line : matrix_lines(result.result)) std::cout << "  " << escaped(line) << "\n";
  std::cout.flush();
}

const char* what_failed(RunMode mode) {
  return mode == RunMode::kEvaluate ? "the evaluation failed: "
         : mode == RunMode::kExport ? "the export failed: "
                                    : "the prediction failed: ";
}

int run_short(RunArguments arguments);

// `belay run`, and the commands of the other modes.
class RunCommand final : public WatchedRun {
 public:
  // `written`: gets the path of the last checkpoint.
  RunCommand(const RunArguments& arguments, Logger& log, RunControl& by, TakenAway& taken, std::string& written)
      : WatchedRun(make_platform(log), by, arguments),
        arguments_(arguments),
        log_(log),
        taken_(taken),
        written_(written),
        signals_(signal_requests()) {}
  ~RunCommand() override;

  // Returns an exit status.
  int work();

 private:
  void failed(RunPart part, const Error& error, Diagnostics& found) override;
  RunStatus opens_directory() override;
  RunStatus begins() override;
  void session(const std::string& ends) override { say_begin(*run, ends, log_); }
  void trained(const TrainingResult& result, const std::string& untrained) override;
  void evaluated_at_end(const EvaluatedInput& result) override;
  void evaluated(const CheckpointResult& result) override;
  void predicted(const Predicted& result, double seconds) override;
  bool prints_sampled() const override { return true; }
  void exported(const ExportedCheckpoint& result) override;

  SignalRequests signal_requests();
  void request_stop(int signal, bool from_itself);
  void say_training_error(const Error& error);
  void say_mode_error(const Error& error);
  void say_what_was_left_out();
  int plan();

  const RunArguments& arguments_;
  Logger& log_;
  TakenAway& taken_;
  std::string& written_;
  std::atomic<bool> training_{false};
  std::optional<CommandTrace> trace_;
  Signals signals_;
};

// This holds for any end of the run. A plugin's destroy is the plugin's code, too: it may take away things that the
// run needs, and it may block.
RunCommand::~RunCommand() {
  trace_.reset();
  if (run != nullptr)
    taken_.needs(run->plugins.registry(), run->host.has_directory() ? run->manifest.run.dir : "", !written_.empty());
  close();
}

// ---- signals

void RunCommand::request_stop(int signal, bool from_itself) {
  const std::string doing = activity();  // a wait for a plugin names it
  if (from_itself)
    log_.warning("", signal_name(signal) + " came from this process itself, so from a plugin" +
                         (doing.empty() ? "" : "; being called: " + doing));
  if (closing()) {
    log_.info("", signal_name(signal) +
                      ": the run has ended, and its plugins are being destroyed; a second signal ends "
                      "it at once");
    return log_.flush();
  }
  if (!training_) {
    log_.info("", "ended by " + signal_name(signal) + " before training began" +
                      (doing.empty() ? "" : ", in " + doing) + ": there is nothing to save");
    log_.flush();
    Signals::die_of(signal);
  }
  log_.info(
      "", signal_name(signal) + (trains(run->manifest.run.mode)
                                     ? ": the run ends after this step and saves; a second signal ends it at once"
                                     : ": what is under way ends at the next batch; a second signal ends it at once"));
  log_.flush();
  control.stop("stopped by " + signal_name(signal));
}

SignalRequests RunCommand::signal_requests() {
  SignalRequests requests;
  requests.stop = [this](int signal, bool from_itself) { request_stop(signal, from_itself); };
  requests.give_up = [this](int signal, std::optional<double> grace_secs) {
    say_given_up(log_, signal, grace_secs, activity(), control.what_is_kept());
  };
  requests.late = [this] { control.save_beside_hook(); };
  requests.wake = [this](int signal) { control.wake(Error(Code::kCancelled, "stopped by " + signal_name(signal))); };
  requests.save = [this] { control.save(); };
  requests.stacks = [this] {
    const std::string doing = activity();
    log_.info("", "SIGQUIT: the stacks of all threads follow" + (doing.empty() ? "" : "; in " + doing));
    log_.flush();
    write_all_stacks(STDERR_FILENO);
  };
  return requests;
}

// ---- the start

RunStatus RunCommand::opens_directory() {
  if (arguments_.is_short && run->strategy->several()) {
    log_.error(
        "",
        "[B5006] --short trains in a temporary directory, in which several processes do not meet; start one process");
    return RunStatus::kUsage;
  }
  if (!arguments_.allow_full_disk && !arguments_.is_short) require_room(disk_room(*run));
  return RunStatus::kDone;
}

RunStatus RunCommand::begins() {
  signals_.set_grace(run->manifest.session.signal_grace_secs);
  const bool is_training = trains(run->manifest.run.mode);
  int status = kExitDone;
  if (is_training && arguments_.trace) status = open_trace(trace_, *run, *arguments_.trace);
  training_ = status == kExitDone;
  if (!is_training && !arguments_.exported.empty())
    warn_of_other_plugins(arguments_.exported, run->plugins.registry(), log_);
  return static_cast<RunStatus>(status);
}

// ---- its end

void RunCommand::say_what_was_left_out() {
  for (const std::string& hook : run->training.hooks().disabled())
    log_.warning("", hook + " failed and was left out (on_error = \"disable\")");
}

void RunCommand::failed(RunPart part, const Error& error, Diagnostics& found) {
  switch (part) {
    case RunPart::kDirectory:
      if (status_of(part, error) == RunStatus::kInUse) return log_.error("", error.what());
      return log_error(log_, std::string("[B5020] the run directory cannot be used: ") + error.what() +
                                 "\n  help: set dir in [run], or --set run.dir=DIR, to a folder that this user can "
                                 "write");
    case RunPart::kTraining: return say_training_error(error);
    case RunPart::kEvaluation: return report_error("the evaluation failed: ", error);
    case RunPart::kExport: return log_error(log_, end_text("the export failed: ", error));
    case RunPart::kMode: return say_mode_error(error);
    default: return WatchedRun::failed(part, error, found);
  }
}

void RunCommand::say_training_error(const Error& error) {
  report_error("training ended with an error: ", error);
  say_what_was_left_out();
  if (!arguments_.is_short) say_what_is_kept(*run, log_);
  if (!arguments_.is_short && error.code() == Code::kDiverged) say_how_to_search(*run, error.what(), log_);
  log_.flush();
  if (signals_.stop_signal() != 0 && error.code() == Code::kCancelled) Signals::die_of(signals_.stop_signal());
}

void RunCommand::say_mode_error(const Error& error) {
  log_.status_line("");
  if (signals_.stop_signal() != 0) {
    log_.info("", std::string("ended by ") + signal_name(signals_.stop_signal()));
    log_.flush();
    Signals::die_of(signals_.stop_signal());
  }
  report_error(what_failed(run->manifest.run.mode), error);
}

void RunCommand::trained(const TrainingResult& result, const std::string& /*untrained*/) {
  say_end(*run, result, arguments_.is_short ? nullptr : &arguments_, log_);
  say_what_was_left_out();
  if (!result.moved) written_ = result.checkpoint;
  if (!result.save_error.empty())
    log_.error("", "the last checkpoint was not written: " + result.save_error);
  else if (!result.removed.empty())
    say_removed(log_, result.removed);
}

void RunCommand::evaluated_at_end(const EvaluatedInput& result) {
  print_result(log_, result);
  if (arguments_.log_format == LogFormat::kJson && !result.said)
    log_.info(result.input, fmt::format("step {}: {}{}", result.result.global_step, metrics_text(result.result),
                                        evaluation_fields(result.input, result.result).text()));
}

void RunCommand::evaluated(const CheckpointResult& result) {
  log_.info("", "evaluated " + escaped(result.checkpoint.path));
  for (const EvaluatedInput& input : result.inputs) print_result(log_, input);
}

void RunCommand::predicted(const Predicted& result, double seconds) {
  if (result.totals.reader_gone) return;
  const std::string remark = remark_of(result.totals);
  log_.info("",
            fmt::format("predicted {} examples with {} in {} s{}", result.totals.examples,
                        escaped(result.checkpoint.path), fixed_text(seconds, 2), remark.empty() ? "" : "; " + remark));
}

// Prints a line for each export on stdout: its path.
void RunCommand::exported(const ExportedCheckpoint& result) {
  log_.info("", "exported " + escaped(result.checkpoint.path));
  log_.flush();
  for (const WrittenExport& e : result.exports) std::cout << escaped(e.path) << std::endl;
}

// ---- all of it

// Does the work of --dry-run.
int RunCommand::plan() {
  const int status = prepare(Preparation::kCompare);
  if (status == kExitDone) std::cout << plan_text(*run) << std::flush;
  return status;
}

int RunCommand::work() {
  const std::string max_time = "--max-time is over";
  const TimeBox box(
      arguments_.max_seconds, system_clock(),
      [&] {
        log_.info("", max_time + ": the run ends after this step and saves");
        control.stop(max_time);
      },
      [&] { control.wake(Error(Code::kCancelled, max_time)); });
  options = arguments_.run;
  if (const int status = find(); status != kExitDone) {
    if (run != nullptr && !arguments_.dry_run) run->strategy->refuse(refusal());
    return status;
  }
  if (arguments_.dry_run) return plan();
  const RunStatus status = RunDriver(*run, problems, *this).run();
  log_.flush();
  if (status != RunStatus::kDone || !trains(run->manifest.run.mode)) return static_cast<int>(status);
  if (signals_.stop_signal() != 0) Signals::die_of(signals_.stop_signal());
  return box.over() ? arguments_.requeue_status : kExitDone;
}

}  // namespace

int run_command(const RunArguments& arguments) {
  if (arguments.short_steps != 0) return run_short(arguments);
  Signals::block();
  const std::unique_ptr<Logger> log =
      make_stderr_logger(arguments.log_format, arguments.log_level, arguments.colour, system_clock());
  RunControl control;
  TakenAway taken;
  std::string written;
  int status = RunCommand(arguments, *log, control, taken, written).work();  // and its plugins are destroyed
  if (const std::string text = taken.text(); !text.empty()) log->warning("", text);
  std::error_code unknown;
  if (status == kExitDone && !written.empty() && !std::filesystem::exists(written, unknown) && !unknown) {
    say_removed(*log, written);
    status = kExitSaveFailed;
  }
  log->flush();
  return status;
}

namespace {

// `belay run --short N` runs in a directory that is removed afterwards. A whole evaluation may take longer than N
// steps.
int run_short(RunArguments arguments) {
  arguments.run.most_eval_batches = arguments.short_steps;
  const std::string steps = std::to_string(std::exchange(arguments.short_steps, 0));
  const TemporaryFolder folder("short");
  arguments.sets.push_back("run.max_steps=" + steps);
  arguments.sets.emplace_back("run.min_steps=0");
  arguments.sets.push_back("run.dir=" + toml_string(folder.path()));
  arguments.is_short = true;
  return run_command(arguments);
}

}  // namespace

}  // namespace belay::runtime
