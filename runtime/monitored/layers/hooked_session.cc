// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/hooked_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "belay/detail/given.h"
#include "runtime/events/event_writer.h"
#include "runtime/events/graph_def.h"
#include "runtime/graph/own_values.h"
#include "runtime/monitored/layers/run_trace.h"
#include "runtime/monitored/layers/step_stats.h"
#include "runtime/monitored/layers/stop_refusal.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "runtime/platform/text/text.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

// The flag is true while this object lives.
class Flag {
 public:
  explicit Flag(bool& flag) : flag_(flag) { flag_ = true; }
  ~Flag() { flag_ = false; }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

 private:
  bool& flag_;
};

// The step that errors name. During a run it is the run's step, counted from 1 as in the log and the hooks. After the
// run, also after a failed one, it is the number of steps done.
class StepOfRun {
 public:
  StepOfRun(CallMonitor* monitor, std::int64_t done) : monitor_(monitor), done_(done) {
    if (monitor_ != nullptr) store(done_ < 0 ? done_ : done_ + 1);
  }
  StepOfRun(const StepOfRun&) = delete;
  StepOfRun& operator=(const StepOfRun&) = delete;
  ~StepOfRun() {
    if (monitor_ != nullptr) store(done_);
  }
  void ran(const DirectSession& session) {
    if (monitor_ != nullptr) store(done_ = session.global_step());
  }

 private:
  void store(std::int64_t step) { monitor_->step.store(step, std::memory_order_relaxed); }
  CallMonitor* monitor_;
  std::int64_t done_;
};

void merge(const RunOptions& from, RunOptions& into) {
  into.trace_level = std::max(into.trace_level, from.trace_level);
  into.timeout_ms = std::max(into.timeout_ms, from.timeout_ms);
}

[[noreturn]] void fail_feed(const NodeGraph& graph, const belay_feed& feed, const std::string& text) {
  fail(Code::kInvalidArgument, "[B5072] its feed for '" + graph.port_name(graph.resolve(feed.output)) + "' " + text);
}

[[noreturn]] void refuse_feeds(const NodeGraph& graph, const belay_run_args& args, const std::string& advice) {
  std::string names;
  for (std::uint64_t i = 0; i < args.n_feeds; ++i)
    names += (i == 0 ? "'" : ", '") + graph.port_name(graph.resolve(args.feeds[i].output)) + "'";
  fail(Code::kInvalidArgument, "[B5072] it feeds " + names + ", and may only watch; " + advice);
}

// Reads the elements while no plugin is being called. So a wild address fails here, and its name is known.
void touch(const belay_tensor& value) {
  if (value.bytes == 0) return;
  const auto* bytes = static_cast<const volatile char*>(value.data);
  (void)bytes[0];
  (void)bytes[value.bytes - 1];
}

// Dtype and shape are compared with the node's when the feed is used.
void check_feed(const NodeGraph& graph, const belay_feed& feed) {
  const Port port = graph.resolve(feed.output);
  const belay_tensor& value = feed.value;
  if (port.index == BELAY_OPERATION) fail_feed(graph, feed, "names an operation, which has no value");
  if (dtype_size(static_cast<DType>(value.dtype)) == 0)
    fail_feed(graph, feed, fmt::format("has the unknown dtype {}", value.dtype));
  const Shape& wanted = graph.spec(port).second;
  const bool fits = wanted.rank() < 0 || wanted.rank() == value.rank;
  if (value.rank < 0 || value.rank > detail::kMaxRank || !fits)
    fail_feed(
        graph, feed,
        fmt::format("has rank {}{}", value.rank, fits ? "" : ", the node has rank " + std::to_string(wanted.rank())));
  if (value.rank > 0 && value.dims == nullptr) fail_feed(graph, feed, "has no dimensions (dims is null)");
  bool empty = false;
  for (std::int32_t d = 0; d < value.rank; ++d) {
    if (value.dims[d] < 0) fail_feed(graph, feed, fmt::format("has the dimension {} on axis {}", value.dims[d], d));
    empty = empty || value.dims[d] == 0;
  }
  if (!empty && value.data == nullptr) fail_feed(graph, feed, "has no elements (data is null)");
  try {
    detail::check_tensor(value);
  } catch (const Error& e) {
    fail_feed(graph, feed, std::string("cannot be read: ") + e.what());
  }
  touch(value);
}

