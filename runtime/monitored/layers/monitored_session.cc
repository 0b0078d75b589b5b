// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/monitored_session.h"

#include <algorithm>

#include "runtime/data/queue_runner.h"
#include "runtime/loader/instance/held_call.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/layers/stop_refusal.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

MonitoredSession::MonitoredSession(std::shared_ptr<SessionCreator> creator, const RunEnvironment& environment,
                                   HookSet& hooks, MonitoredSessionOptions options)
    : creator_(std::move(creator)), environment_(environment), hooks_(hooks), options_(std::move(options)) {
  creator_->graph().hold();
  creator_->pause().reset();
  if (options_.saver != nullptr) options_.saver->allow_waiting();
  try {
    if (options_.begins_hooks) hooks_.begin(creator_->graph());
    if (options_.recovers) {
      layers_ = std::make_unique<RecoverableSession>([this] { return create(); }, options_.settings,
                                                     [this](double s) { creator_->pause().wait(environment_, s); },
                                                     [this](const Error& error, std::int64_t count) {
                                                       abandon(error);
                                                       if (options_.on_recovery) options_.on_recovery(error, count);
                                                     },
                                                     &environment_.log);
    } else {
      layers_ = create();
    }
  } catch (...) {
    if (options_.saver != nullptr) options_.saver->settle();
    creator_->graph().release();
    hooks_.on_error(current_error());
    throw;
  }
}

MonitoredSession::~MonitoredSession() {
  if (closed()) return;
  try {
    close_layers();
  } catch (...) {
    environment_.log.error("", std::string("while a session was dropped: ") + current_error().what());
  }
}

// Called before a recovery. It ends the old session's runs and with them its threads, and drops all references to it.
// So the new set of variables never exists beside the old one.
void MonitoredSession::abandon(const Error& error) {
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (raw != nullptr) {
    // Comes first: errors that its threads throw from now on do not count.
    from_handle(raw->coordinator).request_stop("the session is made anew");
    raw->interrupt(Error(Code::kCancelled, std::string("the session is made anew after: ") + error.what()));
  }
  below_recovery_ = nullptr;
  hooked_ = nullptr;
  turns_.abandoned();
  open_.reset();
  turns_.refuse_waiting();
}

// The part that every recovery repeats.
std::unique_ptr<SessionLayer> MonitoredSession::create() {
  try {
    return make_layers();
  } catch (const Error& e) {
    if (e.code() != Code::kStop || !open_.stops_now()) refuse_end_of_input(e);
    throw;  // stop_now ends a wait for the session with STOP
  }
}

std::unique_ptr<SessionLayer> MonitoredSession::make_layers() {
  CreatedSession created = creator_->create_session();
  const std::shared_ptr<DirectSession> session = created.session;
  if (!created_once_) restored_at_start_ = created.restored.has_value();
  if (created.restored) hooks_.load_states(created.restored->state.hook_states, environment_.log);
  if (!created.hook_states.empty()) hooks_.load_states(created.hook_states, environment_.log);
  const auto coordinator = std::make_shared<Coordinator>(environment_.clock, std::vector<Code>{}, this);
  coordinator->set_asker([] {
    const auto call = PluginInstance::current();
    return call ? call->instance.name() : std::string();
  });
  session->coordinator = to_handle(coordinator.get());
  auto hooked = std::make_unique<HookedSession>(session, hooks_, options_.saver, options_.monitor, &environment_.log,
                                                options_.events, options_.trace);
  HookedSession* hooked_now = hooked.get();
  if (options_.min_steps > 0) {
    const auto refusal = std::make_shared<StopRefusal>(options_.min_steps, session, environment_.log);
    hooked->set_refusal(refusal);
    coordinator->set_refusal([refusal](const std::string& reason) { return refusal->refuses("", reason); });
  }
  std::unique_ptr<SessionLayer> layers = std::make_unique<CoordinatedSession>(
      std::move(hooked), coordinator, options_.settings.stop_grace_period_secs, environment_.log, &unjoined_);
  try {
    start_queue_runners(*session, coordinator.get());
    if (const std::string why = why_resume_is_approximate(session->graph());
        !created_once_ && options_.saver != nullptr && !why.empty())
      environment_.log.warning(
          "", "a run that continues from a checkpoint of this one will see its input in another order: " + why);
    if (options_.saver != nullptr) options_.saver->prepare(*session);
    hooks_.after_create_session(*session);
    if (options_.saver != nullptr) {
      const std::string stopping = options_.saver->at_boundary(*session, hooks_);
      if (!stopping.empty()) hooked_now->request_stop(stopping, "asked to stop after a checkpoint");
    }
  } catch (...) {
    try {
      layers->close();
    } catch (...) {
      environment_.log.warning(
          "", std::string("while a session that could not be made was closed: ") + current_error().what());
    }
    throw;
  }
  created_once_ = true;
  below_recovery_ = layers.get();
  hooked_ = hooked_now;
  turns_.opened(*coordinator);
  open_.set(session);
  return layers;
}

