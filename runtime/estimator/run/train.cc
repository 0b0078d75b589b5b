// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/train.h"

#include <fmt/core.h>

#include "runtime/estimator/host/run_hparams.h"
#include "runtime/estimator/host/trained_variables.h"
#include "runtime/estimator/run/prepared_run.h"
#include "runtime/events/graph_def.h"
#include "runtime/monitored/run/fingerprint.h"
#include "runtime/platform/threads/spinning.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

class Training {
 public:
  Training(PreparedRun& run, const std::function<void()>& on_step)
      : run_(run),
        host_(run.host),
        graph_(run.model.graph),
        strategy_(*run.strategy),
        evals_(run.evaluations.while_training),
        on_step_(on_step),
        train_op_({FetchRef(run.model.outputs.train_op)}) {}

  TrainingResult run(const std::function<void(const std::string& ends)>& on_session);

 private:
  std::shared_ptr<SessionCreator> creator();
  std::string why_no_step(MonitoredSession& session) const;
  void loop(MonitoredSession& session);
  void make_steps(MonitoredSession& session);
  bool step(MonitoredSession& session);
  void evaluate(MonitoredSession& session);
  void finish(MonitoredSession& session);
  void look_for_checkpoint();

  PreparedRun& run_;
  RunHost& host_;
  NodeGraph& graph_;
  RunStrategy& strategy_;
  std::optional<EvalWhileTraining>& evals_;
  const std::function<void()>& on_step_;
  FetchSet train_op_;
  RunCall call_;
  std::int64_t saved_ = -1;  // the step of the last checkpoint that was seen, complete or not
  TrainingResult result_;
};

std::shared_ptr<SessionCreator> Training::creator() {
  ScaffoldOptions pieces = run_.pieces;
  // summary_saver looks for the operation there.
  if (pieces.summary_op) graph_.replace_collection(collections::kSummaryOp, {graph_.resolve(pieces.summary_op.raw())});
  pieces.saver = host_.saver();
  pieces.initial_values = run_.model.outputs.initial_values;
  if (run_.training.has_init_fns())
    pieces.host_init = [this](const SessionScaffold&, DirectSession& session) {
      run_.training.call_init_fns(graph_, session);
    };
  ChiefSessionCreator::Options options{.scaffold = std::make_shared<SessionScaffold>(std::move(pieces))};
  if (host_.has_directory()) options.checkpoint_dir = host_.directory().path();
  return strategy_.creator(std::move(options));
}

TrainingResult Training::run(const std::function<void(const std::string& ends)>& on_session) {
  const std::string warning = spinning_warning(host_.environment().session.threads);
  if (!warning.empty()) host_.log().warning("", warning);
  const std::int64_t start = host_.clock().monotonic_ns();
  const std::unique_ptr<MonitoredSession> session = run_.training.open(creator());
  strategy_.note_states();
  on_session(why_no_step(*session));
  if (run_.training.events() != nullptr) run_.training.events()->add_graph(serialized_graph_def(graph_));
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
  result_.seconds = static_cast<double>(host_.clock().monotonic_ns() - start) * 1e-9;
  finish(*session);
  if (host_.has_directory()) host_.directory().check_lock();
  return std::move(result_);
}

std::string Training::why_no_step(MonitoredSession& session) const {
  const std::int64_t step = session.raw_session()->global_step();
  // A job that is already at its last step does not train one more (TensorFlow does; docs/design/differences.md).
  if (const auto& last = run_.manifest.run.max_steps; last && step >= *last)
    return fmt::format("step {} is already at max_steps = {}", step, *last);
  // Before the first run a hook has no other way to ask for a stop.
  return from_handle(session.raw_session()->coordinator).stop_reason();
}

void Training::loop(MonitoredSession& session) {
  call_.fetches = &train_op_;
  RunControl& control = host_.control();
  const std::int64_t first = session.raw_session()->global_step();
  result_.global_step = first;
  control.note_step(first);
  if (const auto& last = run_.manifest.run.max_steps; last && first >= *last) {
    if (evals_) {
      evals_->at_last_step(*session.raw_session());
      session.save_if_asked();
    }
    session.request_stop(why_no_step(session));
    return;
  }
  // If several processes are in a step, none leaves it alone: only the wait for this process's input is interrupted.
  std::optional<RunControl::Interruptible> interruptible;
  if (strategy_.wakes_steps()) interruptible.emplace(control, session);
  if (evals_) {
    evals_->at_start(*session.raw_session());
    session.save_if_asked();
  }
  make_steps(session);
}

