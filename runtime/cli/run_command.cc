// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <thread>

#include "runtime/api/log.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/exported_folder.h"
#include "runtime/cli/plan_text.h"
#include "runtime/cli/prepare_run.h"
#include "runtime/cli/signals.h"
#include "runtime/cli/use_model.h"
#include "runtime/cli/watchdog.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/platform/stacks.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

std::string duration_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 10 ? "%.2f s" : "%.1f s", seconds);
  return text;
}

std::string last_checkpoint(const TrainingResult& result) {
  if (!result.moved) return escaped(result.checkpoint);
  const std::size_t name = result.checkpoint.rfind('/') + 1;
  return escaped(result.checkpoint.substr(name)) + ", which is in the run directory, but that was moved away from " +
         escaped(result.checkpoint.substr(0, name - 1));
}

void say_why_it_ended(Logger& log, const TrainingResult& result) {
  log.status_line("");
  const bool input_ended = result.reason.kind == EndReason::Kind::kEndOfInput;
  const std::string why = input_ended ? "the input ended (" + result.reason.text + ")" : result.reason.text;
  log.info("", "ended at step " + std::to_string(result.global_step) + " (" + std::to_string(result.steps) +
                   " steps in " + duration_text(result.seconds) + "): " + why +
                   (result.checkpoint.empty() ? "" : "; last checkpoint " + last_checkpoint(result)) +
                   (result.recoveries == 0 ? "" : "; " + std::to_string(result.recoveries) + " recoveries"));
}

void say_what_was_left_out(Logger& log, const std::vector<std::string>& hooks) {
  for (const std::string& hook : hooks) log.warning("", hook + " failed and was left out (on_error = \"disable\")");
}

// Where nothing more is saved: "ended by a second signal, SIGTERM: saved is runs/x/model.ckpt-40, ..."
void say_what_is_kept(Logger& log, int signal, std::optional<double> grace_secs, const std::string& kept) {
  std::string why = "a second signal, " + signal_name(signal);
  if (grace_secs) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%g", *grace_secs);
    why = signal_name(signal) + ", after its signal_grace_secs = " + seconds;
  }
  log.status_line("");
  log.warning("", "ended by " + why + ": " + kept);
  log.flush();
}

// Training and the evaluation after it.
int train(ManifestRun& run, Watchdog& watchdog, Logger& log, const Signals& signals) {
  TrainingResult result;
  try {
    result = run.train([&] { watchdog.progress(); });
  } catch (const Error& e) {
    log.status_line("");
    log_error(log, std::string("training ended with an error: ") + e.what());
    say_what_was_left_out(log, run.disabled_hooks());
    log.flush();
    if (signals.stop_signal() != 0 && e.code() == Code::kCancelled) Signals::die_of(signals.stop_signal());
    // The error may have come through a hook, as one of its own.
    return run.host().lock_lost() ? kExitInUse : status_of(e);
  }
  say_why_it_ended(log, result);
  say_what_was_left_out(log, run.disabled_hooks());
  int status = kExitDone;
  if (!result.save_error.empty()) {
    log.error("", "the last checkpoint was not written: " + result.save_error);
    status = kExitSaveFailed;
  } else if (!result.removed.empty()) {
    log.error("", "the last checkpoint was removed after it was written: there is no " + escaped(result.removed));
    status = kExitSaveFailed;
  }
  if (signals.stop_signal() == 0 && status == kExitDone) {
    try {
      for (const EvaluatedInput& evaluated : run.evaluate_at_end()) print_result(log, evaluated);
    } catch (const Error& e) {
      if (signals.stop_signal() == 0) {
        log_error(log, std::string("the evaluation failed: ") + e.what());
        return status_of(e);
      }
    }
  }
  if (signals.stop_signal() == 0 && status == kExitDone) {
    try {
      run.export_at_end();
    } catch (const Error& e) {
      log_error(log, std::string("the export failed: ") + e.what());
      log.flush();
      return status_of(e);
    }
  }
  log.flush();
  if (signals.stop_signal() != 0) {
    if (status != kExitDone) return status;
    Signals::die_of(signals.stop_signal());
  }
  return status;
}

