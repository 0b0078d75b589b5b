// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/train.h"

#include "runtime/estimator/trained_variables.h"
#include "runtime/events/graph_def.h"
#include "runtime/platform/spinning.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

// Of a checkpoint of another run: the states of hooks that were left out on purpose are no one's, and a hook of this
// run that has the name of one begins without a state.
class WithoutStates final : public SessionCreator {
 public:
  WithoutStates(std::shared_ptr<SessionCreator> inner, const std::set<std::string>& names)
      : inner_(std::move(inner)), names_(names) {}
  CreatedSession create_session() override {
    CreatedSession created = inner_->create_session();
    if (created.restored)
      std::erase_if(created.restored->state.hook_states, [&](const auto& s) { return names_.contains(s.first); });
    return created;
  }
  NodeGraph& graph() override { return inner_->graph(); }

 private:
  const std::shared_ptr<SessionCreator> inner_;
  const std::set<std::string>& names_;
};

constexpr const char* kTrainInput = "train";

// The session of one of several processes, or (null) of one that is alone.
class OverRanks final : public SessionCreator {
 public:
  // `again`: of a further session over the same variables; null: there is none where a rank was lost.
  OverRanks(std::shared_ptr<SessionCreator> inner, std::shared_ptr<SessionCreator> again, RunRanks* ranks, bool replays,
            Logger& log)
      : inner_(std::move(inner)), again_(std::move(again)), ranks_(ranks), replays_(replays), log_(log) {}
  CreatedSession create_session() override {
    if (again_ != nullptr && std::exchange(begun_, true)) ranks_->regroup();
    if (trained_ != nullptr && trained_->dirty()) trained_.reset();
    const bool trained = trained_ != nullptr;
    CreatedSession created = (trained ? again_ : inner_)->create_session();
    if (replays_) {
      refuse_ranks(*created.session, kTrainInput);
      return created;
    }
    if (ranks_ != nullptr) created = ranks_->alike(std::move(created), trained);
    if (again_ != nullptr) trained_ = created.session->shared_store();
    const std::string said = ranks_ != nullptr ? ranks_->regrouped() : go_on_alone(*created.session, kTrainInput);
    if (!said.empty()) log_.warning("", said);
    return created;
  }
  NodeGraph& graph() override { return inner_->graph(); }

 private:
  const std::shared_ptr<SessionCreator> inner_, again_;
  RunRanks* const ranks_;
  const bool replays_;
  Logger& log_;
  bool begun_ = false;
  std::shared_ptr<VariableStore> trained_;  // what this process has trained; null: nothing so far
};

class Training {
 public:
  Training(SessionHost& host, ModelGraph& model, const TrainingOptions& options, RunRanks* ranks)
      : host_(host),
        run_(host.run()),
        model_(model),
        options_(options),
        ranks_(ranks),
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
  bool replayed(MonitoredSession& session);

  SessionHost& host_;
  RunHost& run_;
  ModelGraph& model_;
  const TrainingOptions& options_;
  RunRanks* const ranks_;  // null: one process
  FetchSet train_op_;
  RunCall call_;
  HookChoice in_each_;       // of a replay
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
  std::shared_ptr<SessionCreator> again;
  if (ranks_ != nullptr && ranks_->regroups()) {
    options.target = "local:ranks";  // which a session behind a recovery finds again
    again = std::make_shared<WorkerSessionCreator>(
        model_.graph, run_.environment(),
        WorkerSessionCreator::Options{.scaffold = options.scaffold, .target = options.target, .max_wait_secs = 0});
  }
  if (options_.replay != nullptr)
    options.checkpoint_filename_with_path = options_.replay->checkpoint;
  else if (run_.has_directory())
    options.checkpoint_dir = run_.directory().path();
  auto chief = std::make_shared<OverRanks>(
      std::make_shared<ChiefSessionCreator>(model_.graph, run_.environment(), std::move(options)), again, ranks_,
      options_.replay != nullptr, run_.log());
  if (options_.replay == nullptr) return chief;
  return std::make_shared<WithoutStates>(std::move(chief), options_.replay->left_out);
}

TrainingResult Training::run() {
  const std::string warning = spinning_warning(run_.environment().session.threads);
  if (!warning.empty()) run_.log().warning("", warning);
  const std::int64_t start = run_.clock().monotonic_ns();
  if (ranks_ != nullptr) {
    ranks_->trace_into(run_.trace());
    ranks_->compare_behind(run_.saver().get());
  }
  const std::unique_ptr<MonitoredSession> session = host_.open(creator());
  if (ranks_ != nullptr) ranks_->note_states();
  if (options_.on_session) options_.on_session(why_no_step(*session));
  if (host_.events() != nullptr) host_.events()->add_graph(serialized_graph_def(model_.graph));
  try {
    session->scope([&] {
      const KeptStore kept(*session, result_.trained);
      loop(*session);
      if (ranks_ != nullptr) ranks_->leave();
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
  if (options_.replay != nullptr) in_each_ = host_.hooks().only(options_.replay->in_each);
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
  if (ranks_ == nullptr) interruptible.emplace(control, session);
  if (options_.evals != nullptr) {
    options_.evals->at_start(*session.raw_session());
    session.save_if_asked();
  }
  make_steps(session);
}

void Training::make_steps(MonitoredSession& session) {
  RunControl& control = run_.control();
  while (!session.should_stop()) {
    if (replayed(session)) break;
    if (control.stopping()) {
      session.request_stop(control.stop_reason());
      break;
    }
    if (run_.saver() != nullptr && control.take_save_request()) run_.saver()->request();
    if (!step(session)) break;
  }
}

// True: this was the last step that is asked for.
bool Training::replayed(MonitoredSession& session) {
  if (options_.replay == nullptr) return false;
  if (result_.global_step >= options_.replay->until) {
    options_.replay->at_last(*session.raw_session());
    session.request_stop("replayed to step " + std::to_string(result_.global_step));
    return true;
  }
  const std::int64_t next = result_.global_step + 1;
  call_.hooks = next < options_.replay->first || next > options_.replay->last ? &in_each_ : nullptr;
  return false;
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
  if (ranks_ != nullptr) ranks_->note_states();
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

TrainingResult train(SessionHost& host, ModelGraph& model, const TrainingOptions& options) {
  return train(host, model, options, nullptr);
}

TrainingResult train(SessionHost& host, ModelGraph& model, const TrainingOptions& options, RunRanks* ranks) {
  return Training(host, model, options, ranks).run();
}

}  // namespace belay::runtime
