// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run_command.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/api/log.h"
#include "runtime/api/run_status.h"
#include "runtime/cli/command_trace.h"
#include "runtime/cli/disk_room.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/exported_folder.h"
#include "runtime/cli/plan_text.h"
#include "runtime/cli/prepare_run.h"
#include "runtime/cli/run_blocks.h"
#include "runtime/cli/signals.h"
#include "runtime/cli/taken_away.h"
#include "runtime/cli/temporary_folder.h"
#include "runtime/cli/time_box.h"
#include "runtime/cli/use_model.h"
#include "runtime/cli/watchdog.h"
#include "runtime/estimator/metrics_line.h"
#include "runtime/estimator/training_end.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/stacks.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

void say_what_was_left_out(Logger& log, const std::vector<std::string>& hooks) {
  for (const std::string& hook : hooks) log.warning("", hook + " failed and was left out (on_error = \"disable\")");
}

// Where nothing more is saved: "ended by a second signal, SIGTERM, in hook "x" in after_run at step 41: saved is
// runs/x/model.ckpt-40, ..."
void say_given_up(Logger& log, int signal, std::optional<double> grace_secs, const std::string& doing,
                  const std::string& kept) {
  std::string why = "a second signal, " + signal_name(signal);
  if (grace_secs) why = signal_name(signal) + ", after its signal_grace_secs = " + rounded_text(*grace_secs);
  log.status_line("");
  log.warning("", "ended by " + why + (doing.empty() ? "" : ", in " + doing) + ": " + kept);
  log.flush();
}

int say_removed(Logger& log, const std::string& checkpoint) {
  log.error("", "the last checkpoint was removed after it was written: there is no " + escaped(checkpoint));
  return kExitSaveFailed;
}

