// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/replay_command.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/checkpoint/restore_error.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/checkpoint/stored_place.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/prepare_run.h"
#include "runtime/cli/signals.h"
#include "runtime/cli/use_model.h"
#include "runtime/estimator/data_files.h"
#include "runtime/estimator/manifest_changes.h"
#include "runtime/estimator/non_finite_search.h"
#include "runtime/estimator/replay_manifest.h"
#include "runtime/estimator/replay_proof.h"
#include "runtime/estimator/step_file.h"
#include "runtime/platform/stacks.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

class ReplayCommand {
 public:
  ReplayCommand(const ReplayRequest& request, Logger& log, FileSystem& files)
      : request_(request), log_(log), files_(files) {}

  int run();

 private:
  void plan();
  std::string directory() const;
  void check_directory(const std::string& directory) const;
  int check(ManifestRun& run, Diagnostics& problems) const;
  void check_data(const ManifestRun& run, Diagnostics& problems) const;
  std::shared_ptr<const ReplayOptions> options(const ReplayManifest& manifest);
  std::optional<ReplayManifest> manifest_of(const std::string& out, Diagnostics& problems) const;
  void prove(DirectSession& session);
  int train(ManifestRun& run, Watchdog& watchdog, const Signals& signals);
  int say_end(const TrainingResult& result) const;
  std::string differing_text() const;

  const ReplayRequest& request_;
  Logger& log_;
  FileSystem& files_;
  RunControl control_;
  std::atomic<bool> training_{false};
  ReplayPlan plan_;
  NonFiniteSearch search_;  // of --first-non-finite
  std::size_t kept_hooks_ = 0;
  ManifestRun* run_ = nullptr;
  StateDifference difference_;  // where the proof is a checkpoint
  std::string digest_;          // where it is a digest
  bool proved_ = false;         // the run came so far
};

std::string ReplayCommand::directory() const {
  if (!request_.output.empty()) return request_.output;
  const std::string name = path_parts(std::filesystem::absolute(request_.run).lexically_normal().string()).name;
  const std::string what = request_.first_non_finite ? "first-non-finite" : std::to_string(request_.first);
  return std::filesystem::absolute("replay-of-" + name + "-" + what).string();
}

// Nothing that is there is written over, the run's own directory least of all.
void ReplayCommand::check_directory(const std::string& directory) const {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return;
  if (!std::filesystem::is_directory(directory, error) || !std::filesystem::is_empty(directory, error))
    throw UsageError("belay replay: " + single_quoted(directory) +
                     " is there and holds something; name another directory by --out DIR2, or remove it");
}

// Behind the notes, before any plugin's code.
int ReplayCommand::check(ManifestRun& run, Diagnostics& problems) const {
  const std::vector<ResolvedPlugin>& hooks = run.plugins().found().hooks;
  for (std::size_t i = kept_hooks_; i < hooks.size() && !request_.what_if; ++i)
    if (!only_watches(hooks[i].info))
      problems.add(hooks[i].at,
                   "the hook " + double_quoted(hooks[i].instance_name) +
                       " has options that can change a number (belay describe " + hooks[i].info.name +
                       " shows those that only watch), so this would be another run",
                   "leave it out, or see by --what-if what it does");
  if (request_.batch && run.manifest().optimizer.accumulate > 1)
    problems.add(run.manifest().at("optimizer.accumulate"),
                 "a step of this run takes " + std::to_string(run.manifest().optimizer.accumulate) +
                     " batches, and --batch is of steps that take one",
                 "leave --batch out");
  check_data(run, problems);
  if (!problems.empty()) return kExitDone;
  try {
    run.take_directory();
    return kExitDone;
  } catch (const RunInUse& e) {
    log_.error("", e.what());
    return kExitInUse;
  } catch (const Error& e) {
    log_error(log_, std::string("the directory of the replay cannot be used: ") + e.what());
    return kExitUsage;
  }
}