void Training::make_steps(MonitoredSession& session) {
  RunControl& control = host_.control();
  while (!session.should_stop()) {
    if (!strategy_.goes_on(session, result_.global_step, call_)) break;
    if (control.stopping()) {
      session.request_stop(control.stop_reason());
      break;
    }
    if (host_.saver() != nullptr && control.take_save_request()) host_.saver()->request();
    if (!step(session)) break;
  }
}

// Returns false if it was interrupted.
bool Training::step(MonitoredSession& session) {
  RunControl& control = host_.control();
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
  host_.log().set_step(result_.global_step);
  control.note_step(result_.global_step);
  if (on_step_) on_step_();
  if (evals_) evaluate(session);
  return true;
}

// Evaluates at the step's boundary, after its checkpoint if there was one.
void Training::evaluate(MonitoredSession& session) {
  const std::int64_t saved = host_.saver() == nullptr ? -1 : host_.saver()->taken_step();
  const bool now = saved == result_.global_step && saved != saved_;
  saved_ = saved;
  // The checkpoint of a new best is written now, so it holds the evaluated variables.
  if (evals_->at_boundary(*session.raw_session(), result_.global_step, now)) session.save_if_asked();
}

void Training::finish(MonitoredSession& session) {
  result_.reason = session.end_reason();
  result_.recoveries = session.recoveries();
  if (session.global_step() >= 0) result_.global_step = session.global_step();  // also after a recovery that went back
  host_.control().note_step(result_.global_step);  // after an error, the step in which a hook failed is complete, too
  if (host_.saver() != nullptr) {
    result_.checkpoint = host_.saver()->saved_path();
    result_.save_error = host_.saver()->save_error();
    look_for_checkpoint();
  }
  run_.training.close_events(result_.global_step);
}

// A user may have moved or removed the run directory meanwhile. Written files are where it is now.
void Training::look_for_checkpoint() {
  if (result_.checkpoint.empty()) return;
  try {
    const std::string name = result_.checkpoint.substr(result_.checkpoint.rfind('/') + 1);
    if (!host_.directory().exists(name)) {
      result_.removed = std::exchange(result_.checkpoint, "");
    } else {
      result_.moved = !host_.files().exists(result_.checkpoint) ||
                      host_.files().status(result_.checkpoint).inode != host_.directory().status(name).inode;
    }
  } catch (const Error& e) {
    result_.save_error = e.what();
  }
}

// A stopped run has not ended: the next attempt continues it.
template <class F>
TrainingResult noting_the_end(PreparedRun& run, F&& train) {
  const auto note_end = [&](bool success) {
    if (run.training.events() != nullptr && run.keep_going())
      write_run_end(*run.training.events(), run.host.clock(), success);
  };
  try {
    TrainingResult result = train();
    note_end(!is_untrained(result));
    return result;
  } catch (...) {
    note_end(false);
    throw;
  }
}

}  // namespace

bool is_untrained(const TrainingResult& result) {
  return result.steps == 0 && result.global_step == 0 && result.reason.kind == EndReason::Kind::kEndOfInput;
}

TrainingResult train(PreparedRun& run, const std::function<void()>& progress,
                     const std::function<void(const std::string& ends)>& on_session) {
  RunHost& host = run.host;
  run.evaluations.progress = progress;
  if (host.has_directory())
    host.open_saver(fingerprint_of(host.environment(), run.plugins.registry()), run.training.events(),
                    run.resume.manifest_to_keep());
  run.strategy->meet();
  TimeShares times(host, run.training.events());
  const PublishesActivity publishing(times.activity());
  const auto begins = [&](const std::string& ends) {
    if (on_session) on_session(ends);
    times.start();
  };
  TrainingResult result = noting_the_end(run, [&] { return Training(run, progress).run(begins); });
  run.strategy->part();
  times.stop();
  result.shares = times.shares();
  if (run.keep_going() && !result.checkpoint.empty() && result.save_error.empty())
    host.note_finished(result.global_step);
  return result;
}

}  // namespace belay::runtime