// Training and the evaluation after it. `written`: where the last checkpoint is.
int train(ManifestRun& run, const RunArguments& arguments, Watchdog& watchdog, Logger& log, const Signals& signals,
          std::string& written) {
  TrainingResult result;
  try {
    result = run.train([&] { watchdog.progress(); }, [&](const std::string& ends) { say_begin(run, ends, log); });
  } catch (const Error& e) {
    report_error(log, "training ended with an error: ", e, run, arguments);
    say_what_was_left_out(log, run.disabled_hooks());
    if (!arguments.is_short) say_what_is_kept(run, log);
    if (!arguments.is_short && e.code() == Code::kDiverged) say_how_to_search(run, e.what(), log);
    log.flush();
    if (signals.stop_signal() != 0 && e.code() == Code::kCancelled) Signals::die_of(signals.stop_signal());
    return run.host().lock_lost() ? kExitInUse : static_cast<int>(status_of(RunPart::kTraining, e));
  }
  say_end(run, result, arguments.is_short ? nullptr : &arguments, log);
  say_what_was_left_out(log, run.disabled_hooks());
  if (!result.moved) written = result.checkpoint;
  int status = kExitDone;
  if (!result.save_error.empty()) {
    log.error("", "the last checkpoint was not written: " + result.save_error);
    status = kExitSaveFailed;
  } else if (!result.removed.empty()) {
    status = say_removed(log, result.removed);
  }
  if (const std::string untrained = untrained_text(run, result); !untrained.empty()) {
    log.warning("", untrained);
    if (status == kExitDone && is_untrained(result)) status = kExitUsage;
  }
  const auto stopped = [&] { return run.host().control().stopping(); };
  if (!stopped() && status == kExitDone) {
    try {
      for (const EvaluatedInput& evaluated : run.evaluate_at_end()) {
        print_result(log, evaluated);
        if (arguments.log_format == LogFormat::kJson && !evaluated.said)
          log.info(evaluated.input, "step " + std::to_string(evaluated.result.global_step) + ": " +
                                        metrics_text(evaluated.result) +
                                        evaluation_fields(evaluated.input, evaluated.result).text());
      }
    } catch (const Error& e) {
      if (!stopped()) {
        report_error(log, "the evaluation failed: ", e, run, arguments);
        return static_cast<int>(status_of(RunPart::kEvaluation, e));
      }
    }
  }
  if (!stopped() && status == kExitDone) {
    try {
      run.export_at_end();
    } catch (const Error& e) {
      log_error(log, std::string("the export failed: ") + e.what());
      log.flush();
      return static_cast<int>(status_of(RunPart::kExport, e));
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
  } catch (const Error& e) {
    const RunStatus status = status_of(RunPart::kDirectory, e);
    if (status == RunStatus::kInUse)
      log.error("", e.what());
    else
      log_error(log, std::string("the run directory cannot be used: ") + e.what() +
                         "\n  help: set dir in [run], or --set run.dir=DIR, to a folder that this user can write");
    return static_cast<int>(status);
  }
}

int run_short(RunArguments arguments);

// Behind the run, whichever way it went: a plugin's destroy is its code, too. It may take away what the run needs, and
// it may block.
class Destroying {
 public:
  Destroying(PreparedRun& prepared, TakenAway& taken, const std::string& written, std::atomic<bool>& begun)
      : prepared_(prepared), taken_(taken), written_(written), begun_(begun) {}
  ~Destroying() {
    begun_ = true;
    if (prepared_.run != nullptr)
      taken_.needs(prepared_.run->plugins().registry(),
                   prepared_.run->host().has_directory() ? prepared_.run->manifest().run.dir : "", !written_.empty());
    prepared_.close();
  }
  Destroying(const Destroying&) = delete;
  Destroying& operator=(const Destroying&) = delete;

 private:
  PreparedRun& prepared_;
  TakenAway& taken_;
  const std::string& written_;
  std::atomic<bool>& begun_;
};

// Until the plugins are destroyed. `written`: where the last checkpoint is.
int run_prepared(PreparedRun& prepared, const RunArguments& arguments, RunControl& control, Logger& log,
                 TakenAway& gone, std::string& written) {
  std::atomic<bool> training{false}, destroying{false};
  const std::unique_ptr<ManifestRun>& run = prepared.run;
  // What waits for a plugin says for which.
  const auto activity = [&]() -> std::string {
    if (destroying) return prepared.end_report ? calls_in_progress(prepared.end_report->monitors()) : "";
    return run != nullptr ? run->activity() : "";
  };
  SignalRequests requests;
  requests.stop = [&](int signal, bool from_itself) {
    const std::string doing = activity();
    if (from_itself)
      log.warning("", signal_name(signal) + " came from this process itself, so from a plugin" +
                          (doing.empty() ? "" : "; being called: " + doing));
    if (destroying) {
      log.info("", signal_name(signal) +
                       ": the run has ended, and its plugins are being destroyed; a second signal ends "
                       "it at once");
      return log.flush();
    }
    if (!training) {
      log.info("", "ended by " + signal_name(signal) + " before training began" +
                       (doing.empty() ? "" : ", in " + doing) + ": there is nothing to save");
      log.flush();
      Signals::die_of(signal);
    }
    log.info("", signal_name(signal) +
                     (trains(run->manifest().run.mode)
                          ? ": the run ends behind this step and saves; a second signal ends it at once"
                          : ": what is under way ends at the next batch; a second signal ends it at once"));
    log.flush();
    control.stop("stopped by " + signal_name(signal));
  };
  requests.give_up = [&](int signal, std::optional<double> grace_secs) {
    say_given_up(log, signal, grace_secs, activity(), control.what_is_kept());
  };
  requests.late = [&] { control.save_beside_hook(); };
  requests.wake = [&](int signal) { control.wake(Error(Code::kCancelled, "stopped by " + signal_name(signal))); };
  requests.save = [&] { control.save(); };
  requests.stacks = [&] {
    const std::string doing = training ? run->activity() : "";
    log.info("", "SIGQUIT: the stacks of all threads follow" + (doing.empty() ? "" : "; in " + doing));
    log.flush();
    write_all_stacks(STDERR_FILENO);
  };
  Signals signals(requests);
  const Destroying destroyed_at_end(prepared, gone, written, destroying);
  const std::string max_time = "--max-time is over";
  const TimeBox box(
      arguments.max_seconds, system_clock(),
      [&] {
        log.info("", max_time + ": the run ends behind this step and saves");
        control.stop(max_time);
      },
      [&] { control.wake(Error(Code::kCancelled, max_time)); });
  // From before the first plugin is loaded on the run directory is ours, and shows it.
  const auto take_directory = [&](ManifestRun& taken, Diagnostics& problems) {
    if (trains(taken.manifest().run.mode) && !arguments.dry_run) {
      taken.check_launch(problems);
      if (!problems.empty()) return static_cast<int>(kExitDone);  // they are printed
      if (const int status = with_directory(log, [&] { taken.take_directory(); }); status != kExitDone) return status;
    }
    taken.compare_with_earlier(problems);
    return static_cast<int>(kExitDone);
  };
  ManifestRunOptions options{arguments.from_scratch, arguments.resume};
  options.most_eval_batches = arguments.most_eval_batches;
  int status = prepare_run(prepared, arguments, options, make_platform(log), control, take_directory);
  if (status != kExitDone && run != nullptr && !arguments.dry_run) run->refuse_ranks(prepared.refusal);
  if (status != kExitDone) return status;
  signals.set_grace(run->manifest().session.signal_grace_secs);
  if (arguments.dry_run) {
    std::cout << plan_text(*run) << std::flush;
    return kExitDone;
  }
  if (!trains(run->manifest().run.mode)) {
    training = true;
    if (!arguments.exported.empty()) warn_of_other_plugins(arguments.exported, run->plugins().registry(), log);
    return use_model(*run, *prepared.watchdog, log, signals, arguments);
  }
  if (arguments.is_short && run->ranks() != nullptr) {
    log.error("", "--short trains in a directory of its own, where several processes do not meet; start one process");
    return kExitUsage;
  }
  status = with_directory(log, [&] {
    if (!arguments.allow_full_disk && !arguments.is_short) require_room(disk_room(*run));
    run->open_directory();
  });
  if (status != kExitDone) return status;
  std::optional<CommandTrace> trace;
  if (arguments.trace) status = open_trace(trace, *run, *arguments.trace);
  if (status != kExitDone) return status;
  training = true;
  status = train(*run, arguments, *prepared.watchdog, log, signals, written);
  return status == kExitDone && box.over() ? arguments.requeue_status : status;
}

}  // namespace