void ReplayCommand::check_data(const ManifestRun& run, Diagnostics& problems) const {
  const auto train = run.plugins().found().inputs.find("train");
  if (train == run.plugins().found().inputs.end()) return;
  const std::vector<DataFile> now = data_files(files_, "input.train", train->second, false);
  for (const DataFile& before : parse_data_files(plan_.manifest))
    for (const DataFile& file : now) {
      bool other_content = false;
      if (file.option != before.option) continue;
      const std::string difference = difference_of(before, file, other_content);
      if (difference.empty() || !other_content) continue;
      const std::string text = before.option + ": " + escaped(file.path) + " " + difference + ", since the run read it";
      if (request_.what_if)
        log_.warning("", text);
      else
        problems.add(run.manifest().at(before.option), text, "put it back, or see by --what-if what comes out");
    }
}

std::shared_ptr<const ReplayOptions> ReplayCommand::options(const ReplayManifest& manifest) {
  auto options = std::make_shared<ReplayOptions>();
  options->steps.checkpoint = plan_.checkpoint->path();
  options->steps.left_out = manifest.left_out;
  options->steps.first = plan_.first;
  options->steps.last = plan_.last;
  options->steps.until = plan_.until();
  options->steps.at_last = [this](DirectSession& session) { prove(session); };
  options->kept_hooks = kept_hooks_ = manifest.kept_hooks;
  options->what_if = request_.what_if;
  options->fetches = request_.fetches;
  options->batch = request_.batch;
  options->plugins = plan_.checkpoint->state().fingerprint.plugins;
  if (request_.first_non_finite)
    options->watch = [this](const WatchedStep& step, const ArrayPlace& place) { return search_.look(step, place); };
  else if (request_.all_tensors)
    options->watch = [](const WatchedStep& step, const ArrayPlace& place) {
      write_step(step, place);
      return std::string();
    };
  return options;
}

void ReplayCommand::prove(DirectSession& session) {
  proved_ = true;
  if (plan_.proof != nullptr) difference_ = compare_state(session, *plan_.proof, run_->host().codec());
  if (plan_.digest) digest_ = digest_of_state(session);
}

std::string ReplayCommand::differing_text() const {
  if (plan_.digest) return "the digest is " + digest_ + ", the run's is " + plan_.digest->digest;
  return std::to_string(difference_.differing) + " of " + std::to_string(difference_.bits) + " bits differ, in " +
         std::to_string(difference_.differing_variables) + " of " + std::to_string(difference_.variables) +
         " variables, first in " + escaped(difference_.first);
}

int ReplayCommand::say_end(const TrainingResult& result) const {
  if (request_.first_non_finite) {
    std::cout << search_.text(result, plan_, request_.run) << std::flush;
    return search_.found() ? kExitDone : kExitTrainingFailed;
  }
  const std::string until = std::to_string(plan_.until());
  if (!proved_) {
    std::cout << "ended at step " << result.global_step << ", before step " << until << " (" << result.reason.text
              << "): nothing is proved" << std::endl;
    return kExitTrainingFailed;
  }
  const bool same = plan_.digest ? digest_ == plan_.digest->digest : difference_.differing == 0;
  const std::string source = plan_.proof != nullptr ? plan_.proof->name() : "the digest in metrics.jsonl";
  if (request_.what_if)
    std::cout << "--what-if: from step " << request_.first << " on this is another run than " << escaped(request_.run)
              << std::endl;
  if (plan_.proof == nullptr && !plan_.digest) {
    std::cout << "no checkpoint and no digest lies at step " << request_.last
              << " or behind it: nothing proves that these steps are the run's" << std::endl;
    return kExitDone;
  }
  if (same)
    std::cout << "0 differing bits at step " << until << ": " << source << " is what this came to" << std::endl;
  else
    std::cout << "at step " << until << " " << differing_text() << ": this is not what " << source << " is of"
              << std::endl;
  return same || request_.what_if ? kExitDone : kExitTrainingFailed;
}