// A visit that may not recover runs in the layer inside of the recovering one.
SessionLayer& MonitoredSession::layers_of(const Visit& visit) const {
  SessionLayer* layers = visit.may_recover() ? layers_.get() : below_recovery_;
  if (layers == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  return *layers;
}

Run MonitoredSession::run(const RunCall& call) {
  const Visit visit(turns_, "Run", Place::kRun);
  return layers_of(visit).run(call);
}

FetchedValues MonitoredSession::run_fetches(const std::vector<FetchRef>& fetches, const Feeds& feeds, RunCall call) {
  auto set = std::make_unique<FetchSet>(fetches);
  std::vector<belay_feed> raw;
  for (const auto& [output, tensor] : feeds) raw.push_back({output.raw(), tensor.view()});
  call.fetches = set.get();
  call.feeds = raw;
  Run run = this->run(call);
  return FetchedValues(std::move(run), std::move(set));
}

FetchedValues MonitoredSession::run(const std::vector<FetchRef>& fetches, const Feeds& feeds,
                                    const CallerOptions& options, RunMetadata* metadata) {
  RunCall call;
  call.options = &options;
  call.metadata = metadata;
  return run_fetches(fetches, feeds, call);
}

FetchedValues MonitoredSession::run_with(const HookChoice& hooks, const std::vector<FetchRef>& fetches,
                                         const Feeds& feeds) {
  RunCall call;
  call.hooks = &hooks;
  return run_fetches(fetches, feeds, call);
}

FetchedValues MonitoredSession::run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds) {
  return run_with(HookChoice::none(), fetches, feeds);
}

// The step function may call the session only while it runs itself, and not during one of its runs.
std::any MonitoredSession::call_step(const StepFn& step, StepFnContext& context) {
  StepFnContext watched(context.session(), [&](const RunCall& call) {
    if (!turns_.mine())
      fail(Code::kFailedPrecondition, "[B5071] run_with_hooks called by another thread than the step function's");
    const Visit run(turns_, "Run", Place::kRun);
    return context.run_with_hooks(call);
  });
  const SessionTurns::InStepFn inside(turns_);
  return step(watched);
}

std::any MonitoredSession::run_step_fn(const StepFn& step) {
  const Visit visit(turns_, "Run", Place::kRun);
  try {
    return layers_of(visit).run_step_fn([&](StepFnContext& context) { return call_step(step, context); });
  } catch (const Error& e) {
    if (e.code() == Code::kStop) request_stop(e.what());
    throw;
  }
}

bool MonitoredSession::should_stop() {
  if (open_.stop_requested() || turns_.closing()) return true;
  if (turns_.mine()) return look();
  const std::shared_ptr<Coordinator> own = turns_.own_coordinator();
  if (own != nullptr && (!turns_.is_open(*own) || own->should_stop())) return true;
  if (!turns_.try_take()) return false;
  const Visit visit(turns_, Place::kRecovery);
  if (closed()) return true;
  if (own != nullptr) return look();
  if (options_.recovers) return layers_->should_stop();
  try {
    return layers_->should_stop();
  } catch (const Error&) {
    return true;  // a thread's error: close throws it
  }
}

// The result of should_stop for a caller that cannot recover.
bool MonitoredSession::look() {
  if (turns_.at_end()) return true;
  if (hooked_ == nullptr) return false;  // a recovery makes it anew
  if (hooked_->should_stop()) return true;
  const Coordinator& coordinator = from_handle(raw_session()->coordinator);
  const std::optional<Error> error = coordinator.requested_exception();
  return coordinator.should_stop() && !(error && is_preemption(error->code()));
}

