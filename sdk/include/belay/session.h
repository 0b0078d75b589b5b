// SPDX-License-Identifier: Apache-2.0
// A plugin's view of a running session.
//
//   Session      raw runs, variables, the coordinator. It is valid for the callback that got it; a recovery makes a new
//                session.
//   RunContext   the run between before_run and after_run: the caller's request, request_stop.
//   RunArgs      the fetches, feeds and options that before_run returns.
//   RunValues    the results that after_run gets.
//   Coordinator  the stop flag and the threads of one session.
//
// Threads. Session::run, Session::value and all of Coordinator work on any thread. Everything else here is [session]:
// call it only inside a callback, on the callback's thread.
// Errors. A failed call of the host throws Error. The comments below name the code if a plugin can act on it.
//
//   belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
//   void after_run(belay::RunContext& run, const belay::RunValues& values) override {
//     if (values[loss_] > 10) run.request_stop("the loss is above 10");
//   }
//   void end(belay::Session& session) override {
//     host().info("mean " + std::to_string(session.value(mean_)));
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/graph.h"
#include "belay/nearest.h"

namespace belay {
inline namespace v0 {

// The options of TensorFlow's RunOptions for hooks. The host merges those of the caller and of all hooks: the larger
// number wins.
//
//   belay::RunOptions options;
//   options.trace_level = belay::RunOptions::Trace::kFull;
//   args.options(options);                                       // args: a RunArgs
struct RunOptions {
  // Any level but kNone records times and memory per node (RunContext::node_stats). All these levels record the same
  // data.
  enum class Trace : std::int32_t {
    kNone = BELAY_TRACE_NONE,
    kSoftware = BELAY_TRACE_SOFTWARE,
    kHardware = BELAY_TRACE_HARDWARE,
    kFull = BELAY_TRACE_FULL
  };
  Trace trace_level = Trace::kNone;
  // Time limit of the run in milliseconds; 0: no limit. A run that exceeds it fails with DEADLINE_EXCEEDED.
  std::int64_t timeout_ms = 0;
};

namespace detail {

// Converts options for a call of the host.
inline belay_run_options raw_options(const RunOptions& o) {
  auto raw = sized<belay_run_options>();
  raw.trace_level = static_cast<std::int32_t>(o.trace_level);
  raw.timeout_ms = o.timeout_ms;
  return raw;
}

// Converts options back. Null: the defaults.
inline RunOptions run_options(const belay_run_options* theirs) {
  RunOptions o;
  if (theirs == nullptr) return o;
  belay_run_options room;
  const belay_run_options& raw = read_sized(theirs, room);
  o.trace_level = static_cast<RunOptions::Trace>(raw.trace_level);
  o.timeout_ms = raw.timeout_ms;
  return o;
}

// Checks a pointer that a function of the host returned. A host without the function returns null: UNIMPLEMENTED.
template <class T>
T* given(T* p, const char* slot) {
  if (p == nullptr) fail(Code::kUnimplemented, std::string("the other side offers no '") + slot + "'");
  return p;
}

}  // namespace detail

// A reference to a value or operation to fetch. Output and Fetch<T> convert to it, so lists of fetches can mix them.
class FetchRef {
 public:
  FetchRef(const Output& o) noexcept : raw_(o.raw()) {}
  template <class T>
  FetchRef(const Fetch<T>& f) noexcept : raw_(f.raw()) {}
  // Returns the reference as it crosses the boundary. Valid as long as this object.
  const belay_output& raw() const noexcept { return raw_; }

 private:
  belay_output raw_;
};

// The request of one hook for the coming run. `return {};` asks for nothing, `return {loss_, step_};` for two values.
// Up to eight fetches need no allocation. The SDK keeps the returned object until the instance's next call.
//
//   belay::RunArgs args{loss_};
//   if (wants_gradients_) args.fetch(gradients_);
//   args.feed(dropout_rate_, belay::Tensor(0.f));
//   return args;
class RunArgs {
 public:
  // The constructor is not defaulted: `return {}` would clear all of inline_, in every step of every hook.
  RunArgs() noexcept {}
  // Asks for these values, in this order.
  RunArgs(std::initializer_list<FetchRef> fetches) {
    for (const FetchRef& f : fetches) fetch(f);
  }
  // A hook can build the object in a loop and return it. The move is not defaulted: it would copy unset elements.
  RunArgs(RunArgs&& o) noexcept : n_(o.n_), extras_(std::move(o.extras_)) {
    for (std::size_t i = 0; i < n_ && i < kInline; ++i) inline_[i] = o.inline_[i];
  }
  RunArgs& operator=(const RunArgs&) = delete;

  // Adds a fetch to the request. after_run reads its value with RunValues. A fetch never changes the training.
  RunArgs& fetch(const FetchRef& f) {
    if (n_ < kInline) {
      inline_[n_] = f.raw();
    } else {
      if (n_ == kInline) extras().fetches.assign(inline_, inline_ + kInline);
      extras_->fetches.push_back(f.raw());
    }
    ++n_;
    return *this;
  }
  // Overrides the output's value in this run; the object owns `value`. INVALID_ARGUMENT: another hook or the caller
  // feeds the same output. INVALID_ARGUMENT also: dtype or shape do not fit the output, or the output is an operation.
  RunArgs& feed(const Output& o, Tensor value) {
    extras().feeds.push_back({o.raw(), std::move(value)});
    return *this;
  }
  // Sets the options that this hook asks for. They apply to this run only.
  RunArgs& options(const RunOptions& o) {
    extras().options = detail::raw_options(o);
    extras_->has_options = true;
    return *this;
  }

  // Returns the request as it crosses the boundary. It points into this object: valid until the object changes or ends.
  belay_run_args raw() {
    auto out = detail::sized<belay_run_args>();
    write(out);
    return out;
  }
  // Writes the request into a struct of the host, which is empty except for its size.
  void write(belay_run_args& out) {
    out.fetches = fetches();
    out.n_fetches = n_;
    if (extras_ != nullptr) write_extras(out);
  }
  // True if there are feeds, options, or more fetches than fit into this object.
  bool has_extras() const noexcept { return extras_ != nullptr; }
  // Returns all fetches in their order, size() of them. Valid until the object changes or ends.
  const belay_output* fetches() const noexcept { return n_ <= kInline ? inline_ : extras_->fetches.data(); }
  // Number of fetches.
  std::size_t size() const noexcept { return n_; }

 private:
  static constexpr std::size_t kInline = 8;  // fetches that fit into the object
  // Requests that are rare: few hooks make them, and in few steps.
  struct Extras {
    std::vector<belay_output> fetches;  // all fetches, if they exceed kInline
    std::vector<std::pair<belay_output, Tensor>> feeds;
    std::vector<belay_feed> raw_feeds;
    bool has_options = false;
    belay_run_options options;
  };
  // The deleter is not inlined: it would be most of the registers that a step's callback saves and restores.
  struct DeleteExtras {
    __attribute__((noinline)) void operator()(Extras* extras) const noexcept { delete extras; }
  };
  // Adds long lists of fetches, feeds and options to `out`. They point into extras_.
  __attribute__((noinline)) void write_extras(belay_run_args& out) {
    extras_->raw_feeds.clear();
    for (const auto& [output, tensor] : extras_->feeds) extras_->raw_feeds.push_back({output, tensor.view()});
    out.feeds = extras_->raw_feeds.data();
    out.n_feeds = extras_->raw_feeds.size();
    if (extras_->has_options) out.options = &extras_->options;
  }
  // Returns the extras; the first call makes them.
  Extras& extras() {
    if (extras_ == nullptr) extras_.reset(new Extras);
    return *extras_;
  }

  belay_output inline_[kInline];
  std::size_t n_ = 0;
  std::unique_ptr<Extras, DeleteExtras> extras_;
};

// The values of a hook's own fetches, by fetch. It borrows: valid until after_run returns. Copy a value into a Tensor
// to keep it. A look-up compares at most size() fetches and allocates nothing.
//
//   const float loss = values[loss_];                            // Fetch<float>
//   const belay::TensorView image = values[image_];              // Output
//   if (values.has(gradients_)) kept_ = belay::Tensor(values[gradients_]);
class RunValues {
 public:
  // For the SDK. `results` and `fetches` have n elements each and must outlive this object. options null: the defaults.
  RunValues(const belay_tensor* results, const belay_output* fetches, std::size_t n,
            const belay_run_options* options = nullptr) noexcept
      : results_(results), fetches_(fetches), n_(n), options_(options) {}

  // Returns the fetched scalar. INVALID_ARGUMENT: before_run did not fetch it, its dtype is not T, or it is not one
  // element.
  template <class T>
  T operator[](const Fetch<T>& f) const {
    return at(f.raw()).template scalar<T>();
  }
  // Returns the fetched tensor, of the output's dtype and the run's shape. An operation has no value (has_value()).
  TensorView operator[](const Output& o) const { return at(o.raw()); }
  // Returns the whole tensor of a typed fetch. INVALID_ARGUMENT: before_run did not fetch it.
  template <class T>
  TensorView tensor(const Fetch<T>& f) const {
    return at(f.raw());
  }
  // True if before_run fetched this value in this run.
  bool has(const FetchRef& f) const noexcept { return index_of(f.raw()) != n_; }
  // Number of fetched values.
  std::size_t size() const noexcept { return n_; }
  // Returns value i in the order of the fetches, 0 <= i < size(). The index is not checked.
  TensorView result(std::size_t i) const noexcept { return TensorView(results_[i]); }
  // The options of this run: the caller's and all hooks', merged. RunContext has the caller's alone.
  RunOptions options() const { return detail::run_options(options_); }

 private:
  // Position of the output among the fetches; n_: it was not fetched.
  std::size_t index_of(const belay_output& o) const noexcept {
    std::size_t i = 0;
    while (i < n_ && !(fetches_[i].node == o.node && fetches_[i].index == o.index && fetches_[i].graph == o.graph)) ++i;
    return i;
  }
  // Result of the output. INVALID_ARGUMENT: it was not fetched.
  TensorView at(const belay_output& o) const {
    const std::size_t i = index_of(o);
    if (i == n_) fail(Code::kInvalidArgument, "after_run asked for a value that before_run did not fetch");
    return TensorView(results_[i]);
  }

  const belay_tensor* results_;
  const belay_output* fetches_;
  std::size_t n_;
  const belay_run_options* options_;
};

// The results of a raw run, in the order of its fetches. It owns them; views of them are valid as long as this object.
// It must end before the callback returns.
//
//   const belay::RunResult result = session.run({mean_, variance_});
//   const double mean = result[0].number(0);
//   const float variance = result[variance_];                    // Fetch<float>
class RunResult {
 public:
  // For the SDK. Takes over `raw`, the result of a call of `api`.
  RunResult(const belay_session_api* api, belay_result* raw, std::vector<belay_output> fetches)
      : api_(api), raw_(raw), fetches_(std::move(fetches)) {}
  RunResult(RunResult&& o) noexcept
      : api_(o.api_), raw_(std::exchange(o.raw_, nullptr)), fetches_(std::move(o.fetches_)) {}
  RunResult& operator=(RunResult&&) = delete;
  ~RunResult() {
    if (raw_ != nullptr) api_->result_release(raw_);
  }
  // Returns result i as a view. INVALID_ARGUMENT: i >= size().
  TensorView operator[](std::size_t i) const {
    belay_tensor t{};
    detail::Status status;
    status.check(api_->result_tensor(raw_, i, &t, status));
    return TensorView(t);
  }
  // Returns the scalar of a typed fetch. INVALID_ARGUMENT: the run did not fetch it, its dtype is not T, or it is not
  // one element.
  template <class T>
  T operator[](const Fetch<T>& f) const {
    for (std::size_t i = 0; i < fetches_.size(); ++i)
      if (fetches_[i].node == f.raw().node && fetches_[i].index == f.raw().index)
        return (*this)[i].template scalar<T>();
    fail(Code::kInvalidArgument, "the run did not fetch this value");
  }
  // Number of results.
  std::size_t size() const noexcept { return fetches_.size(); }

 private:
  const belay_session_api* api_;
  belay_result* raw_;
  std::vector<belay_output> fetches_;
};

// Fetches by names that the caller chooses: TensorFlow's dictionary of fetches. Session::run also takes other maps, and
// lists of pairs.
using NamedFetches = std::map<std::string, FetchRef>;

// The results of such a run, by these names. It owns them.
//
//   const NamedResult values = session.run({{"loss", loss}, {"step", step}});
//   const float now = values["loss"].scalar<float>();
class NamedResult {
 public:
  NamedResult(std::vector<std::string> names, RunResult values)
      : names_(std::move(names)), values_(std::move(values)) {}

  // Returns the value of a name, valid as long as this object. An operation has no value. INVALID_ARGUMENT, with the
  // nearest name: the run did not fetch this name.
  TensorView operator[](std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return values_[i];
    fail(Code::kInvalidArgument, "the run fetched nothing as '" + std::string(name) + "'" + did_you_mean(name, names_));
  }
  // The names in the order of the fetches.
  const std::vector<std::string>& names() const noexcept { return names_; }
  // Number of results.
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::vector<std::string> names_;
  RunResult values_;
};

namespace detail {

// Detects names with fetches: a map, or a list of pairs.
template <class T>
using IfNamesFetches = std::void_t<decltype(std::string(std::declval<const T&>().begin()->first)),
                                   decltype(FetchRef(std::declval<const T&>().begin()->second))>;

// Makes a run of a list of fetches into a run by names. `run` takes the list and returns a RunResult.
template <class Names, class Run>
NamedResult run_by_name(const Names& fetches, const Run& run) {
  std::vector<std::string> names;
  std::vector<FetchRef> list;
  for (const auto& [name, fetch] : fetches) {
    names.emplace_back(name);
    list.emplace_back(fetch);
  }
  return NamedResult(std::move(names), run(list));
}

}  // namespace detail

// The stop flag and the registered threads of one session. A copy refers to the same session. It is valid until the
// session has closed, and works on any thread. A thread that works during the steps registers itself and ends when a
// stop is requested:
//
//   void after_create_session(belay::Session& session) override {
//     session.coordinator().register_thread("poll", *this);       // this class has join
//     thread_ = std::thread([this, c = session.coordinator()] {
//       while (!c.wait_for_stop(std::chrono::seconds(1))) poll();
//     });
//   }
class Coordinator {
 public:
  // For the SDK: Session::coordinator makes it.
  Coordinator(const belay_coordinator_api* api, belay_coordinator* self) noexcept : api_(api), self_(self) {}
  // True if a stop was requested here, an error was reported, or the session closes. A hook's RunContext::request_stop
  // shows here when the session closes.
  bool should_stop() const { return api_->should_stop(self_) != 0; }
  // Asks the session to stop at a step's boundary, without an error. The user reads the reason (at most 4,096 bytes) of
  // the first request. The host refuses the request before [run] min_steps. After the session has closed the call does
  // nothing.
  void request_stop(std::string_view reason) const { api_->request_stop(self_, BELAY_OK, detail::str(reason)); }
  // Reports an error of a thread: the close of the session throws it. ABORTED and UNAVAILABLE make the session recover
  // instead.
  void request_stop(const Error& error) const {
    api_->request_stop(self_, static_cast<std::int32_t>(error.code()), detail::str(error.message()));
  }
  // Waits until a stop is requested, at most `timeout` (negative: no limit). Returns should_stop(). Use it in place of
  // sleep in a thread.
  bool wait_for_stop(std::chrono::nanoseconds timeout) const {
    return api_->wait_for_stop(self_, timeout.count()) != 0;
  }
  // Registers a thread; the session waits for it when it closes. `thread` has `bool join(std::chrono::nanoseconds
  // timeout)`. join waits at most `timeout` and returns whether the thread has ended. An exception of join is the
  // thread's error; it leaves the session as if request_stop had got it. The thread that closes the session calls join
  // repeatedly until the grace period is over. It does not call join after join has returned true or thrown. `thread`
  // must live until then, or until unregister_thread; `name` is copied. FAILED_PRECONDITION: the session has no
  // coordinator.
  template <class T>
  void register_thread(std::string_view name, T& thread) const {
    const auto join = [](void* arg, std::int64_t timeout_ns, belay_status* status) noexcept -> std::int32_t {
      bool ended = false;
      const std::int32_t code =
          detail::guard(status, [&] { ended = static_cast<T*>(arg)->join(std::chrono::nanoseconds(timeout_ns)); });
      return code != BELAY_OK || ended ? code : BELAY_DEADLINE_EXCEEDED;
    };
    detail::Status status;
    status.check(api_->register_thread(self_, detail::str(name), join, &thread, status));
  }
  // Removes the registration. It returns when no join of this thread is in progress. Do not call it from inside that
  // join. NOT_FOUND: the thread is not registered, or its join was called for the last time.
  template <class T>
  void unregister_thread(T& thread) const {
    detail::Status status;
    status.check(api_->unregister_thread(self_, &thread, status));
  }

 private:
  const belay_coordinator_api* api_;
  belay_coordinator* self_;
};

// The description of a variable, as Session::variables returns it. It owns its data, so a hook may keep it after the
// callback.
struct VariableInfo {
  std::string name;  // full name with scopes, as checkpoints have it
  DType dtype;
  Dims dims;         // known dimensions, outermost first
  bool trainable;    // the optimizer may change it
  bool initialized;  // it has a value: from an initializer, a checkpoint or assign
};

// A handle of a session; it owns nothing. Copies are cheap. It is valid for the callback that got it.
//
//   for (const belay::VariableInfo& v : session.variables())
//     if (v.dtype == belay::DType::kFloat32) session.assign(v.name, belay::Tensor(v.dtype, v.dims));  // zeros
//   const float loss = session.value(loss_);                     // a raw run
class Session {
 public:
  // For the SDK. `services` must outlive the handle.
  Session(const detail::Services* services, belay_session* self) noexcept : s_(services), self_(self) {}

  // Makes a raw run: no hook sees it, and the step count of hooks does not change. The result has one value per fetch,
  // in order. `feeds` replace the values of outputs in this run. [any] Errors are those of the run: an operation's
  // error with its node, DEADLINE_EXCEEDED, CANCELLED. INVALID_ARGUMENT: a fetch or feed is of another graph, a feed
  // does not fit, or an output is fed twice.
  RunResult run(const std::vector<FetchRef>& fetches, const std::vector<std::pair<Output, Tensor>>& feeds = {},
                const RunOptions& options = {}) const {
    std::vector<belay_output> outputs;
    outputs.reserve(fetches.size());
    for (const FetchRef& f : fetches) outputs.push_back(f.raw());
    std::vector<belay_feed> raw_feeds;
    raw_feeds.reserve(feeds.size());
    for (const auto& [output, tensor] : feeds) raw_feeds.push_back({output.raw(), tensor.view()});
    const belay_run_options raw_options = detail::raw_options(options);
    auto args = detail::sized<belay_run_args>();
    args.fetches = outputs.data(), args.n_fetches = outputs.size();
    args.feeds = raw_feeds.data(), args.n_feeds = raw_feeds.size();
    args.options = &raw_options;
    belay_result* result = nullptr;
    detail::Status status;
    status.check(s_->session.run(self_, &args, &result, status));
    return RunResult(&s_->session, result, std::move(outputs));
  }
  // Makes the same run with names. `fetches` maps names to fetches; the result has the values by these names.
  template <class Names = NamedFetches, class = detail::IfNamesFetches<Names>>
  NamedResult run(const Names& fetches, const std::vector<std::pair<Output, Tensor>>& feeds = {},
                  const RunOptions& options = {}) const {
    return detail::run_by_name(fetches, [&](const std::vector<FetchRef>& list) { return run(list, feeds, options); });
  }
  // Fetches one scalar by a raw run. INVALID_ARGUMENT: it is not one element of dtype T. [any]
  template <class T>
  T value(const Fetch<T>& f) const {
    return run({f})[0].template scalar<T>();
  }

  // The session's graph, frozen. Valid as long as the session.
  Graph graph() const { return Graph(&s_->graph, detail::given(s_->session.graph(self_), "session.graph")); }
  // Describes the saved (global) variables, in a fixed order. The result is a copy; local variables are not in it.
  std::vector<VariableInfo> variables() const {
    std::vector<VariableInfo> out;
    for (std::uint64_t i = 0, n = s_->session.variable_count(self_); i < n; ++i) {
      auto v = detail::sized<belay_variable_info>();
      detail::Status status;
      status.check(s_->session.variable_info(self_, i, &v, status));
      out.push_back({std::string(detail::view(v.name)), static_cast<DType>(v.dtype),
                     v.rank == 0 ? Dims{} : Dims(v.dims, v.dims + v.rank), v.trainable != 0, v.initialized != 0});
    }
    return out;
  }
  // Sets a variable and marks it as initialized. `value` is copied. NOT_FOUND, with the nearest name: the name is
  // unknown. INVALID_ARGUMENT, with both sides: dtype or shape differ, or a global step below 0.
  void assign(std::string_view variable, const TensorView& value) const {
    detail::Status status;
    status.check(s_->session.assign(self_, detail::str(variable), &value.raw(), status));
  }
  // Returns the global step of the last committed run, without a run. It is empty if the graph has no global step, or
  // the step is not initialized yet.
  std::optional<std::int64_t> global_step() const {
    std::int64_t step = 0;
    detail::Status status;
    const std::int32_t code = s_->session.global_step(self_, &step, status);
    if (code == BELAY_NOT_FOUND) return std::nullopt;
    status.check(code);
    return step;
  }
  // Returns the session's coordinator, valid until the session has closed. UNIMPLEMENTED: the session has none.
  Coordinator coordinator() const {
    return Coordinator(&s_->coordinator, detail::given(s_->session.coordinator(self_), "session.coordinator"));
  }
  // Returns the handle as it crosses the boundary, for a call of the C functions. Valid for the callback that got the
  // session.
  belay_session* raw() const noexcept { return self_; }

 private:
  const detail::Services* s_;
  belay_session* self_;
};

// The work of one node in a traced run (belay_node_stats). Nodes that were computed together share one entry. The
// strings are the graph's own and valid as long as the graph.
struct NodeStats {
  std::string_view name;           // "scope/node"
  std::string_view op;             // operation; "Fused..." if several nodes were computed together
  std::chrono::nanoseconds start;  // of the host's monotonic clock
  std::chrono::nanoseconds end;
  std::uint64_t output_bytes;  // memory that the run itself holds for the node's outputs
  Output output;               // the node's first output
};

// One run as a hook sees it, in before_run and after_run. It is valid for the callback. All calls are [session].
//
//   for (const belay::NodeStats& s : run.node_stats())
//     host().info(std::string(s.name) + " " + std::to_string((s.end - s.start).count()) + " ns");
class RunContext {
 public:
  RunContext(const detail::Services* services, belay_run* self) noexcept : s_(services), self_(self) {}

  // Number of this run in its session, from 1. A recovery starts again at 1.
  std::int64_t number() const { return s_->session.run_number(self_); }
  // Returns the raw session: hooks do not see runs that it makes.
  Session session() const { return Session(s_, detail::given(s_->session.run_session(self_), "session.run_session")); }
  // Stops the session after this run's after_run calls. The user reads the reason; the first reason counts. The host
  // refuses the request before [run] min_steps: ask again while the reason holds.
  void request_stop(std::string_view reason) { s_->session.run_request_stop(self_, detail::str(reason)); }
  // True if any hook has asked in this run.
  bool stop_requested() const { return s_->session.run_stop_requested(self_) != 0; }
  // The caller's own fetches, without those of the hooks.
  std::vector<Output> original_fetches() const {
    const belay_run_args args = original();
    const Graph g = session().graph();
    std::vector<Output> out;
    for (std::uint64_t i = 0; i < args.n_fetches; ++i) out.push_back(g.output(args.fetches[i]));
    return out;
  }
  // The caller's own feeds, without those of the hooks. The views are valid for the callback.
  std::vector<std::pair<Output, TensorView>> original_feeds() const {
    const belay_run_args args = original();
    const Graph g = session().graph();
    std::vector<std::pair<Output, TensorView>> out;
    for (std::uint64_t i = 0; i < args.n_feeds; ++i)
      out.emplace_back(g.output(args.feeds[i].output), TensorView(args.feeds[i].value));
    return out;
  }
  // The caller's own options. The host merges the hooks' options into a copy of them.
  RunOptions original_options() const { return detail::run_options(original().options); }
  // In after_run: the work of the nodes, in the order of their start. It is empty unless the caller or a hook asked for
  // a trace level.
  std::vector<NodeStats> node_stats() const {
    const Graph g = session().graph();
    const std::uint64_t serial = g.serial();
    std::vector<NodeStats> out;
    for (std::uint64_t i = 0, n = s_->session.run_node_count(self_); i < n; ++i) {
      auto stats = detail::sized<belay_node_stats>();
      detail::Status status;
      status.check(s_->session.run_node_stats(self_, i, &stats, status));
      out.push_back({detail::view(stats.name), detail::view(stats.op), std::chrono::nanoseconds(stats.start_ns),
                     std::chrono::nanoseconds(stats.end_ns), stats.output_bytes, g.output({serial, stats.node, 0})});
    }
    return out;
  }

 private:
  // The caller's request. Its pointers are valid for the callback.
  belay_run_args original() const {
    auto args = detail::sized<belay_run_args>();
    detail::Status status;
    status.check(s_->session.run_original_args(self_, &args, status));
    return args;
  }

  const detail::Services* s_;
  belay_run* self_;
};

}  // namespace v0
}  // namespace belay
