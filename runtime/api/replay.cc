// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/api/run_driver.h"
#include "runtime/estimator/estimator/estimator_spec.h"

namespace belay {
namespace {

runtime::ReplayRequest request_of(const std::string& run, const ReplayOptions& options) {
  runtime::ReplayRequest request{options};
  request.run = run;
  return request;
}

void check(const ReplayOptions& o) {
  runtime::check_hooks("hooks", o.hooks);
  if (o.first_non_finite) {
    const bool alone = o.to == 0 && o.hooks.empty() && o.hook_files.empty() && o.fetches.empty() && !o.batch;
    if (!alone || o.what_if)
      fail(
          Code::kInvalidArgument,
          "[B5006] first_non_finite finds the step by itself and sees all tensors; leave hooks, fetches, batch, to and "
          "what_if out, and look at the step that it finds by `step`");
    if (o.step < 0)
      fail(Code::kInvalidArgument, fmt::format("[B5004] step is {}, must be 0 or a step's number", o.step));
    return;
  }
  if (o.step < 1)
    fail(Code::kInvalidArgument,
         fmt::format("[B5004] step is {}, must be at least 1, the first step of a run", o.step));
  if (o.to != 0 && o.to < o.step)
    fail(Code::kInvalidArgument, fmt::format("[B5004] to is {}, must not be smaller than step = {}", o.to, o.step));
}

NonFiniteFound found_of(const runtime::FirstNonFinite& search) {
  const runtime::NonFiniteTensor& first = search.first();
  NonFiniteFound found;
  found.step = first.step;
  found.tensor = first.form.name;
  found.ops = first.tensor.ops;
  found.position = first.position;
  found.value = first.value;
  found.count = first.count;
  for (const runtime::NodeInput& in : search.inputs()) found.inputs.push_back({in.form.name, in.finite});
  found.consequence = search.consequence();
  return found;
}

class ProgramReplay final : public runtime::RunObserver {
 public:
  ProgramReplay(const std::string& run, const ReplayOptions& options)
      : options_(options),
        log_(runtime::make_log(options.log)),
        replay_(request_of(run, options), *log_, runtime::posix_file_system()) {}

  ReplayReport run();

 private:
  void refused(const runtime::Diagnostics& problems) override { report_.error = problems.text(); }
  void failed(runtime::RunPart part, const Error& e, runtime::Diagnostics& problems) override;
  void progress() override;
  void replayed(const runtime::ReplayResult& result) override;

  RunStatus plan();
  RunStatus drive();
  void note_archives();

  const ReplayOptions& options_;
  const std::unique_ptr<runtime::Logger> log_;
  runtime::RunControl control_;
  runtime::Replay replay_;
  runtime::Diagnostics problems_;
  std::optional<runtime::Manifest> manifest_;
  std::unique_ptr<runtime::PreparedRun> run_;
  ReplayReport report_;
};

void ProgramReplay::failed(runtime::RunPart /*part*/, const Error& e, runtime::Diagnostics& problems) {
  report_.error = problems.text() + e.what();
  runtime::log_error(*log_, e.what());
}

void ProgramReplay::progress() {
  if (options_.on_step && !options_.on_step(run_->host.monitor().step)) control_.stop("the program ended it");
}

void ProgramReplay::replayed(const runtime::ReplayResult& result) {
  report_.text = result.text;
  report_.global_step = std::max(report_.global_step, result.training.global_step);
  report_.proof = result.proof;
  report_.compared_with = result.source;
  report_.bits = result.difference.bits;
  report_.differing_bits = result.difference.differing;
  if (!replay_.search().found()) return;
  report_.non_finite = found_of(replay_.search().first());
  report_.archives.push_back(replay_.search().file());
}

RunStatus ProgramReplay::plan() {
  const auto plan = [&] {
    check(options_);
    replay_.plan();
    manifest_ = replay_.manifest(runtime::process_environment(), problems_);
    report_.checkpoint = replay_.planned().checkpoint->path();
    report_.checkpoint_step = report_.global_step = replay_.planned().checkpoint->state().global_step;
    report_.attempt = replay_.planned().attempt;
  };
  return runtime::run_stage(runtime::RunPart::kPlan, problems_, *this, plan);
}

RunStatus ProgramReplay::drive() {
  runtime::PreparedRunOptions options;
  options.replay = replay_.options();
  run_ = std::make_unique<runtime::PreparedRun>(
      std::move(*manifest_), options, runtime::Platform{runtime::system_clock(), *log_, runtime::posix_file_system()},
      runtime::process_environment(), control_);
  return runtime::RunDriver(*run_, problems_, *this).replay(replay_);
}

// Notes the archives, also those of the steps before an error.
void ProgramReplay::note_archives() {
  const runtime::ReplayPlan& plan = replay_.planned();
  for (std::int64_t step = plan.first; step <= plan.last && (options_.batch || !options_.fetches.empty()); ++step) {
    const std::string archive = fmt::format("{}/step-{}.npz", replay_.directory(), step);
    if (runtime::posix_file_system().exists(archive)) report_.archives.push_back(archive);
  }
}

ReplayReport ProgramReplay::run() {
  report_.directory = replay_.directory();
  report_.status = plan();
  if (report_.status == RunStatus::kDone) report_.status = drive();
  if (run_ != nullptr) note_archives();
  run_.reset();  // hooks and inputs are gone, and the directory is free again
  log_->flush();
  return std::move(report_);
}

}  // namespace

ReplayReport replay(const std::string& run, const ReplayOptions& options) { return ProgramReplay(run, options).run(); }

}  // namespace belay