void check_run_options(const RunOptions& options) {
  if (options.trace_level < RunOptions::Trace::kNone || options.trace_level > RunOptions::Trace::kFull)
    fail(Code::kInvalidArgument,
         fmt::format("[B5082] it returned trace_level = {}", static_cast<std::int32_t>(options.trace_level)));
  if (options.timeout_ms < 0)
    fail(Code::kInvalidArgument, fmt::format("[B5082] it returned timeout_ms = {}", options.timeout_ms));
}

}  // namespace

HookedSession::HookedSession(std::shared_ptr<DirectSession> session, HookSet& hooks, RunSaver* saver,
                             CallMonitor* monitor, Logger* log, EventWriter* events, RunTrace* trace)
    : SessionLayer(std::make_unique<RawLayer>(session)),
      session_(std::move(session)),
      hooks_(hooks),
      saver_(saver),
      monitor_(monitor),
      log_(log),
      events_(events),
      trace_(trace) {
  requests_.resize(hooks_.size());
  hook_fetches_.reserve(hooks_.size());
}

void HookedSession::request_stop(const std::string& hook, const std::string& reason) {
  const std::string text = hook + ": " + reason;
  if (refusal_ == nullptr || !refusal_->refuses(hook, text)) latch_stop(text);
}

void HookedSession::latch_stop(const std::string& reason) {
  if (!should_stop_) stop_reason_ = reason;
  should_stop_ = true;
}

// With several processes, it logs which values cover only this process's rows.
void HookedSession::say_what_is_own(const HookRequest& request, const SessionHook& hook) {
  if (log_ == nullptr) return;
  const NodeGraph& graph = session_->graph();
  if (!own_) own_ = own_values(graph);
  if (own_->empty()) return;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < request.args.n_fetches; ++i)
    if (const Port port = graph.resolve(request.args.fetches[i]); (*own_)[port.node])
      names.push_back("'" + graph.port_name(port) + "'");
  if (names.empty()) return;
  log_->info(hook.name(), joined(names) + (names.size() == 1 ? " is" : " are") +
                              " this rank's alone: computed from its rows, not from those of all ranks");
}

FetchSet* HookedSession::fetch_set(HookRequest& request, const SessionHook& hook) {
  const belay_run_args& args = request.args;
  if (args.n_fetches == 0) return nullptr;
  for (std::size_t i = 0; i < request.sets.size(); ++i) {
    if (!request.sets[i]->is(args.fetches, args.n_fetches)) continue;
    if (i != 0) std::swap(request.sets[i], request.sets[0]);
    return request.sets[0].get();
  }
  // Nodes of another graph and missing nodes fail here. In the run no hook could be named for them.
  for (std::uint64_t i = 0; i < args.n_fetches; ++i) session_->graph().resolve(args.fetches[i]);
  constexpr std::size_t kMaxSets = 16;
  if (request.sets.size() >= kMaxSets) request.sets.pop_back();
  say_what_is_own(request, hook);
  request.sets.insert(request.sets.begin(), std::make_unique<FetchSet>(args.fetches, args.n_fetches));
  return request.sets[0].get();
}

void HookedSession::take(HookRequest& request, const SessionHook& hook) {
  const belay_run_args& args = request.args;
  if ((args.n_fetches | args.n_feeds) == 0 && args.options == nullptr) return;  // most hooks, in most steps
  detail::check_list("fetches", args.fetches, args.n_fetches, "it returned ");
  detail::check_list("feeds", args.feeds, args.n_feeds, "it returned ");
  if (args.n_feeds != 0 && !hook.feeds_refused().empty()) refuse_feeds(session_->graph(), args, hook.feeds_refused());
  for (std::uint64_t i = 0; i < args.n_feeds; ++i) check_feed(session_->graph(), args.feeds[i]);
  if (args.options != nullptr) check_run_options(detail::run_options(args.options));
  request.fetches = fetch_set(request, hook);
}