int ReplayCommand::train(ManifestRun& run, Watchdog& watchdog, const Signals& signals) {
  try {
    run.open_directory();
    training_ = true;
    const std::string steps = plan_.first == plan_.last
                                  ? "step " + std::to_string(plan_.first)
                                  : "steps " + std::to_string(plan_.first) + " to " + std::to_string(plan_.last);
    const std::string attempt = plan_.attempt == 0 ? "" : ", made by attempt " + std::to_string(plan_.attempt);
    const TrainingResult result = run.train(
        [&] { watchdog.progress(); },
        [&] {
          log_.info("", (request_.first_non_finite ? "searches " : "replays ") + steps + " of " +
                            escaped(request_.run) + attempt + ", and goes on to step " + std::to_string(plan_.until()) +
                            "; all that is written goes into " + escaped(run.manifest().run.dir));
        });
    log_.flush();
    if (signals.stop_signal() != 0) Signals::die_of(signals.stop_signal());
    return say_end(result);
  } catch (const Error& e) {
    if (request_.first_non_finite && e.code() == Code::kDiverged) {
      log_.flush();
      std::cout << search_.refused_text(plan_, e) << std::flush;
      return kExitDone;
    }
    log_error(log_, std::string("the replay ended with an error: ") + e.what());
    log_.flush();
    if (signals.stop_signal() != 0 && e.code() == Code::kCancelled) Signals::die_of(signals.stop_signal());
    return status_of(e);
  }
}

// A divergence may be one step behind the last one that is known: the step that failed.
void ReplayCommand::plan() {
  const std::unique_ptr<OpenDirectory> directory = files_.open_directory(request_.run);
  if (!request_.first_non_finite) {
    plan_ = plan_replay(*directory, request_.first, request_.last, log_);
    return;
  }
  plan_ = plan_search(*directory, request_.first == 0 ? INT64_MAX : request_.first, log_);
  plan_.last = std::max(plan_.last, last_step_of_events(files_, request_.run)) + 1;
}

std::optional<ReplayManifest> ReplayCommand::manifest_of(const std::string& out, Diagnostics& problems) const {
  try {
    return replay_manifest(request_, plan_, out, process_environment(), problems);
  } catch (const Error& e) {
    if (e.code() != Code::kInvalidArgument) throw;
    throw UsageError(std::string("belay replay: ") + e.what());
  }
}

int ReplayCommand::run() {
  if (!files_.exists(request_.run) || files_.status(request_.run).kind != FileKind::kDirectory)
    throw UsageError("belay replay: " + (files_.exists(request_.run) ? "" : std::string("there is no ")) +
                     single_quoted(request_.run) + (files_.exists(request_.run) ? " is a file" : "") +
                     "; name a run's directory, which is `run.dir` of its manifest");
  try {
    plan();
  } catch (const RestoreError& e) {
    log_error(log_, e.what());
    return kExitNoRestore;
  } catch (const Error& e) {
    log_error(log_, e.what());
    return e.code() == Code::kNotFound || e.code() == Code::kOutOfRange ? kExitUsage : status_of(e);
  }
  const std::string out = directory();
  check_directory(out);
  Diagnostics problems;
  std::optional<ReplayManifest> manifest = manifest_of(out, problems);
  if (!manifest) {
    log_.flush();
    print(problems, ManifestArguments());
    return kExitUsage;
  }
  ManifestRunOptions run_options;
  run_options.replay = options(*manifest);
  PreparedRun prepared;
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
  Signals signals(requests);
  const int status = prepare_run(prepared, std::move(manifest->manifest), problems, ManifestArguments(), run_options,
                                 make_platform(log_), control_, [this](ManifestRun& run, Diagnostics& found) {
                                   run_ = &run;
                                   return check(run, found);
                                 });
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
