// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/estimator/replay/replay_manifest.h"
#include "runtime/estimator/resume/data_files.h"
#include "runtime/estimator/resume/manifest_changes.h"
#include "runtime/estimator/steps/step_file.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string directory_of(const ReplayRequest& request) {
  if (!request.out.empty()) return std::filesystem::absolute(request.out).lexically_normal().string();
  const std::string name = path_parts(std::filesystem::absolute(request.run).lexically_normal().string()).name;
  const std::string what = request.first_non_finite ? "first-non-finite" : std::to_string(request.step);
  return std::filesystem::absolute("replay-of-" + name + "-" + what).string();
}

}  // namespace

Replay::Replay(ReplayRequest request, Logger& log, FileSystem& files)
    : request_(std::move(request)), log_(log), files_(files), directory_(directory_of(request_)) {}

// Refuses to write over existing files, above all those of the run's directory.
void Replay::check_directories() const {
  const bool there = files_.exists(request_.run);
  if (!there || files_.status(request_.run).kind != FileKind::kDirectory)
    fail(Code::kInvalidArgument,
         fmt::format("[B5010] {}{}{}; name a run's directory, which is `run.dir` of its manifest",
                     there ? "" : std::string("there is no "), single_quoted(request_.run), there ? " is a file" : ""));
  std::error_code error;
  if (!std::filesystem::exists(directory_, error)) return;
  if (!std::filesystem::is_directory(directory_, error) || !std::filesystem::is_empty(directory_, error))
    fail(Code::kInvalidArgument,
         fmt::format("[B5007] {} is there and holds something; name another directory by --out DIR2, or remove it",
                     single_quoted(directory_)));
}

// A divergence may be one step after the last known one: in the step that failed.
void Replay::plan() {
  check_directories();
  const std::unique_ptr<OpenDirectory> directory = files_.open_directory(request_.run);
  if (!request_.first_non_finite) {
    plan_ = plan_replay(*directory, request_.step, request_.last(), log_);
    return;
  }
  plan_ = plan_search(*directory, request_.step == 0 ? INT64_MAX : request_.step, log_);
  plan_.last = std::max(plan_.last, last_step_of_events(files_, request_.run)) + 1;
}

std::optional<Manifest> Replay::manifest(const Environment& environment, Diagnostics& problems) {
  std::optional<ReplayManifest> made = replay_manifest(request_, plan_, directory_, environment, problems);
  if (!made) return std::nullopt;
  kept_hooks_ = made->kept_hooks;
  left_out_ = std::move(made->left_out);
  return std::move(made->manifest);
}

