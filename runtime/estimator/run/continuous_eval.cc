// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/continuous_eval.h"

#include <fmt/core.h>

#include <exception>
#include <string>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/checkpoint/directory/new_checkpoints.h"
#include "runtime/estimator/evaluation/evaluate_repeatedly.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

class ContinuousEval {
 public:
  ContinuousEval(PreparedRun& run, const std::function<void()>& on_look,
                 const std::function<void(const CheckpointResult&)>& on_result)
      : run_(run), host_(run.host), place_(run.checkpoint_place()), on_look_(on_look), on_result_(on_result) {}

  CheckpointResult run();

 private:
  EvaluateRepeatedlyOptions waiting();
  void take_schema_of(const std::string& checkpoint);
  void prepare_again(Diagnostics& problems);
  bool evaluate(const std::string& path);
  bool goes_through(const std::function<void()>& call);
  void write_events(Evaluation& evaluation, std::int64_t step);
  bool reached() const {
    const std::optional<std::int64_t>& last_step = run_.manifest.run.max_steps;
    return last_step && last_ && last_->checkpoint.global_step >= *last_step;
  }
  std::string why_it_ended() const;

  PreparedRun& run_;
  RunHost& host_;
  const CheckpointPlace place_;
  const std::function<void()>& on_look_;
  const std::function<void(const CheckpointResult&)>& on_result_;
  std::optional<CheckpointResult> last_;
  std::exception_ptr failed_;  // of preparing again, or of an export
};

EvaluateRepeatedlyOptions ContinuousEval::waiting() {
  EvaluateRepeatedlyOptions o;
  const EvalSettings& settings = run_.manifest.eval;
  o.start_delay_secs = settings.start_delay_secs;
  o.eval_interval_secs = settings.throttle_secs;
  o.timeout_secs = settings.timeout_secs;
  o.finished = [this] { return run_finished(place_.files, place_.run_directory); };
  o.keep_going = [this] {
    if (on_look_) on_look_();
    return run_.keep_going();
  };
  return o;
}

CheckpointResult ContinuousEval::run() {
  host_.log().info("", "waiting for the checkpoints of " + escaped(place_.run_directory));
  evaluate_repeatedly({host_.clock(), host_.log(), host_.files()}, place_.run_directory, waiting(),
                      [this](const std::string& path) { return evaluate(path); });
  if (failed_) std::rethrow_exception(failed_);
  if (!run_.keep_going()) fail(Code::kCancelled, "the evaluation of checkpoints was interrupted");
  if (!last_) fail(Code::kNotFound, "[B5042] no checkpoint was evaluated: " + why_it_ended());
  host_.log().info("", "the evaluation of checkpoints ends: " + why_it_ended());
  return std::move(*last_);
}

// Evaluations and exports are built at the first checkpoint. They are built again if a checkpoint's training learned
// something else.
void ContinuousEval::take_schema_of(const std::string& checkpoint) {
  if (!host_.files().exists(checkpoint)) return;  // it is skipped
  const bool is_first = !run_.schema.was_read();
  if (is_first)
    run_.schema.read(place_, {.kind = CheckpointChoice::Kind::kPath, .path = checkpoint});
  else if (!run_.schema.read_other(place_, checkpoint))
    return;
  else
    host_.log().info("",
                     escaped(checkpoint) + " is of a training that learned something else: the inputs are opened anew");
  Diagnostics problems;
  prepare_again(problems);
  std::string text;
  for (const Diagnostic& problem : problems.sorted())
    text += "; " + problem.message + (problem.help.empty() ? "" : "; " + problem.help);
  if (!text.empty())
    fail(Code::kInvalidArgument, "[B5026] the inputs do not fit the training of " + escaped(checkpoint) + text);
}

void ContinuousEval::prepare_again(Diagnostics& problems) {
  run_.evaluations.built.clear();
  run_.exports.exporters.reset();
  run_.exports.graph.reset();
  run_.evaluations.metrics.clear();
  run_.evaluations.matrices.clear();
  if (const std::optional<TrainedOptions> trained = run_.schema.trained_options())
    run_.plugins.find_inputs(run_.uses(), problems, *trained);
  for (const auto& [name, found] : run_.plugins.found().inputs) {
    RunInput& input = run_.inputs.at(name);
    input.feed.reset();
    input.instance = &run_.plugins.create(run_.plugins.loaded(found), input.monitor);
  }
  make_exporters(run_);
  if (problems.empty()) build_scaffold(run_, problems);
}

bool ContinuousEval::evaluate(const std::string& path) {
  const CheckpointChoice choice{.kind = CheckpointChoice::Kind::kPath, .path = path};
  if (!goes_through([&] { take_schema_of(path); })) return false;
  VariableStore store;
  try {
    CheckpointResult result = evaluate_checkpoint(run_, choice, store);
    for (const std::unique_ptr<Evaluation>& e : run_.evaluations.built) write_events(*e, result.checkpoint.global_step);
    if (on_result_) on_result_(result);
    last_ = std::move(result);
  } catch (const Error& e) {
    const bool goes_on = run_.manifest.eval.on_error == OnEvalError::kContinue && run_.keep_going();
    if (!goes_on || e.code() == Code::kCancelled || !place_.files.exists(path)) throw;
    host_.log().warning("",
                        "the evaluation of " + escaped(path) + " failed (eval.on_error = \"continue\"): " + e.what());
    return !reached();
  }
  const bool exports = run_.exports.exporters != nullptr;
  return (!exports || goes_through([&] { export_evaluated(run_, store, *last_); })) && !reached();
}

// Keeps a failure. If a checkpoint was removed meanwhile, the failure would otherwise pass for a failed read.
bool ContinuousEval::goes_through(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    failed_ = std::current_exception();
    return false;
  }
}

// The evaluation is a separate run in TensorBoard. It writes the step again, even if a previous evaluator wrote it.
void ContinuousEval::write_events(Evaluation& evaluation, std::int64_t step) {
  SessionHost& session = evaluation.host();
  try {
    if (session.events() == nullptr) {
      session.open_events();
      if (session.events() != nullptr) session.events()->add_session_log(EventWriter::kStart, step);
    }
  } catch (const Error& e) {
    host_.log().warning("", std::string("the evaluation writes no events: ") + e.what());
  }
  if (session.events() == nullptr) return;
  evaluation.add_events(*session.events());
  session.events()->flush();
}

std::string ContinuousEval::why_it_ended() const {
  if (reached()) return fmt::format("step {} has come to run.max_steps", last_->checkpoint.global_step);
  if (run_finished(place_.files, place_.run_directory)) return "the training there has come to its end";
  return "there was no new one in " + escaped(place_.run_directory) +
         " within eval.timeout_secs = " + rounded_text(run_.manifest.eval.timeout_secs.value_or(0));
}

}  // namespace

CheckpointResult continuous_eval(PreparedRun& run, const std::function<void()>& progress,
                                 const std::function<void(const CheckpointResult&)>& on_result) {
  run.evaluations.progress = progress;
  return ContinuousEval(run, progress, on_result).run();
}

}  // namespace belay::runtime
