#include "runtime/monitored/monitored_session.h"

#include <algorithm>

#include "runtime/data/queue_runner.h"
#include "runtime/monitored/run_saver.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

MonitoredSession::MonitoredSession(std::shared_ptr<SessionCreator> creator, const RunEnvironment& environment,
                                   HookSet& hooks, MonitoredSessionOptions options)
    : creator_(std::move(creator)), environment_(environment), hooks_(hooks), options_(std::move(options)) {
  was_finalized_ = creator_->graph().finalized();
  try {
    hooks_.begin(creator_->graph());
    if (options_.recovers) {
      layers_ = std::make_unique<RecoverableSession>([this] { return create(); }, options_.recovery,
                                                     [this](double seconds) { pause(environment_, seconds); },
                                                     options_.on_recovery, &environment_.log);
    } else {
      layers_ = create();
    }
  } catch (const Error& e) {
    restore_graph();
    hooks_.on_error(e);
    throw;
  }
}

MonitoredSession::~MonitoredSession() {
  if (closed()) return;
  try {
    close_layers();
  } catch (const Error& e) {
    environment_.log.error("", std::string("while a session was dropped: ") + e.what());
  }
}

// The part that every recovery repeats.
std::unique_ptr<SessionLayer> MonitoredSession::create() {
  {
    const std::lock_guard lock(mutex_);
    hooked_ = nullptr;  // a recovery has dropped it
    raw_.reset();       // and no second set of variables beside the new one
  }
  CreatedSession created = creator_->create_session();
  const std::shared_ptr<DirectSession> session = created.session;
  if (!created_once_) restored_at_start_ = created.restored.has_value();
  if (created.restored) hooks_.load_states(created.restored->state.hook_states, environment_.log);
  const auto coordinator = std::make_shared<Coordinator>(environment_.clock, std::vector<Code>{});
  session->coordinator = to_handle(coordinator.get());
  auto hooked = std::make_unique<HookedSession>(session, hooks_, options_.saver, options_.monitor);
  HookedSession* hooked_now = hooked.get();
  auto layers = std::make_unique<CoordinatedSession>(std::move(hooked), coordinator, options_.stop_grace_period_secs,
                                                     environment_.log, &laggards_);
  try {
    start_queue_runners(*session, coordinator.get());
    if (const std::string why = why_resume_is_approximate(session->graph());
        !created_once_ && options_.saver != nullptr && !why.empty())
      environment_.log.warning(
          "", "a run that goes on from a checkpoint of this one will see its input in another order: " + why);
    hooks_.after_create_session(*session);
    if (options_.saver != nullptr) {
      const std::string stopping = options_.saver->at_boundary(*session, hooks_);
      if (!stopping.empty()) hooked_now->request_stop(stopping + ": asked to stop after a checkpoint");
    }
  } catch (const Error&) {
    try {
      layers->close();
    } catch (const Error& other) {
      environment_.log.warning("", std::string("while a session that could not be made was closed: ") + other.what());
    }
    throw;
  }
  created_once_ = true;
  const std::lock_guard lock(mutex_);
  raw_ = session;
  hooked_ = hooked_now;
  if (stop_now_) session->interrupt(Error(Code::kStop, stop_reason_));
  return layers;
}

