// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/replay_command.h"

#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/api/run_driver.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/signals.h"
#include "runtime/cli/watched_run.h"
#include "runtime/estimator/replay/replay.h"
#include "runtime/platform/process/stacks.h"

namespace belay::runtime {
namespace {

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
    log_.info("", signal_name(signal) + ": the replay ends behind this step");
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
      return log_error(log_, std::string("the directory of the replay cannot be used: ") + error.what());
    case RunPart::kTraining:
      log_error(log_, std::string("the replay ended with an error: ") + error.what());
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
  PreparedRunOptions options;
  options.replay = replay_.options();
  signals_.emplace(signal_requests());
  const int status = find(std::move(manifest), options);
  return status == kExitDone ? static_cast<int>(RunDriver(*run, problems, *this).replay(replay_)) : status;
}

}  // namespace

int replay_command(const ReplayRequest& request) {
  Signals::block();
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  Replay replay(request, *log, posix_file_system());
  return ReplayCommand(replay, *log, control).work();
}

}  // namespace belay::runtime
