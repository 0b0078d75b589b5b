// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/continuous_eval.h"

#include <exception>
#include <string>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/checkpoint/new_checkpoints.h"
#include "runtime/estimator/evaluate_repeatedly.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

class ContinuousEval {
 public:
  ContinuousEval(RunHost& host, const CheckpointPlace& place,
                 const std::vector<std::unique_ptr<Evaluation>>& evaluations, const ContinuousEvalOptions& options)
      : host_(host), place_(place), evaluations_(evaluations), options_(options) {}

  CheckpointResult run();

 private:
  EvaluateRepeatedlyOptions waiting();
  bool evaluate(const std::string& path);
  bool goes_through(const std::function<void()>& call);
  void write_events(Evaluation& evaluation, std::int64_t step);
  bool reached() const { return options_.max_steps && last_ && last_->checkpoint.global_step >= *options_.max_steps; }
  std::string why_it_ended() const;

  RunHost& host_;
  const CheckpointPlace& place_;
  const std::vector<std::unique_ptr<Evaluation>>& evaluations_;
  const ContinuousEvalOptions& options_;
  std::optional<CheckpointResult> last_;
  std::exception_ptr failed_;  // what the caller does behind and before evaluations
};

EvaluateRepeatedlyOptions ContinuousEval::waiting() {
  EvaluateRepeatedlyOptions o;
  o.start_delay_secs = options_.settings.start_delay_secs;
  o.eval_interval_secs = options_.settings.throttle_secs;
  o.timeout_secs = options_.settings.timeout_secs;
  o.finished = [this] { return run_finished(place_.files, place_.run_directory); };
  o.keep_going = [this] {
    if (options_.on_look) options_.on_look();
    return options_.keep_going();
  };
  return o;
}

CheckpointResult ContinuousEval::run() {
  host_.log().info("", "waiting for the checkpoints of " + escaped(place_.run_directory));
  evaluate_repeatedly({host_.clock(), host_.log(), host_.files()}, place_.run_directory, waiting(),
                      [this](const std::string& path) { return evaluate(path); });
  if (failed_) std::rethrow_exception(failed_);
  if (!options_.keep_going()) fail(Code::kCancelled, "the evaluation of checkpoints was interrupted");
  if (!last_) fail(Code::kNotFound, "no checkpoint was evaluated: " + why_it_ended());
  host_.log().info("", "the evaluation of checkpoints ends: " + why_it_ended());
  return std::move(*last_);
}

bool ContinuousEval::evaluate(const std::string& path) {
  const CheckpointChoice choice{.kind = CheckpointChoice::Kind::kPath, .path = path};
  if (options_.on_checkpoint && !goes_through([&] { options_.on_checkpoint(path); })) return false;
  VariableStore store;
  try {
    CheckpointResult result =
        evaluate_checkpoint(place_, choice, host_.codec(), evaluations_, options_.keep_going, store);
    for (const std::unique_ptr<Evaluation>& e : evaluations_) write_events(*e, result.checkpoint.global_step);
    if (options_.on_result) options_.on_result(result);
    last_ = std::move(result);
  } catch (const Error& e) {
    const bool goes_on = options_.settings.on_error == OnEvalError::kContinue && options_.keep_going();
    if (!goes_on || e.code() == Code::kCancelled || !place_.files.exists(path)) throw;
    host_.log().warning("",
                        "the evaluation of " + escaped(path) + " failed (eval.on_error = \"continue\"): " + e.what());
    return !reached();
  }
  return (!options_.exports || goes_through([&] { options_.exports(store, *last_); })) && !reached();
}

// A failure is kept, since one behind a checkpoint that is gone meanwhile would pass for a failed reading of it.
bool ContinuousEval::goes_through(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    failed_ = std::current_exception();
    return false;
  }
}

// A run for itself in TensorBoard. What an evaluator before this one wrote of the step is made anew.
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
  if (reached()) return "step " + std::to_string(last_->checkpoint.global_step) + " has come to run.max_steps";
  if (run_finished(place_.files, place_.run_directory)) return "the training there has come to its end";
  return "there was no new one in " + escaped(place_.run_directory) +
         " within eval.timeout_secs = " + rounded_text(options_.settings.timeout_secs.value_or(0));
}

}  // namespace

CheckpointResult continuous_eval(RunHost& host, const CheckpointPlace& place,
                                 const std::vector<std::unique_ptr<Evaluation>>& evaluations,
                                 const ContinuousEvalOptions& options) {
  return ContinuousEval(host, place, evaluations, options).run();
}

}  // namespace belay::runtime
