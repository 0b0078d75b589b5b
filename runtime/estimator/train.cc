// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/train.h"

#include "runtime/estimator/run_strategy.h"
#include "runtime/estimator/trained_variables.h"
#include "runtime/events/graph_def.h"
#include "runtime/platform/spinning.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

class Training {
 public:
  Training(SessionHost& host, ModelGraph& model, const TrainingOptions& options, RunStrategy& strategy)
      : host_(host),
        run_(host.run()),
        model_(model),
        options_(options),
        strategy_(strategy),
        train_op_({FetchRef(model.outputs.train_op)}) {}

  TrainingResult run();

 private:
  std::shared_ptr<SessionCreator> creator();
  std::string why_no_step(MonitoredSession& session) const;
  void loop(MonitoredSession& session);
  void make_steps(MonitoredSession& session);
  bool step(MonitoredSession& session);
  void evaluate(MonitoredSession& session);
  void finish(MonitoredSession& session);
  void look_for_checkpoint();

  SessionHost& host_;
  RunHost& run_;
  ModelGraph& model_;
  const TrainingOptions& options_;
  RunStrategy& strategy_;
  FetchSet train_op_;
  RunCall call_;
  std::int64_t saved_ = -1;  // the step of the last checkpoint that was seen, written or under way
  TrainingResult result_;
};

std::shared_ptr<SessionCreator> Training::creator() {
  ScaffoldOptions pieces = options_.scaffold;
  // Where summary_saver looks for it.
  if (pieces.summary_op)
    model_.graph.replace_collection(collections::kSummaryOp, {model_.graph.resolve(pieces.summary_op.raw())});
  pieces.saver = run_.saver();
  pieces.initial_values = model_.outputs.initial_values;
  if (host_.has_init_fns())
    pieces.init_fn = [this](const Scaffold&, DirectSession& session) { host_.call_init_fns(model_.graph, session); };
  ChiefSessionCreator::Options options{.scaffold = std::make_shared<Scaffold>(std::move(pieces))};
  if (run_.has_directory()) options.checkpoint_dir = run_.directory().path();
  return strategy_.creator(std::move(options));
}

TrainingResult Training::run() {
  const std::string warning = spinning_warning(run_.environment().session.threads);
  if (!warning.empty()) run_.log().warning("", warning);
  const std::int64_t start = run_.clock().monotonic_ns();
  const std::unique_ptr<MonitoredSession> session = host_.open(creator());
  strategy_.note_states();
  if (options_.on_session) options_.on_session(why_no_step(*session));
  if (host_.events() != nullptr) host_.events()->add_graph(serialized_graph_def(model_.graph));
  try {
    session->scope([&] {
      const KeptStore kept(*session, result_.trained);
      loop(*session);
      strategy_.leave();
    });
  } catch (...) {
    finish(*session);
    throw;
  }
  result_.seconds = static_cast<double>(run_.clock().monotonic_ns() - start) * 1e-9;
  finish(*session);
  if (run_.has_directory()) run_.directory().check_lock();
  return std::move(result_);
}

std::string Training::why_no_step(MonitoredSession& session) const {
  const std::int64_t step = session.raw_session()->global_step();
  // A job that is at its last step already does not train one more (TensorFlow does; docs/design/differences.md).
  if (options_.max_steps && step >= *options_.max_steps)
    return "step " + std::to_string(step) + " is already at max_steps = " + std::to_string(*options_.max_steps);
  // Before the first run a hook has no other way.
  return from_handle(session.raw_session()->coordinator).stop_reason();
}

void Training::loop(MonitoredSession& session) {
  call_.fetches = &train_op_;
  RunControl& control = run_.control();
  const std::int64_t first = session.raw_session()->global_step();
  result_.global_step = first;
  control.note_step(first);
  if (options_.max_steps && first >= *options_.max_steps) {
    if (options_.evals != nullptr) {
      options_.evals->at_last_step(*session.raw_session());
      session.save_if_asked();
    }
    session.request_stop(why_no_step(session));
    return;
  }
  // Where several processes are in a step none leaves it alone: what one waits for its own input with is woken.
  std::optional<RunControl::Interruptible> interruptible;
  if (strategy_.wakes_steps()) interruptible.emplace(control, session);
  if (options_.evals != nullptr) {
    options_.evals->at_start(*session.raw_session());
    session.save_if_asked();
  }
  make_steps(session);
}

void Training::make_steps(MonitoredSession& session) {
  RunControl& control = run_.control();
  while (!session.should_stop()) {
    if (!strategy_.goes_on(session, result_.global_step, call_)) break;
    if (control.stopping()) {
      session.request_stop(control.stop_reason());
      break;
    }
    if (run_.saver() != nullptr && control.take_save_request()) run_.saver()->request();
    if (!step(session)) break;
  }
}

// False: interrupted.
bool Training::step(MonitoredSession& session) {
  RunControl& control = run_.control();
  try {
    session.run(call_);
  } catch (const Error& e) {
    // An interrupt ends a wait for input; nothing of that step has happened.
    if (e.code() != Code::kCancelled || !control.stopping()) throw;
    session.request_stop(control.stop_reason());
    return false;
  }
  strategy_.note_states();
  ++result_.steps;
  result_.global_step = session.raw_session()->global_step();
  run_.log().set_step(result_.global_step);
  control.note_step(result_.global_step);
  if (options_.on_step) options_.on_step();
  if (options_.evals != nullptr) evaluate(session);
  return true;
}

// At the step's boundary, behind its checkpoint if there was one.
void Training::evaluate(MonitoredSession& session) {
  const std::int64_t saved = run_.saver() == nullptr ? -1 : run_.saver()->taken_step();
  const bool now = saved == result_.global_step && saved != saved_;
  saved_ = saved;
  // The checkpoint of a new best is written now: it holds what was evaluated.
  if (options_.evals->at_boundary(*session.raw_session(), result_.global_step, now)) session.save_if_asked();
}

void Training::finish(MonitoredSession& session) {
  result_.reason = session.end_reason();
  result_.recoveries = session.recoveries();
  if (session.global_step() >= 0) result_.global_step = session.global_step();  // also after a recovery that went back
  run_.control().note_step(result_.global_step);  // behind an error the step that a hook failed in is done, too
  if (run_.saver() != nullptr) {
    result_.checkpoint = run_.saver()->saved_path();
    result_.save_error = run_.saver()->save_error();
    look_for_checkpoint();
  }
  host_.close_events(result_.global_step);
}

// Somebody may have moved or removed the run directory meanwhile; what was written goes where it is now.
void Training::look_for_checkpoint() {
  if (result_.checkpoint.empty()) return;
  try {
    const std::string name = result_.checkpoint.substr(result_.checkpoint.rfind('/') + 1);
    if (!run_.directory().exists(name)) {
      result_.removed = std::exchange(result_.checkpoint, "");
    } else {
      result_.moved = !run_.files().exists(result_.checkpoint) ||
                      run_.files().status(result_.checkpoint).inode != run_.directory().status(name).inode;
    }
  } catch (const Error& e) {
    result_.save_error = e.what();
  }
}

}  // namespace

bool is_untrained(const TrainingResult& result) {
  return result.steps == 0 && result.global_step == 0 && result.reason.kind == EndReason::Kind::kEndOfInput;
}

TrainingResult train(SessionHost& host, ModelGraph& model, const TrainingOptions& options, RunStrategy& strategy) {
  return Training(host, model, options, strategy).run();
}

}  // namespace belay::runtime