Run MonitoredSession::run(const RunCall& call) {
  const std::lock_guard lock(runs_);
  if (closed()) fail(Code::kFailedPrecondition, "Run called on a closed session");
  return layers_->run(call);
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

FetchedValues MonitoredSession::run(const std::vector<FetchRef>& fetches, const Feeds& feeds, const RunOptions& options,
                                    RunMetadata* metadata) {
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

std::any MonitoredSession::run_step_fn(const StepFn& step) {
  const std::lock_guard lock(runs_);
  if (closed()) fail(Code::kFailedPrecondition, "Run called on a closed session");
  try {
    return layers_->run_step_fn(step);
  } catch (const Error& e) {
    if (e.code() == Code::kStop) request_stop(e.what());
    throw;
  }
}

bool MonitoredSession::should_stop() {
  if (stop_requested_ || closing_) return true;
  const std::unique_lock lock(runs_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (closed()) return true;
  if (options_.recovers) return layers_->should_stop();
  try {
    return layers_->should_stop();
  } catch (const Error&) {
    return true;  // a thread's: it leaves close
  }
}

void MonitoredSession::request_stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!stop_requested_) stop_reason_ = reason;
  stop_requested_ = true;
}

void MonitoredSession::stop_now(const std::string& reason) {
  request_stop(reason);
  const Error stop(Code::kStop, reason);
  environment_.interrupt.cancel(stop);  // of a pause between two recoveries
  const std::lock_guard lock(mutex_);
  stop_now_ = true;  // for a session that is being made at this moment
  if (raw_ != nullptr) raw_->interrupt(stop);
}

std::string MonitoredSession::save() {
  const std::lock_guard lock(runs_);
  RunSaver* saver = options_.saver;
  if (saver == nullptr) fail(Code::kFailedPrecondition, "the session has no directory to save into");
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (closed() || raw == nullptr) fail(Code::kFailedPrecondition, "Save called on a closed session");
  saver->request();
  const std::string stopping = saver->at_boundary(*raw, hooks_);
  if (!stopping.empty()) hooked_->request_stop(stopping + ": asked to stop after a checkpoint");
  if (!saver->save_error().empty()) fail(Code::kDataLoss, "the checkpoint was not written: " + saver->save_error());
  const bool written = saver->saved_step() == std::max<std::int64_t>(raw->global_step(), 0);
  return written ? saver->saved_path() : "";
}

void MonitoredSession::interrupt(const Error& reason) {
  if (const std::shared_ptr<DirectSession> raw = raw_session()) raw->interrupt(reason);
}

void MonitoredSession::resume() {
  const std::shared_ptr<DirectSession> raw = raw_session();
  if (raw != nullptr && !raw->closed()) raw->resume();
}

std::shared_ptr<DirectSession> MonitoredSession::raw_session() {
  const std::lock_guard lock(mutex_);
  return raw_;
}

std::int64_t MonitoredSession::recoveries() const noexcept {
  const auto* recoverable = dynamic_cast<const RecoverableSession*>(layers_.get());
  return recoverable == nullptr ? recoveries_ : recoverable->recoveries();
}

void MonitoredSession::restore_graph() noexcept {
  if (!was_finalized_) creator_->graph().unsafe_unfinalize();
}

void MonitoredSession::run_end_hooks() {
  RunSaver* saver = options_.saver;
  if (saver != nullptr) saver->begin_end(*raw_, hooks_);
  try {
    hooks_.end(*raw_);
  } catch (...) {
    if (saver != nullptr) saver->finish_end();
    throw;
  }
  if (saver == nullptr) return;
  saver->finish_end();
  saver->check_last_state();
}

void MonitoredSession::close_layers() {
  closing_ = true;
  recoveries_ = recoveries();
  const std::unique_ptr<SessionLayer> layers = std::move(layers_);
  {
    const std::lock_guard lock(mutex_);
    raw_.reset();
    hooked_ = nullptr;
  }
  restore_graph();
  layers->close();
}

EndReason MonitoredSession::reason_of_normal_end() const {
  if (layers_->raw() == nullptr) return {EndReason::Kind::kError, "the session could not be made anew after an error"};
  if (hooked_ != nullptr && !hooked_->stop_reason().empty())
    return {EndReason::Kind::kStopRequested, hooked_->stop_reason()};
  if (stop_requested_) return {EndReason::Kind::kStopRequested, stop_reason_};
  // Before the first run a hook has no other way.
  if (const std::string asked = from_handle(raw_->coordinator).stop_reason(); !asked.empty())
    return {EndReason::Kind::kStopRequested, asked};
  return {EndReason::Kind::kClosed, "the session was closed"};
}

void MonitoredSession::close() {
  const std::lock_guard lock(runs_);
  if (closed()) return;
  if (reason_.kind == EndReason::Kind::kNone) reason_ = reason_of_normal_end();
  if (layers_->raw() == nullptr) return close_layers();  // the program went on after a recovery that failed
  resume();                                              // for the hooks' own runs
  try {
    run_end_hooks();
  } catch (const Error& e) {
    reason_ = {EndReason::Kind::kError, e.what()};
    try {
      close_layers();
    } catch (const Error& other) {
      environment_.log.error("", other.what());
    }
    throw;
  }
  try {
    close_layers();
  } catch (const Error& e) {
    reason_ = {EndReason::Kind::kError, e.what()};
    throw;
  }
}

bool MonitoredSession::leave(const Error& error) {
  const std::lock_guard lock(runs_);
  if (is_end_of_input(error.code())) {
    reason_ = {EndReason::Kind::kEndOfInput, error.what()};
    if (error.code() == Code::kStop)
      reason_ = {EndReason::Kind::kStopRequested, stop_requested_ ? stop_reason_ : error.what()};
    close();
    return true;
  }
  reason_ = {EndReason::Kind::kError, error.what()};
  hooks_.on_error(error);
  if (closed()) return false;
  try {
    close_layers();
  } catch (const Error& other) {
    if (std::string_view(other.what()) != error.what())
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