std::shared_ptr<const ReplayTask> Replay::options() {
  auto options = std::make_shared<ReplayTask>();
  options->steps.checkpoint = plan_.checkpoint->path();
  options->steps.left_out = left_out_;
  options->steps.first = plan_.first;
  options->steps.last = plan_.last;
  options->steps.until = plan_.until();
  options->steps.at_last = [this](DirectSession& session) { prove(session); };
  options->check = [this](const Manifest& manifest, const ResolvedPlugins& found, Diagnostics& problems) {
    check(manifest, found, problems);
  };
  options->kept_hooks = kept_hooks_;
  for (const OwnHook& own : request_.hooks)
    if (!own.plugin) options->own_hooks.push_back(own);
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

void Replay::check(const Manifest& manifest, const ResolvedPlugins& found, Diagnostics& problems) const {
  const std::vector<ResolvedPlugin>& hooks = found.hooks;
  for (std::size_t i = kept_hooks_; i < hooks.size() && !request_.what_if; ++i)
    if (!only_watches(hooks[i].info))
      problems.add(hooks[i].at,
                   "[B5046] the hook " + double_quoted(hooks[i].instance_name) +
                       " has options that can change a number (belay describe " + hooks[i].info.name +
                       " shows those that only watch), so this would be another run",
                   "leave it out, or see by --what-if what it does");
  if (request_.batch && manifest.optimizer.accumulate > 1)
    problems.add(manifest.at("optimizer.accumulate"),
                 fmt::format("[B5046] a step of this run takes {} batches, and --batch is of steps that take one",
                             manifest.optimizer.accumulate),
                 "leave --batch out");
  check_data(manifest, found, problems);
}

void Replay::check_data(const Manifest& manifest, const ResolvedPlugins& found, Diagnostics& problems) const {
  const std::vector<TrainingFile> now = training_files(files_, manifest, found, false);
  for (const DataFile& before : parse_data_files(plan_.manifest))
    for (const auto& [file, at, by_variable] : now) {
      bool other_content = false;
      if (file.option != before.option) continue;
      const std::string difference = difference_of(before, file, other_content);
      if (difference.empty() || !other_content) continue;
      const std::string text = before.option + ": " + escaped(file.path) + " " + difference + ", since the run read it";
      if (request_.what_if)
        log_.warning("", text);
      else
        problems.add(at, fmt::format("[B5046] {}", text), "put it back, or see by --what-if what comes out");
    }
}

void Replay::prove(DirectSession& session) {
  proved_ = true;
  if (plan_.proof != nullptr) difference_ = compare_state(session, *plan_.proof, run_->host.codec());
  if (plan_.digest) digest_ = digest_of_state(session);
}

void Replay::say_begin(const PreparedRun& run) const {
  const std::string steps = plan_.first == plan_.last ? fmt::format("step {}", plan_.first)
                                                      : fmt::format("steps {} to {}", plan_.first, plan_.last);
  const std::string attempt = plan_.attempt == 0 ? "" : fmt::format(", made by attempt {}", plan_.attempt);
  log_.info("", fmt::format("{}{} of {}{}, and continues to step {}; all that is written goes into {}",
                            request_.first_non_finite ? "searches " : "replays ", steps, escaped(request_.run), attempt,
                            plan_.until(), escaped(run.manifest.run.dir)));
}

ReplayResult Replay::train(PreparedRun& run, const std::function<void()>& progress) {
  run_ = &run;
  ReplayResult result;
  try {
    result.training = runtime::train(run, progress, [&](const std::string&) { say_begin(run); });
  } catch (const Error& e) {
    if (!request_.first_non_finite || e.code() != Code::kDiverged) throw;
    result.text = search_.refused_text(plan_, e);
    return result;
  }
  if (!request_.first_non_finite) {
    judge(result);
    return result;
  }
  result.text = search_.text(result.training, plan_, request_.run);
  result.status = search_.found() ? RunStatus::kDone : RunStatus::kTrainingFailed;
  return result;
}

void Replay::judge(ReplayResult& result) const {
  const std::string until = std::to_string(plan_.until());
  if (!proved_) {
    result.proof = ReplayProof::kNotReached;
    result.status = RunStatus::kTrainingFailed;
    result.text = fmt::format("ended at step {}, before step {} ({}): nothing is proved\n", result.training.global_step,
                              until, result.training.reason.text);
    return;
  }
  if (request_.what_if)
    result.text =
        fmt::format("--what-if: from step {} on this is another run than {}\n", request_.step, escaped(request_.run));
  if (plan_.proof == nullptr && !plan_.digest) {
    result.text += fmt::format(
        "no checkpoint and no digest lies at step {} or after it: nothing proves that these steps are the run's\n",
        plan_.last);
    return;
  }
  const bool same = plan_.digest ? digest_ == plan_.digest->digest : difference_.differing == 0;
  result.proof = same ? ReplayProof::kSame : ReplayProof::kOther;
  result.source = plan_.proof != nullptr ? plan_.proof->name() : "the digest in metrics.jsonl";
  result.difference = difference_;
  result.text += same
                     ? "0 differing bits at step " + until + ": " + result.source + " is what this came to\n"
                     : "at step " + until + " " + differing_text() + ": this is not what " + result.source + " is of\n";
  if (!same && !request_.what_if) result.status = RunStatus::kTrainingFailed;
}

std::string Replay::differing_text() const {
  if (plan_.digest) return "the digest is " + digest_ + ", the run's is " + plan_.digest->digest;
  return fmt::format("{} of {} bits differ, in {} of {} variables, first in {}", difference_.differing,
                     difference_.bits, difference_.differing_variables, difference_.variables,
                     escaped(difference_.first));
}

}  // namespace belay::runtime
