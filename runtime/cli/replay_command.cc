// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/replay_command.h"

#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/api/run_status.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/prepare_run.h"
#include "runtime/cli/signals.h"
#include "runtime/estimator/replay.h"
#include "runtime/platform/stacks.h"

namespace belay::runtime {
namespace {

class ReplayCommand {
 public:
  ReplayCommand(const ReplayRequest& request, Logger& log, FileSystem& files)
      : log_(log), replay_(request, log, files) {}

  int run();

 private:
  SignalRequests signal_requests();
  int check(ManifestRun& run, Diagnostics& problems) const;
  int train(ManifestRun& run, Watchdog& watchdog, const Signals& signals);

  Logger& log_;
  RunControl control_;
  std::atomic<bool> training_{false};
  Replay replay_;
};

SignalRequests ReplayCommand::signal_requests() {
  SignalRequests requests;
  requests.stop = [this](int signal, bool) {
    if (!training_) Signals::die_of(signal);
    log_.info("", signal_name(signal) + ": the replay ends behind this step");
    control_.stop("stopped by " + signal_name(signal));
  };
  requests.wake = [this](int signal) { control_.wake(Error(Code::kCancelled, "stopped by " + signal_name(signal))); };
  requests.save = [] {};
  requests.stacks = [] { write_all_stacks(2); };
  requests.give_up = [](int, std::optional<double>) {};
  return requests;
}

int ReplayCommand::check(ManifestRun& run, Diagnostics& problems) const {
  replay_.check(run, problems);
  if (!problems.empty()) return kExitDone;  // they are printed
  try {
    run.take_directory();
    return kExitDone;
  } catch (const Error& e) {
    const RunStatus status = status_of(RunPart::kDirectory, e);
    if (status == RunStatus::kInUse)
      log_.error("", e.what());
    else
      log_error(log_, std::string("the directory of the replay cannot be used: ") + e.what());
    return static_cast<int>(status);
  }
}

int ReplayCommand::train(ManifestRun& run, Watchdog& watchdog, const Signals& signals) {
  try {
    run.open_directory();
    training_ = true;
    const ReplayResult result = replay_.train(run, [&] { watchdog.progress(); });
    log_.flush();
    if (signals.stop_signal() != 0) Signals::die_of(signals.stop_signal());
    std::cout << result.text << std::flush;
    return static_cast<int>(result.status);
  } catch (const Error& e) {
    log_error(log_, std::string("the replay ended with an error: ") + e.what());
    log_.flush();
    if (signals.stop_signal() != 0 && e.code() == Code::kCancelled) Signals::die_of(signals.stop_signal());
    return static_cast<int>(status_of(RunPart::kTraining, e));
  }
}

int ReplayCommand::run() {
  Diagnostics problems;
  std::optional<Manifest> manifest;
  try {
    replay_.plan();
    manifest = replay_.manifest(process_environment(), problems);
  } catch (const Error& e) {
    const RunStatus status = status_of(RunPart::kPlan, e);
    if (status == RunStatus::kUsage && e.code() == Code::kInvalidArgument)
      throw UsageError(std::string("belay replay: ") + e.what());
    log_error(log_, e.what());
    return static_cast<int>(status);
  }
  if (!manifest) {
    log_.flush();
    print(problems, ManifestArguments());
    return kExitUsage;
  }
  ManifestRunOptions options;
  options.replay = replay_.options();
  PreparedRun prepared;
  Signals signals(signal_requests());
  const int status =
      prepare_run(prepared, std::move(manifest), problems, ManifestArguments(), options, make_platform(log_), control_,
                  [this](ManifestRun& run, Diagnostics& found) { return check(run, found); });
  return status != kExitDone ? status : train(*prepared.run, *prepared.watchdog, signals);
}

}  // namespace

int replay_command(const ReplayRequest& request) {
  Signals::block();
  install_stack_signal();
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  return ReplayCommand(request, *log, posix_file_system()).run();
}

}  // namespace belay::runtime