int run_command(const RunArguments& arguments) {
  if (arguments.short_steps != 0) return run_short(arguments);
  Signals::block();
  install_stack_signal();
  const std::unique_ptr<Logger> log =
      make_stderr_logger(arguments.log_format, arguments.log_level, arguments.colour, system_clock());
  RunControl control;
  TakenAway taken;
  PreparedRun prepared;
  std::string written;
  int status = run_prepared(prepared, arguments, control, *log, taken, written);
  if (const std::string text = taken.text(); !text.empty()) log->warning("", text);
  std::error_code unknown;
  if (status == kExitDone && !written.empty() && !std::filesystem::exists(written, unknown) && !unknown)
    status = say_removed(*log, written);
  log->flush();
  return status;
}

namespace {

// `belay run --short N`: the same in a directory that is removed. A whole evaluation may take longer than N steps.
int run_short(RunArguments arguments) {
  arguments.most_eval_batches = arguments.short_steps;
  const std::string steps = std::to_string(std::exchange(arguments.short_steps, 0));
  const TemporaryFolder folder("short");
  arguments.sets.push_back("run.max_steps=" + steps);
  arguments.sets.emplace_back("run.min_steps=0");
  arguments.sets.push_back("run.dir=" + toml_string(folder.path()));
  arguments.is_short = true;
  return run_command(arguments);
}

}  // namespace

int check_command(const ManifestArguments& arguments) {
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  PreparedRun prepared;
  const int status =
      prepare_run(prepared, arguments, {}, make_platform(*log), control, [](ManifestRun& run, Diagnostics& problems) {
        run.tell_last_attempt();
        run.compare_with_earlier(problems);
        return kExitDone;
      });
  if (status == kExitDone)
    std::cout << escaped(joined(arguments.manifests, ", ")) << ": ok\n" << plan_text(*prepared.run) << std::flush;
  return status;
}

int show_command(const ShowArguments& arguments) {
  Diagnostics problems;
  const std::optional<Manifest> manifest =
      parse_manifests(arguments.manifests, arguments.sets, process_environment(), problems);
  if (!problems.empty()) {
    print(problems, arguments);
    return kExitUsage;
  }
  std::cout << (arguments.origin ? manifest_with_origins(*manifest) : effective_manifest(*manifest)) << std::flush;
  return kExitDone;
}

}  // namespace belay::runtime
