// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/run_driver.h"

#include <memory>
#include <string>

#include "runtime/estimator/prediction/prediction_writer.h"
#include "runtime/estimator/run/continuous_eval.h"
#include "runtime/estimator/run/training_end.h"
#include "runtime/platform/process/resources.h"

namespace belay::runtime {
namespace {

RunStatus status_of(const TrainingResult& result, const std::string& untrained) {
  if (!result.save_error.empty() || !result.removed.empty()) return RunStatus::kSaveFailed;
  return !untrained.empty() && is_untrained(result) ? RunStatus::kUsage : RunStatus::kDone;
}

}  // namespace

RunStatus run_stage(RunPart part, Diagnostics& problems, RunObserver& observer, const std::function<void()>& stage) {
  try {
    if (problems.empty()) stage();
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

RunDriver::RunDriver(PreparedRun& run, Diagnostics& problems, RunObserver& observer)
    : run_(run), problems_(problems), observer_(observer), progress_([this] { observer_.progress(); }) {}

RunStatus RunDriver::stage(RunPart part, const std::function<void()>& f) {
  return run_stage(part, problems_, observer_, f);
}

// ---- the start

RunStatus RunDriver::prepare(Preparation until) {
  const RunStatus status = runtime::prepare(run_, problems_, until,
                                            {.stage = [this](RunPart part, const auto& f) { return stage(part, f); },
                                             .phase_over = [this] { observer_.phase_over(); },
                                             .opens_directory = [this] { return observer_.opens_directory(); }});
  if (!run_.names_found && !problems_.empty()) observer_.refused(problems_);
  return status;
}

RunStatus RunDriver::begin() {
  RunStatus status = prepare(Preparation::kRun);
  if (status == RunStatus::kDone) status = observer_.begins();
  if (status != RunStatus::kDone && status != RunStatus::kInUse) run_.strategy->refuse(observer_.refusal());
  return status;
}

RunStatus RunDriver::run() {
  const RunStatus status = begin();
  if (status != RunStatus::kDone) return status;
  return run_.is_training() ? train() : use();
}

RunStatus RunDriver::replay(Replay& replay) {
  RunStatus status = begin();
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
    result = runtime::train(run_, progress_, [this](const std::string& ends) { observer_.session(ends); });
  });
  if (ended != RunStatus::kDone) return run_.host.lock_lost() ? RunStatus::kInUse : ended;
  const std::string untrained = untrained_text(run_, result);
  observer_.trained(result, untrained);
  if (!untrained.empty()) run_.host.log().warning("", untrained);
  const RunStatus status = status_of(result, untrained);
  return status == RunStatus::kDone && run_.keep_going() ? finish_training(result) : status;
}

// An evaluation that was stopped has not failed.
RunStatus RunDriver::finish_training(const TrainingResult& result) {
  const RunStatus status = stage(RunPart::kEvaluation, [&] {
    try {
      for (const EvaluatedInput& evaluated : evaluate_at_end(run_, result)) observer_.evaluated_at_end(evaluated);
    } catch (const Error&) {
      if (run_.keep_going()) throw;
    }
  });
  if (status != RunStatus::kDone || !run_.keep_going()) return status;
  return stage(RunPart::kExport, [&] { observer_.exported_at_end(export_at_end(run_, result)); });
}

// ---- the other modes

RunStatus RunDriver::use() {
  const auto evaluated = [this](const CheckpointResult& result) {
    observer_.used(result.checkpoint);
    observer_.evaluated(result);
  };
  return stage(RunPart::kMode, [&] {
    switch (run_.manifest.run.mode) {
      case RunMode::kEvaluate: return evaluated(evaluate_checkpoint(run_, progress_));
      case RunMode::kContinuousEval: continuous_eval(run_, progress_, evaluated); return;
      case RunMode::kExport: {
        const ExportedCheckpoint result = export_checkpoint(run_);
        observer_.used(result.checkpoint);
        return observer_.exported(result);
      }
      default: return run_.manifest.predict.prompt.empty() ? predict() : sample();
    }
  });
}

void RunDriver::predict() {
  const std::unique_ptr<PredictionWriter> writer = prediction_writer_of(run_.manifest.predict, run_.host.files());
  const Clock& clock = run_.host.clock();
  const std::int64_t begin = clock.monotonic_ns();
  const Predicted result = runtime::predict(run_, *writer, progress_);
  observer_.used(result.checkpoint);
  observer_.predicted(result, static_cast<double>(clock.monotonic_ns() - begin) * 1e-9);
}

void RunDriver::sample() {
  const PredictSettings& settings = run_.manifest.predict;
  std::unique_ptr<SampledTextWriter> writer;
  if (!settings.output.empty() || observer_.prints_sampled())
    writer = sampled_text_writer_of(settings, run_.host.files());
  observer_.sampled(settings.prompt);
  observer_.used(runtime::sample(run_, [&](std::string_view character) {
    observer_.progress();
    if (!run_.keep_going()) fail(Code::kCancelled, "the sampling was interrupted");
    observer_.sampled(character);
    return writer == nullptr || writer->write(character);
  }));
  if (writer != nullptr) writer->finish();
}

}  // namespace belay::runtime
