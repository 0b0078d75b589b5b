// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/run_driver.h"

#include <memory>
#include <string>

#include "runtime/estimator/prediction_writer.h"
#include "runtime/estimator/training_end.h"
#include "runtime/platform/resources.h"

namespace belay::runtime {
namespace {

RunStatus status_of(const TrainingResult& result, const std::string& untrained) {
  if (!result.save_error.empty() || !result.removed.empty()) return RunStatus::kSaveFailed;
  return !untrained.empty() && is_untrained(result) ? RunStatus::kUsage : RunStatus::kDone;
}

}  // namespace

RunStatus run_stage(RunPart part, Diagnostics& problems, RunObserver& observer, const std::function<void()>& stage) {
  try {
    stage();
  } catch (const Error& e) {
    const std::string shortage = resource_shortage(e);
    if (shortage.empty())
      observer.failed(part, e, problems);
    else
      observer.failed(part, Error(e.code(), shortage), problems);
    return status_of(part, e);
  }
  if (problems.empty()) return RunStatus::kDone;
  observer.refused(problems);
  return RunStatus::kUsage;
}

RunDriver::RunDriver(ManifestRun& run, Diagnostics& problems, RunObserver& observer)
    : run_(run), problems_(problems), observer_(observer), progress_([this] { observer_.progress(); }) {}

RunStatus RunDriver::stage(RunPart part, const std::function<void()>& f) {
  return run_stage(part, problems_, observer_, f);
}

bool RunDriver::trains() const { return runtime::trains(run_.manifest().run.mode); }

bool RunDriver::stopping() const { return run_.host().control().stopping(); }

// ---- the start

RunStatus RunDriver::refused() const {
  if (problems_.empty()) return RunStatus::kDone;
  observer_.refused(problems_);
  return RunStatus::kUsage;
}

RunStatus RunDriver::find_plugins() {
  const bool usable = run_.find_plugins(problems_);
  const RunStatus status = refused();
  return usable ? status : RunStatus::kPlugin;
}

// From before the first plugin is loaded on, the run directory is ours, and shows it.
RunStatus RunDriver::take_directory() {
  if (trains()) {
    run_.check_launch(problems_);
    if (const RunStatus status = refused(); status != RunStatus::kDone) return status;
    const RunStatus status = stage(RunPart::kDirectory, [this] { run_.take_directory(); });
    if (status != RunStatus::kDone) return status;
  }
  run_.compare_with_earlier(problems_);
  return RunStatus::kDone;  // prepare() refuses it
}

RunStatus RunDriver::prepare() {
  RunStatus status = refused();
  if (status == RunStatus::kDone) status = stage(RunPart::kPlugins, [this] { run_.load_plugins(problems_); });
  if (status != RunStatus::kDone) return status;
  observer_.phase_over();
  run_.compare_fingerprint(problems_);
  status = refused();
  if (status == RunStatus::kDone) status = stage(RunPart::kScaffold, [this] { run_.build_scaffold(problems_); });
  if (status != RunStatus::kDone) return status;
  observer_.phase_over();
  return stage(RunPart::kHooks, [this] { run_.begin_hooks(problems_); });
}

RunStatus RunDriver::begin() {
  RunStatus status = RunStatus::kDone;
  const auto open = [&] {
    status = observer_.opens_directory();
    if (status == RunStatus::kDone) run_.open_directory();
  };
  if (trains())
    if (const RunStatus opened = stage(RunPart::kDirectory, open); opened != RunStatus::kDone) return opened;
  return status == RunStatus::kDone ? observer_.begins() : status;
}

RunStatus RunDriver::run() {
  RunStatus status = take_directory();
  if (status == RunStatus::kDone) status = prepare();
  if (status == RunStatus::kDone) status = begin();
  if (status == RunStatus::kDone) return trains() ? train() : use();
  if (status != RunStatus::kInUse) run_.refuse_ranks(observer_.refusal());
  return status;
}

RunStatus RunDriver::replay(Replay& replay) {
  replay.check(run_, problems_);
  RunStatus status = refused();
  if (status == RunStatus::kDone) status = stage(RunPart::kDirectory, [this] { run_.take_directory(); });
  if (status == RunStatus::kDone) status = prepare();
  if (status == RunStatus::kDone) status = begin();
  if (status != RunStatus::kDone) return status;
  ReplayResult result;
  status = stage(RunPart::kTraining, [&] { result = replay.train(run_, progress_); });
  if (status != RunStatus::kDone) return status;
  observer_.replayed(result);
  return result.status;
}

// ---- a training

RunStatus RunDriver::train() {
  TrainingResult result;
  const RunStatus ended = stage(RunPart::kTraining, [&] {
    result = run_.train(progress_, [this](const std::string& ends) { observer_.session(ends); });
  });
  if (ended != RunStatus::kDone) return run_.host().lock_lost() ? RunStatus::kInUse : ended;
  const std::string untrained = untrained_text(run_, result);
  observer_.trained(result, untrained);
  if (!untrained.empty()) run_.host().log().warning("", untrained);
  const RunStatus status = status_of(result, untrained);
  return status == RunStatus::kDone && !stopping() ? finish_training() : status;
}

// An evaluation that somebody stopped has not failed.
RunStatus RunDriver::finish_training() {
  const RunStatus status = stage(RunPart::kEvaluation, [this] {
    try {
      for (const EvaluatedInput& result : run_.evaluate_at_end()) observer_.evaluated_at_end(result);
    } catch (const Error&) {
      if (!stopping()) throw;
    }
  });
  if (status != RunStatus::kDone || stopping()) return status;
  return stage(RunPart::kExport, [this] { observer_.exported_at_end(run_.export_at_end()); });
}

// ---- the other modes

RunStatus RunDriver::use() {
  const auto evaluated = [this](const CheckpointResult& result) {
    observer_.used(result.checkpoint);
    observer_.evaluated(result);
  };
  return stage(RunPart::kMode, [&] {
    switch (run_.manifest().run.mode) {
      case RunMode::kEvaluate: return evaluated(run_.evaluate_checkpoint(progress_));
      case RunMode::kContinuousEval: run_.evaluate_repeatedly(progress_, evaluated); return;
      case RunMode::kExport: {
        const ManifestRun::ExportedCheckpoint result = run_.export_checkpoint();
        observer_.used(result.checkpoint);
        return observer_.exported(result);
      }
      default: return run_.manifest().predict.prompt.empty() ? predict() : sample();
    }
  });
}

void RunDriver::predict() {
  const std::unique_ptr<PredictionWriter> writer = prediction_writer_of(run_.manifest().predict, run_.host().files());
  const Clock& clock = run_.host().clock();
  const std::int64_t begin = clock.monotonic_ns();
  const Predicted result = run_.predict(*writer, progress_);
  observer_.used(result.checkpoint);
  observer_.predicted(result, static_cast<double>(clock.monotonic_ns() - begin) * 1e-9);
}

void RunDriver::sample() {
  const PredictSettings& settings = run_.manifest().predict;
  std::unique_ptr<SampledTextWriter> writer;
  if (!settings.output.empty() || observer_.prints_sampled())
    writer = sampled_text_writer_of(settings, run_.host().files());
  observer_.sampled(settings.prompt);
  observer_.used(run_.sample([&](std::string_view character) {
    observer_.progress();
    if (stopping()) fail(Code::kCancelled, "the sampling was interrupted");
    observer_.sampled(character);
    return writer == nullptr || writer->write(character);
  }));
  if (writer != nullptr) writer->finish();
}

}  // namespace belay::runtime