void MonitoredSession::request_stop(const std::string& reason) {
  open_.request_stop(reason);
  if (options_.saver != nullptr) options_.saver->stop_waiting(Error(Code::kStop, reason));
}

void MonitoredSession::stop_now(const std::string& reason) {
  request_stop(reason);
  const Error stop(Code::kStop, reason);
  creator_->pause().end(stop);
  open_.stop_now(stop);
}

std::string MonitoredSession::save() {
  const Visit visit(turns_, "Save", Place::kSave);
  RunSaver* saver = options_.saver;
  if (saver == nullptr) fail(Code::kFailedPrecondition, "[B5087] the session has no directory to save into");
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (closed() || raw == nullptr) fail(Code::kFailedPrecondition, "[B5070] Save called on a closed session");
  saver->request();
  save_at_boundary(*raw);
  finish_save(*raw);
  if (!saver->save_error().empty())
    fail(Code::kDataLoss, "[B5087] the checkpoint was not written: " + saver->save_error());
  const bool written = saver->saved_step() == std::max<std::int64_t>(raw->global_step(), 0);
  return written ? saver->saved_path() : "";
}

void MonitoredSession::save_if_asked() {
  const Visit visit(turns_, "Save", Place::kSave);
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (options_.saver == nullptr || !options_.saver->due() || closed() || raw == nullptr) return;
  save_at_boundary(*raw);
}

void MonitoredSession::finish_save() {
  const Visit visit(turns_, "Save", Place::kSave);
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (options_.saver != nullptr && !closed() && raw != nullptr) finish_save(*raw);
}

void MonitoredSession::save_at_boundary(DirectSession& raw) {
  stop_behind_save(options_.saver->at_boundary(raw, hooks_));
}

void MonitoredSession::finish_save(DirectSession& raw) { stop_behind_save(options_.saver->finish(raw, hooks_)); }

void MonitoredSession::stop_behind_save(const std::string& hook) {
  if (!hook.empty()) hooked_->request_stop(hook, "asked to stop after a checkpoint");
}

void MonitoredSession::interrupt(const Error& reason) {
  if (const std::shared_ptr<DirectSession> raw = raw_session()) raw->interrupt(reason);
}

void MonitoredSession::resume() {
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (raw != nullptr && !raw->closed()) raw->resume();
}

std::int64_t MonitoredSession::recoveries() const noexcept {
  const auto* recoverable = dynamic_cast<const RecoverableSession*>(layers_.get());
  return recoverable == nullptr ? recoveries_ : recoverable->recoveries();
}

std::int64_t MonitoredSession::global_step() {
  const std::shared_ptr<DirectSession> raw = raw_session();
  return raw == nullptr ? last_step_ : raw->global_step();
}

void MonitoredSession::run_end_hooks() {
  RunSaver* saver = options_.saver;
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (saver != nullptr) saver->begin_end(*raw, hooks_);
  try {
    hooks_.end(*raw);
  } catch (...) {
    save_after(current_error());
    if (saver != nullptr) saver->finish_end();
    throw;
  }
  if (saver == nullptr) return;
  saver->finish_end();
  saver->check_last_state();
}

// The session's thread is held in the callback, so its own data does not change meanwhile.
bool MonitoredSession::save_beside_hook() noexcept {
  RunSaver* saver = options_.saver;
  if (saver == nullptr || options_.monitor == nullptr) return false;
  const HeldCall held(*options_.monitor);
  const PluginInstance* busy = held.instance();
  const bool after_step = held.callback() == "after_run";
  if (busy == nullptr || !(after_step || held.callback() == "before_run") || !hooks_.has(*busy)) return false;
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (raw == nullptr || raw->global_step() == saver->taken_step()) return false;
  environment_.log.warning(
      "", busy->label() + " does not come back from " + std::string(held.callback()) +
              ": the variables are saved beside it, and of this hook the state that it had at the last checkpoint" +
              (after_step ? "; hooks after it have not heard of this step" : ""));
  saver->save_beside(*raw, hooks_, *busy);
  return true;
}

