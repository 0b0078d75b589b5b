// SPDX-License-Identifier: Apache-2.0
// `belay replay` makes steps of a run again, from the checkpoint before them, with new hooks. The run's directory is
// only read.
#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/api/run_driver.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/watch/signals.h"
#include "runtime/cli/watch/watched_run.h"
#include "runtime/estimator/replay/replay.h"
#include "runtime/estimator/replay/replay_request.h"
#include "runtime/platform/process/stacks.h"

namespace belay::runtime {
namespace {

ReplayRequest replay_request(const Given& given) {
  ReplayRequest out;
  out.run = given.argument("run's directory");
  out.first_non_finite = given.has("first-non-finite");
  if (!given.has("step") && !out.first_non_finite)
    throw UsageError("[B5003] belay replay: --step N names the step to look at; see belay replay --help");
  for (const char* option : {"to", "hook", "hooks", "fetch", "batch", "what-if", "all-tensors"})
    if (out.first_non_finite && given.has(option))
      throw UsageError(
          std::string("[B5006] belay replay: --first-non-finite finds the step by itself and sees all tensors; "
                      "leave --") +
          option + " out, and look at the step that it finds by --step");
  if (given.has("step")) out.step = given.integer("step");
  if (given.has("to")) out.to = given.integer("to");
  if (out.step < 1 && given.has("step"))
    throw UsageError("[B5004] belay replay: --step must be at least 1, the first step of a run");
  if (given.has("to") && out.to < out.step)
    throw UsageError("[B5004] belay replay: --to must not be smaller than --step");
  out.hook_texts = given.texts("hook");
  out.hook_files = given.texts("hooks");
  out.fetches = given.texts("fetch");
  out.batch = given.has("batch");
  out.what_if = given.has("what-if");
  out.all_tensors = given.has("all-tensors");
  out.out = given.path("out");
  return out;
}

class ReplayCommand final : public WatchedRun {
 public:
  // The replay is borrowed.
  ReplayCommand(Replay& replay, Logger& log, RunControl& by)
      : WatchedRun(make_platform(log), by), log_(log), replay_(replay) {}

  int work();

 private:
  void failed(RunPart part, const Error& error, Diagnostics& found) override;
  RunStatus begins() override;
  void replayed(const ReplayResult& result) override;
  SignalRequests signal_requests();

  Logger& log_;
  std::atomic<bool> training_{false};
  Replay& replay_;
  std::optional<Signals> signals_;
};

SignalRequests ReplayCommand::signal_requests() {
  SignalRequests requests;
  requests.stop = [this](int signal, bool) {
    if (!training_) Signals::die_of(signal);
    log_.info("", signal_name(signal) + ": the replay ends after this step");
    control.stop("stopped by " + signal_name(signal));
  };
  requests.wake = [this](int signal) { control.wake(Error(Code::kCancelled, "stopped by " + signal_name(signal))); };
  requests.save = [] {};
  requests.stacks = [] { write_all_stacks(2); };
  requests.give_up = [](int, std::optional<double>) {};
  return requests;
}

void ReplayCommand::failed(RunPart part, const Error& error, Diagnostics& found) {
  const RunStatus status = status_of(part, error);
  switch (part) {
    case RunPart::kPlan:
      if (status == RunStatus::kUsage && error.code() == Code::kInvalidArgument)
        throw UsageError(std::string("belay replay: ") + error.what());
      return log_error(log_, error.what());
    case RunPart::kDirectory:
      if (status == RunStatus::kInUse) return log_.error("", error.what());
      return log_error(log_, std::string("[B5020] the directory of the replay cannot be used: ") + error.what());
    case RunPart::kTraining:
      log_error(log_, end_text("the replay ended with an error: ", error));
      log_.flush();
      if (signals_->stop_signal() != 0 && error.code() == Code::kCancelled) Signals::die_of(signals_->stop_signal());
      return;
    default: return WatchedRun::failed(part, error, found);
  }
}

RunStatus ReplayCommand::begins() {
  training_ = true;
  return RunStatus::kDone;
}

void ReplayCommand::replayed(const ReplayResult& result) {
  log_.flush();
  if (signals_->stop_signal() != 0) Signals::die_of(signals_->stop_signal());
  std::cout << result.text << std::flush;
}

int ReplayCommand::work() {
  std::optional<Manifest> manifest;
  const RunStatus planned = run_stage(RunPart::kPlan, problems, *this, [&] {
    replay_.plan();
    manifest = replay_.manifest(process_environment(), problems);
  });
  if (planned != RunStatus::kDone) return static_cast<int>(planned);
  options.replay = replay_.options();
  signals_.emplace(signal_requests());
  const int status = find(std::move(manifest));
  return status == kExitDone ? static_cast<int>(RunDriver(*run, problems, *this).replay(replay_)) : status;
}

// Returns an exit status: kExitTrainingFailed if the bits are not those of the run.
int replay_command(const ReplayRequest& request) {
  Signals::block();
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  Replay replay(request, *log, posix_file_system());
  return ReplayCommand(replay, *log, control).work();
}

}  // namespace

Command declare_replay() {
  return {
      .name = "replay",
      .arguments = "DIR",
      .what = "repeats steps of a run with additional hooks, and proves that the steps are the same",
      .options =
          {
              {"step", "first step to examine", Takes::kInteger, "N"},
              {"to", "last step to examine (N)", Takes::kInteger, "M"},
              {"hook", "adds a hook for these steps, with options as TOML; may be repeated", Takes::kTexts,
               "NAME{OPTIONS}", nullptr, PluginKind::kHook},
              {"hooks", "adds the [[hooks]] of a TOML file; may be repeated", Takes::kTexts, "FILE"},
              {"fetch", "writes a role or node of the model to step-N.npz; may be repeated", Takes::kTexts, "TENSOR"},
              {"batch", "writes the input's features and labels to step-N.npz"},
              {"all-tensors", "writes every tensor of these steps to step-N.npz, and their order to step-N.json"},
              {"first-non-finite",
               "finds the first NaN or infinite tensor and its step, after the newest checkpoint or after the one "
               "before N"},
              {"out", "folder for the files of hooks and tensors (./replay-of-RUN-N)", Takes::kText, "DIR2"},
              {"what-if", "allows hooks that change the run, and other plugins and data"},
          },
      .run = [](const Given& given) { return replay_command(replay_request(given)); },
      .computes = true};
}

}  // namespace belay::runtime