void HookedSession::before_run(const RunCall& call, RunContextState& context, ThreadOfCalls& thread) {
  hook_fetches_.clear();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    HookRequest& r = requests_[i];
    SessionHook& hook = hooks_.all()[i];
    r.args = detail::sized<belay_run_args>();
    r.fetches = nullptr;
    r.asked = false;
    if (call.hooks != nullptr && !call.hooks->calls(i)) continue;
    const TracedCall traced(hook.has_before_run() ? trace_ : nullptr, "hook", hook.name(), "before_run");
    r.asked = hook.has_before_run() ? hook.call_in_step(
                                          thread, "before_run", &belay_hook_api::before_run, [&] { take(r, hook); },
                                          to_handle(&context), &r.args)
                                    : !hook.disabled();
    if (r.asked && r.fetches != nullptr) hook_fetches_.push_back(r.fetches);
  }
  thread.look();
}

void HookedSession::merge_feeds(const RunCall& call) {
  feeds_.assign(call.feeds.begin(), call.feeds.end());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const HookRequest& r = requests_[i];
    for (std::uint64_t f = 0; r.asked && f < r.args.n_feeds; ++f) {
      const belay_feed& feed = r.args.feeds[f];
      for (const belay_feed& other : feeds_) {
        if (other.output.node != feed.output.node || other.output.index != feed.output.index) continue;
        fail(Code::kInvalidArgument, "[B5072] Same tensor is fed twice: '" +
                                         session_->graph().port_name(session_->graph().resolve(feed.output)) +
                                         "' by hook '" + hooks_.all()[i].name() +
                                         "' and by another hook or the caller");
      }
      feeds_.push_back(feed);
    }
  }
}

void HookedSession::merge_options(const RunCall& call) {
  if (call.options != nullptr) {
    options_ = *call.options;
  } else {
    options_ = CallerOptions();
  }
  hook_traces_ = false;
  for (const HookRequest& r : requests_) {
    if (!r.asked || r.args.options == nullptr) continue;
    const RunOptions wanted = detail::run_options(r.args.options);
    hook_traces_ = hook_traces_ || wanted.trace_level != RunOptions::Trace::kNone;
    merge(wanted, options_);
  }
  if (trace_ != nullptr && trace_->on()) options_.trace_level = RunOptions::Trace::kFull;
  raw_options_ = detail::raw_options(options_);
}

void HookedSession::fetch(HookRequest& request, const Run& run, belay_run_values& values) {
  request.values.resize(request.fetches->outputs().size());
  for (std::size_t v = 0; v < request.values.size(); ++v) request.values[v] = run.result(*request.fetches, v);
  values.results = request.values.data();
  values.n_results = request.values.size();
}

std::string HookedSession::value_name(const HookRequest& request, std::size_t v) const {
  const NodeGraph& graph = session_->graph();
  return "the value of '" + graph.port_name(graph.resolve(request.fetches->outputs()[v])) + "'";
}

// A hook may only read its values.
void HookedSession::check_guards(const HookRequest& request) const {
  if (request.fetches == nullptr) return;
  for (std::size_t v = 0; v < request.values.size(); ++v) {
    const belay_tensor& value = request.values[v];
    if (value.data != nullptr && !near_guards_hold(value.data, value.bytes))
      fail_outside(value_name(request, v), value.data, value.bytes);
  }
}

// Returns the hooks of this run that fetched the value, by their places.
std::vector<std::size_t> HookedSession::readers(const void* value) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const HookRequest& r = requests_[i];
    if (r.asked && r.fetches != nullptr &&
        std::any_of(r.values.begin(), r.values.end(), [&](const belay_tensor& t) { return t.data == value; }))
      found.push_back(i);
  }
  return found;
}