// [checkpoint] save_on_exception. After a failed after_run, that hook and those after it have not seen the last step of
// the variables. So no state exists that a run could continue from.
void MonitoredSession::save_after(const Error& error) noexcept {
  RunSaver* saver = options_.saver;
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (saver == nullptr || !saver->options().checkpoint.save_on_exception || error.code() == Code::kDiverged) return;
  if (closed() || raw == nullptr || hooked_ == nullptr) return;
  if (hooked_->whole()) return saver->save_after_error(*raw, hooks_);
  environment_.log.warning("",
                           "what was trained since the last checkpoint is not saved (save_on_exception): the step "
                           "is not whole, since not every hook has heard of it");
}

void MonitoredSession::close_layers() {
  recoveries_ = recoveries();
  if (const std::shared_ptr<DirectSession> raw = raw_session()) {
    last_step_ = raw->global_step();
    // Comes first: the error of a thread that is refused from now on does not count.
    from_handle(raw->coordinator).request_stop("the session is closing");
  }
  turns_.close();
  const std::unique_ptr<SessionLayer> layers = std::move(layers_);
  below_recovery_ = nullptr;
  hooked_ = nullptr;
  open_.reset();
  if (options_.saver != nullptr) options_.saver->settle();
  creator_->graph().release();
  layers->close();
}

EndReason MonitoredSession::reason_of_normal_end() const {
  // A stop that ends the pause before a recovery leaves no session either.
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (raw == nullptr && !open_.stop_requested())
    return {EndReason::Kind::kError, "the session could not be made anew after an error"};
  if (hooked_ != nullptr && !hooked_->stop_reason().empty())
    return {EndReason::Kind::kStopRequested, hooked_->stop_reason()};
  if (open_.stop_requested()) return {EndReason::Kind::kStopRequested, open_.stop_reason()};
  // Before the first run a hook has no other way to ask for a stop.
  if (const std::string asked = from_handle(raw->coordinator).stop_reason(); !asked.empty())
    return {EndReason::Kind::kStopRequested, asked};
  return {EndReason::Kind::kClosed, "the session was closed"};
}

void MonitoredSession::close() {
  const Visit visit(turns_, "Close", Place::kEnd);
  end_normally();
}

void MonitoredSession::end_normally() {
  if (closed()) return;
  if (reason_.kind == EndReason::Kind::kNone) reason_ = reason_of_normal_end();
  if (raw_session() == nullptr) return close_layers();  // the program continued after a failed recovery
  open_.begin_end();
  try {
    run_end_hooks();
  } catch (...) {
    reason_ = {EndReason::Kind::kError, current_error().what()};
    try {
      close_layers();
    } catch (...) {
      environment_.log.error("", current_error().what());
    }
    throw;
  }
  try {
    close_layers();
  } catch (...) {
    reason_ = {EndReason::Kind::kError, current_error().what()};
    throw;
  }
}

bool MonitoredSession::leave(const Error& error) {
  const Visit visit(turns_, "Leave", Place::kEnd);
  if (is_end_of_input(error.code())) {
    reason_ = {EndReason::Kind::kEndOfInput, error.what()};
    if (error.code() == Code::kStop)
      reason_ = {EndReason::Kind::kStopRequested, open_.stop_requested() ? open_.stop_reason() : error.what()};
    end_normally();
    return true;
  }
  reason_ = {EndReason::Kind::kError, error.what()};
  save_after(error);
  // A hook that names the newest checkpoint then finds the unfinished one, too.
  if (options_.saver != nullptr) options_.saver->settle();
  hooks_.on_error(error);
  if (closed()) return false;
  try {
    close_layers();
  } catch (...) {
    if (const Error other = current_error(); other.message() != error.message())
      environment_.log.error("", std::string("besides, while the session was closed: ") + other.what());
  }
  return false;
}

SingularMonitoredSession::SingularMonitoredSession(NodeGraph& graph, const RunEnvironment& environment, HookSet& hooks,
                                                   ChiefSessionCreator::Options creator,
                                                   MonitoredSessionOptions options)
    : MonitoredSession(std::make_shared<ChiefSessionCreator>(graph, environment, std::move(creator)), environment,
                       hooks, [&] {
                         options.recovers = false;
                         return std::move(options);
                       }()) {}

}  // namespace belay::runtime
