#include "runtime/monitored/hooked_session.h"

#include <algorithm>

#include "runtime/monitored/run_saver.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

HookedSession::HookedSession(std::shared_ptr<DirectSession> session, HookSet& hooks, RunSaver* saver,
                             CallMonitor* monitor)
    : SessionLayer(std::make_unique<RawLayer>(session)),
      session_(std::move(session)),
      hooks_(hooks),
      saver_(saver),
      monitor_(monitor) {
  requests_.resize(hooks_.size());
  extras_.reserve(hooks_.size());
}

void HookedSession::request_stop(const std::string& reason) {
  if (!should_stop_) stop_reason_ = reason;
  should_stop_ = true;
}

FetchSet* HookedSession::fetch_set(HookRequest& request) {
  const belay_run_args& args = request.args;
  if (args.n_fetches == 0) return nullptr;
  for (std::size_t i = 0; i < request.sets.size(); ++i) {
    if (!request.sets[i]->is(args.fetches, args.n_fetches)) continue;
    if (i != 0) std::swap(request.sets[i], request.sets[0]);
    return request.sets[0].get();
  }
  constexpr std::size_t kMaxSets = 16;
  if (request.sets.size() >= kMaxSets) request.sets.pop_back();
  request.sets.insert(request.sets.begin(), std::make_unique<FetchSet>(args.fetches, args.n_fetches));
  return request.sets[0].get();
}

void HookedSession::before_run(RunContextState& context) {
  extras_.clear();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    HookRequest& r = requests_[i];
    SessionHook& hook = hooks_.all()[i];
    r.args = belay_run_args{};
    r.fetches = nullptr;
    r.asked = hook.has_before_run() ? hook.call("before_run", &belay_hook_api::before_run, to_handle(&context), &r.args)
                                    : !hook.disabled();
    if (!r.asked) continue;
    r.fetches = fetch_set(r);
    if (r.fetches != nullptr) extras_.push_back(r.fetches);
  }
}

void HookedSession::merge_feeds(const RunCall& call) {
  feeds_.assign(call.feeds.begin(), call.feeds.end());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const HookRequest& r = requests_[i];
    for (std::uint64_t f = 0; r.asked && f < r.args.n_feeds; ++f) {
      const belay_feed& feed = r.args.feeds[f];
      for (const belay_feed& other : feeds_) {
        if (other.output.node != feed.output.node || other.output.index != feed.output.index) continue;
        fail(Code::kInvalidArgument,
             "Same tensor is fed twice: '" + session_->graph().port_name(session_->graph().resolve(feed.output)) +
                 "' by hook '" + hooks_.all()[i].name() + "' and by another hook or the caller");
      }
      feeds_.push_back(feed);
    }
  }
}

void HookedSession::merge_options(const RunCall& call, RunRequest& request) {
  if (call.options != nullptr) {
    request.timeout_ms = call.options->timeout_ms;
    request.trace_level = static_cast<std::int32_t>(call.options->trace_level);
  }
  for (const HookRequest& r : requests_) {
    if (!r.asked || r.args.options == nullptr) continue;
    request.timeout_ms = std::max(request.timeout_ms, r.args.options->timeout_ms);
    request.trace_level = std::max(request.trace_level, r.args.options->trace_level);
  }
}

void HookedSession::after_run(RunContextState& context, const Run& run) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    HookRequest& r = requests_[i];
    SessionHook& hook = hooks_.all()[i];
    if (!r.asked || !hook.has_after_run()) continue;
    r.values.resize(r.args.n_fetches);
    for (std::size_t v = 0; v < r.values.size(); ++v) r.values[v] = run.result(*r.fetches, v);
    const belay_run_values values{r.values.data(), r.values.size()};
    const bool stop_before = context.stop_requested;
    hook.call("after_run", &belay_hook_api::after_run, to_handle(&context), &values);
    if (context.stop_requested && !stop_before) context.stop_reason = hook.name() + ": " + context.stop_reason;
  }
}

Run HookedSession::run(const RunCall& call) {
  if (inner() == nullptr) fail(Code::kFailedPrecondition, "Run called on a closed session");
  if (should_stop_)
    fail(Code::kFailedPrecondition, "Run called even after should_stop requested (" + stop_reason_ + ")");
  if (monitor_ != nullptr) monitor_->step.store(session_->global_step(), std::memory_order_relaxed);
  RunContextState context;
  context.session = session_.get();
  context.original.fetches = call.fetches->outputs().data();
  context.original.n_fetches = call.fetches->outputs().size();
  context.original.feeds = call.feeds.data();
  context.original.n_feeds = call.feeds.size();
  before_run(context);
  merge_feeds(call);
  RunRequest request;
  request.fetches = call.fetches;
  request.extras = extras_;
  request.feeds = feeds_;
  request.full_team = true;
  request.metadata = call.metadata;
  merge_options(call, request);
  Run run = session_->run(request);
  after_run(context, run);
  if (context.stop_requested) request_stop(context.stop_reason);
  if (saver_ != nullptr && saver_->requested()) {
    const std::string stopping = saver_->at_boundary(*session_, hooks_);
    if (!stopping.empty()) request_stop(stopping + ": asked to stop after a checkpoint");
  }
  return run;
}

std::any HookedSession::run_step_fn(const StepFn& step) {
  if (inner() == nullptr) fail(Code::kFailedPrecondition, "Run called on a closed session");
  StepFnContext context(*session_, [this](const RunCall& call) { return run(call); });
  return step(context);
}

}  // namespace belay::runtime