// A write that left the near words alone is found here. Each hook that fetched the value may have made it.
void HookedSession::check_whole_guards() const {
  if (requests_.empty()) return;
  const HookRequest& r = requests_[static_cast<std::size_t>(runs_) % requests_.size()];
  if (!r.asked || r.fetches == nullptr) return;
  for (std::size_t v = 0; v < r.values.size(); ++v) {
    const belay_tensor& value = r.values[v];
    if (value.data != nullptr && !guards_hold(value.data, value.bytes)) refuse_readers(value_name(r, v), value);
  }
}

void HookedSession::refuse_readers(std::string name, const belay_tensor& value) const {
  const std::vector<std::size_t> all = readers(value.data);
  std::string others;
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    others += (i == 0 ? "" : ", ") + double_quoted(hooks_.all()[all[i]].name());
  if (!others.empty()) name += " (it or another hook that fetches it: " + others + ")";
  try {
    fail_outside(name, value.data, value.bytes);
  } catch (const Error& e) {
    hooks_.all()[all.back()].instance().refuse("after_run", e);
  }
}

void HookedSession::after_run(RunContextState& context, const Run& run, ThreadOfCalls& thread) {
  auto values = detail::sized<belay_run_values>();
  values.options = &raw_options_;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    HookRequest& r = requests_[i];
    SessionHook& hook = hooks_.all()[i];
    if (!r.asked || !hook.has_after_run()) continue;
    values.n_results = 0;
    if (r.fetches != nullptr) fetch(r, run, values);
    const bool stop_before = context.stop_requested;
    const TracedCall traced(trace_, "hook", hook.name(), "after_run");
    hook.call_in_step(
        thread, "after_run", &belay_hook_api::after_run, [&] { check_guards(r); }, to_handle(&context), &values);
    if (!context.stop_requested || stop_before) continue;
    context.stop_reason = hook.name() + ": " + context.stop_reason;
    context.stop_requested = refusal_ == nullptr || !refusal_->refuses(hook.name(), context.stop_reason);
  }
  check_whole_guards();
  thread.look();
}