// Runs f, which works on the run directory; an exit status.
int with_directory(Logger& log, const std::function<void()>& f) {
  try {
    f();
    return kExitDone;
  } catch (const RunInUse& e) {
    log.error("", e.what());
    return kExitInUse;
  } catch (const Error& e) {
    log_error(log, std::string("the run directory cannot be used: ") + e.what() +
                       "\n  help: set dir in [run], or --set run.dir=DIR, to a folder that this user can write");
    return kExitUsage;
  }
}

}  // namespace

int run_command(const RunArguments& arguments) {
  Signals::block();
  install_stack_signal();
  const std::unique_ptr<Logger> log = make_stderr_logger(arguments.log_format, LogLevel::kInfo, system_clock());
  RunControl control;
  std::atomic<bool> training{false};
  PreparedRun prepared;
  const std::unique_ptr<ManifestRun>& run = prepared.run;
  SignalRequests requests;
  requests.stop = [&](int signal, bool from_itself) {
    const std::string doing = from_itself && run != nullptr ? run->activity() : "";
    if (from_itself)
      log->warning("", signal_name(signal) + " came from this process itself, so from a plugin" +
                           (doing.empty() ? "" : "; being called: " + doing));
    if (!training) {
      log->info("", "ended by " + signal_name(signal) + " before training began: there is nothing to save");
      log->flush();
      Signals::die_of(signal);
    }
    control.stop("stopped by " + signal_name(signal));
  };
  requests.give_up = [&](int signal, std::optional<double> grace_secs) {
    say_what_is_kept(*log, signal, grace_secs, control.what_is_kept());
  };
  requests.wake = [&](int signal) { control.wake(Error(Code::kCancelled, "stopped by " + signal_name(signal))); };
  requests.save = [&] { control.save(); };
  requests.stacks = [&] {
    const std::string doing = training ? run->activity() : "";
    log->info("", "SIGQUIT: the stacks of all threads follow" + (doing.empty() ? "" : "; in " + doing));
    log->flush();
    write_all_stacks(STDERR_FILENO);
  };
  Signals signals(requests);
  // From before the first plugin is loaded on the run directory is ours, and shows it.
  const auto take_directory = [&](ManifestRun& taken, Diagnostics& problems) {
    if (trains(taken.manifest().run.mode) && !arguments.dry_run)
      if (const int status = with_directory(*log, [&] { taken.take_directory(); }); status != kExitDone) return status;
    taken.compare_with_earlier(problems);
    return static_cast<int>(kExitDone);
  };
  int status = prepare_run(prepared, arguments.manifest, arguments.sets, {arguments.from_scratch, arguments.resume},
                           make_platform(*log), control, take_directory);
  if (status != kExitDone) return status;
  signals.set_grace(run->manifest().session.signal_grace_secs);
  if (arguments.dry_run) {
    std::cout << plan_text(*run) << std::flush;
    return kExitDone;
  }
  if (!trains(run->manifest().run.mode)) {
    training = true;
    if (!arguments.exported.empty()) warn_of_other_plugins(arguments.exported, run->plugins().registry(), *log);
    return use_model(*run, *prepared.watchdog, *log, signals);
  }
  status = with_directory(*log, [&] { run->open_directory(); });
  if (status != kExitDone) return status;
  training = true;
  return train(*run, *prepared.watchdog, *log, signals);
}

int check_command(const ManifestArguments& arguments) {
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  PreparedRun prepared;
  const int status = prepare_run(prepared, arguments.manifest, arguments.sets, {}, make_platform(*log), control,
                                 [](ManifestRun& run, Diagnostics& problems) {
                                   run.tell_last_attempt();
                                   run.compare_with_earlier(problems);
                                   return kExitDone;
                                 });
  if (status == kExitDone)
    std::cout << escaped(arguments.manifest) << ": ok\n" << plan_text(*prepared.run) << std::flush;
  return status;
}

int show_command(const ManifestArguments& arguments) {
  Diagnostics problems;
  const std::optional<Manifest> manifest =
      parse_manifest(arguments.manifest, arguments.sets, process_environment(), problems);
  if (!problems.empty()) {
    std::cerr << problems.text() << std::flush;
    return kExitUsage;
  }
  std::cout << effective_manifest(*manifest) << std::flush;
  return kExitDone;
}

}  // namespace belay::runtime