void HookedSession::check_may_run(const RunCall& call) const {
  if (inner_ == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  if (running_)
    fail(Code::kFailedPrecondition,
         "[B5071] Run called inside a run of the same session: a hook's own runs go through its context's session");
  const bool hooked = call.hooks == nullptr || !call.hooks->empty();
  if (hooked && should_stop_)
    fail(Code::kFailedPrecondition, "[B5071] Run called even after should_stop requested (" + stop_reason_ + ")");
}

Run HookedSession::run_raw(const RunCall& call, RunContextState& context) {
  RunRequest request;
  request.fetches = call.fetches;
  if (!options_.debug_tensor_watches.empty()) {
    std::vector<FetchRef> watches;
    for (const std::string& name : options_.debug_tensor_watches)
      watches.emplace_back(session_->graph().output(session_->graph().find(name)));
    watched_ = FetchSet(watches);
    hook_fetches_.push_back(&watched_);
  }
  request.hook_fetches = hook_fetches_;
  request.feeds = feeds_;
  request.full_team = true;
  request.timeout_ms = options_.timeout_ms;
  request.trace_level = static_cast<std::int32_t>(options_.trace_level);
  metadata_.nodes.clear();
  request.metadata = &metadata_;
  context.metadata = &metadata_;
  Run run = [&] {
    const TracedCall traced(trace_, "run", "the run");
    return run_step(request);
  }();
  if (trace_ != nullptr) trace_->add_operations(metadata_.nodes);
  if (call.metadata != nullptr) describe_run(call, run);
  return run;
}

// Adds the step to the error of an operation that finds a divergence (CheckNumerics). The operation does not know it.
Run HookedSession::run_step(const RunRequest& request) {
  try {
    return session_->run(request);
  } catch (const Error& e) {
    const std::int64_t done = session_->global_step();
    if (e.code() != Code::kDiverged || done < 0) throw;
    fail(Code::kDiverged, fmt::format("[B5043] {}, in step {}", e.message(), done + 1));
  }
}

void HookedSession::describe_run(const RunCall& call, const Run& run) {
  metadata_.options = options_;
  metadata_.partition_graphs.clear();
  metadata_.watched.clear();
  if (options_.output_partition_graphs) {
    NodeGraph& graph = session_->graph();
    std::vector<Port> fetches, feeds;
    for (const belay_output& o : call.fetches->outputs()) fetches.push_back(graph.resolve(o));
    for (const FetchSet* hook_fetch : hook_fetches_)
      for (const belay_output& o : hook_fetch->outputs()) fetches.push_back(graph.resolve(o));
    for (const belay_feed& feed : feeds_) feeds.push_back(graph.resolve(feed.output));
    metadata_.partition_graphs.push_back(serialized_graph_def(graph, fetches, feeds));
  }
  for (std::size_t i = 0; i < options_.debug_tensor_watches.size(); ++i)
    metadata_.watched.emplace_back(options_.debug_tensor_watches[i], run.owned_result(watched_, i));
  *call.metadata = metadata_;
}

Run HookedSession::run(const RunCall& call) {
  if (trace_ == nullptr) return run_hooked(call);
  const std::int64_t start_ns = trace_->now_ns();
  Run run = run_hooked(call);
  trace_->add("step", "step", std::to_string(session_->global_step()), start_ns);
  trace_->flush();
  return run;
}

Run HookedSession::run_hooked(const RunCall& call) {
  check_may_run(call);
  const Flag running(running_);
  StepOfRun step(monitor_, monitor_ == nullptr ? -1 : session_->global_step());
  ThreadOfCalls thread;  // for the calls of all hooks together: they are many, and short
  RunContextState context;
  context.session = session_.get();
  context.number = ++runs_;
  context.original.fetches = call.fetches->outputs().data();
  context.original.n_fetches = call.fetches->outputs().size();
  context.original.feeds = call.feeds.data();
  context.original.n_feeds = call.feeds.size();
  belay_run_options original_options;
  if (call.options != nullptr) {
    original_options = detail::raw_options(*call.options);
    context.original.options = &original_options;
  }
  before_run(call, context, thread);
  merge_feeds(call);
  merge_options(call);
  Run run = run_raw(call, context);
  step.ran(*session_);
  if (log_ != nullptr && !run.finite()) say_what_is_not_finite(run);
  whole_ = false;
  after_run(context, run, thread);
  whole_ = true;
  if (hook_traces_ && events_ != nullptr) write_trace();
  if (context.stop_requested) latch_stop(context.stop_reason);
  const bool hooked = call.hooks == nullptr || !call.hooks->empty();
  if (hooked && saver_ != nullptr && saver_->due()) {
    const std::string stopping = saver_->at_boundary(*session_, hooks_);
    if (!stopping.empty()) request_stop(stopping, "asked to stop after a checkpoint");
  }
  return run;
}

// A step that a recovery repeats keeps its first trace.
void HookedSession::write_trace() {
  events_->add_step_trace(serialized_run_metadata(metadata_), std::max<std::int64_t>(session_->global_step(), 0));
}

// A NaN reaches the weights one step before the loss, and then it is everywhere.
void HookedSession::say_what_is_not_finite(const Run& run) {
  const std::string first = session_->first_not_finite(run);
  if (first.empty()) return;
  const std::int64_t step = session_->global_step();
  std::exchange(log_, nullptr)
      ->warning("", "the training is no longer finite" + (step < 0 ? "" : fmt::format(" after step {}", step)) +
                        "; first " + first);
}

std::any HookedSession::run_step_fn(const StepFn& step) {
  if (inner() == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  StepFnContext context(*session_, [this](const RunCall& call) { return run(call); });
  return step(context);
}

}  // namespace belay::runtime
