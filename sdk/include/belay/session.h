// SPDX-License-Identifier: Apache-2.0
// What a plugin sees of a running session.
//
//   Session      raw runs, variables, the coordinator. Valid for the callback that got it: a recovery makes a new one.
//   RunContext   the run between before_run and after_run: the caller's request, request_stop.
//   RunArgs      what before_run asks for.   RunValues   what after_run gets.
//   Coordinator  the stop flag and the threads of one session.
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

// What TensorFlow's RunOptions have for hooks. The host merges those of all hooks and the caller: the larger number.
struct RunOptions {
  enum class Trace : std::int32_t {
    kNone = BELAY_TRACE_NONE,
    kSoftware = BELAY_TRACE_SOFTWARE,
    kHardware = BELAY_TRACE_HARDWARE,
    kFull = BELAY_TRACE_FULL
  };
  Trace trace_level = Trace::kNone;
  std::int64_t timeout_ms = 0;  // 0: none
};

namespace detail {

// RunOptions as they cross.
inline belay_run_options raw_options(const RunOptions& o) {
  auto raw = sized<belay_run_options>();
  raw.trace_level = static_cast<std::int32_t>(o.trace_level);
  raw.timeout_ms = o.timeout_ms;
  return raw;
}

// And back; null: the defaults.
inline RunOptions run_options(const belay_run_options* theirs) {
  RunOptions o;
  if (theirs == nullptr) return o;
  belay_run_options room;
  const belay_run_options& raw = read_sized(theirs, room);
  o.trace_level = static_cast<RunOptions::Trace>(raw.trace_level);
  o.timeout_ms = raw.timeout_ms;
  return o;
}

// What a host's function returned. One that the host lacks returns null, which must not be handed on.
template <class T>
T* given(T* p, const char* slot) {
  if (p == nullptr) fail(Code::kUnimplemented, std::string("the other side offers no '") + slot + "'");
  return p;
}

}  // namespace detail

// Anything that can be fetched.
class FetchRef {
 public:
  FetchRef(const Output& o) noexcept : raw_(o.raw()) {}
  template <class T>
  FetchRef(const Fetch<T>& f) noexcept : raw_(f.raw()) {}
  const belay_output& raw() const noexcept { return raw_; }

 private:
  belay_output raw_;
};

// What one hook wants of the coming run. `return {};` asks for nothing, `return {loss_, step_};` for two values. Up to
// eight fetches need no memory of their own.
class RunArgs {
 public:
  RunArgs() noexcept {}  // not defaulted: `return {}` would clear all of inline_, in every step of every hook
  RunArgs(std::initializer_list<FetchRef> fetches) {
    for (const FetchRef& f : fetches) fetch(f);
  }
  // So that a hook can build one in a loop and return it. Not defaulted: it would copy what was never set.
  RunArgs(RunArgs&& o) noexcept : n_(o.n_), extras_(std::move(o.extras_)) {
    for (std::size_t i = 0; i < n_ && i < kInline; ++i) inline_[i] = o.inline_[i];
  }
  RunArgs& operator=(const RunArgs&) = delete;

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
  // Overrides the output's value in this run. Two that feed the same output, or a hook and the caller: an error.
  RunArgs& feed(const Output& o, Tensor value) {
    extras().feeds.push_back({o.raw(), std::move(value)});
    return *this;
  }
  RunArgs& options(const RunOptions& o) {
    extras().options = detail::raw_options(o);
    extras_->has_options = true;
    return *this;
  }

  // As it crosses. Pointers into this object: valid while it lives and does not change.
  belay_run_args raw() {
    auto out = detail::sized<belay_run_args>();
    write(out);
    return out;
  }
  // The same into a struct of the host's, which is empty but for its size.
  void write(belay_run_args& out) {
    out.fetches = fetches();
    out.n_fetches = n_;
    if (extras_ != nullptr) write_extras(out);
  }
  bool has_extras() const noexcept {
    return extras_ != nullptr;
  }  // feeds, options, or more fetches than have room here
  const belay_output* fetches() const noexcept { return n_ <= kInline ? inline_ : extras_->fetches.data(); }
  std::size_t size() const noexcept { return n_; }

 private:
  static constexpr std::size_t kInline = 8;
  // What few hooks ask for, and in few steps.
  struct Extras {
    std::vector<belay_output> fetches;  // all of them where they are more than kInline
    std::vector<std::pair<belay_output, Tensor>> feeds;
    std::vector<belay_feed> raw_feeds;
    bool has_options = false;
    belay_run_options options;
  };
  // Out of line: inlined, it is most of what a step's callback would save and restore.
  struct DeleteExtras {
    __attribute__((noinline)) void operator()(Extras* extras) const noexcept { delete extras; }
  };
  __attribute__((noinline)) void write_extras(belay_run_args& out) {
    extras_->raw_feeds.clear();
    for (const auto& [output, tensor] : extras_->feeds) extras_->raw_feeds.push_back({output, tensor.view()});
    out.feeds = extras_->raw_feeds.data();
    out.n_feeds = extras_->raw_feeds.size();
    if (extras_->has_options) out.options = &extras_->options;
  }
  Extras& extras() {
    if (extras_ == nullptr) extras_.reset(new Extras);
    return *extras_;
  }

  belay_output inline_[kInline];
  std::size_t n_ = 0;
  std::unique_ptr<Extras, DeleteExtras> extras_;
};

// The values that came back, by fetch. Valid for the after_run call.
class RunValues {
 public:
  RunValues(const belay_tensor* results, const belay_output* fetches, std::size_t n,
            const belay_run_options* options = nullptr) noexcept
      : results_(results), fetches_(fetches), n_(n), options_(options) {}

  template <class T>
  T operator[](const Fetch<T>& f) const {
    return at(f.raw()).template scalar<T>();
  }
  TensorView operator[](const Output& o) const { return at(o.raw()); }
  template <class T>
  TensorView tensor(const Fetch<T>& f) const {
    return at(f.raw());
  }
  // Whether this run was asked for it.
  bool has(const FetchRef& f) const noexcept { return index_of(f.raw()) != n_; }
  std::size_t size() const noexcept { return n_; }
  TensorView result(std::size_t i) const noexcept { return TensorView(results_[i]); }
  // Those that the run was made with: the caller's and those of all hooks, merged. RunContext has the caller's alone.
  RunOptions options() const { return detail::run_options(options_); }

 private:
  std::size_t index_of(const belay_output& o) const noexcept {
    std::size_t i = 0;
    while (i < n_ && !(fetches_[i].node == o.node && fetches_[i].index == o.index && fetches_[i].graph == o.graph)) ++i;
    return i;
  }
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

// Results of a raw run, in the order of its fetches. Owns them.
class RunResult {
 public:
  RunResult(const belay_session_api* api, belay_result* raw, std::vector<belay_output> fetches)
      : api_(api), raw_(raw), fetches_(std::move(fetches)) {}
  RunResult(RunResult&& o) noexcept
      : api_(o.api_), raw_(std::exchange(o.raw_, nullptr)), fetches_(std::move(o.fetches_)) {}
  RunResult& operator=(RunResult&&) = delete;
  ~RunResult() {
    if (raw_ != nullptr) api_->result_release(raw_);
  }
  TensorView operator[](std::size_t i) const {
    belay_tensor t{};
    detail::Status status;
    status.check(api_->result_tensor(raw_, i, &t, status));
    return TensorView(t);
  }
  template <class T>
  T operator[](const Fetch<T>& f) const {
    for (std::size_t i = 0; i < fetches_.size(); ++i)
      if (fetches_[i].node == f.raw().node && fetches_[i].index == f.raw().index)
        return (*this)[i].template scalar<T>();
    fail(Code::kInvalidArgument, "the run did not fetch this value");
  }
  std::size_t size() const noexcept { return fetches_.size(); }

 private:
  const belay_session_api* api_;
  belay_result* raw_;
  std::vector<belay_output> fetches_;
};

// Fetches by names that the caller chooses: TensorFlow's dictionary of fetches. Any map or list of pairs will do.
using NamedFetches = std::map<std::string, FetchRef>;

// Results of such a run, by these names. Owns them.
//
//   const NamedResult values = session.run({{"loss", loss}, {"step", step}});
//   const float now = values["loss"].scalar<float>();
class NamedResult {
 public:
  NamedResult(std::vector<std::string> names, RunResult values)
      : names_(std::move(names)), values_(std::move(values)) {}

  // Valid as long as this object; without a value for an operation. INVALID_ARGUMENT, with the nearest name, for one
  // that was not fetched.
  TensorView operator[](std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return values_[i];
    fail(Code::kInvalidArgument, "the run fetched nothing as '" + std::string(name) + "'" + did_you_mean(name, names_));
  }
  // In the order of the fetches.
  const std::vector<std::string>& names() const noexcept { return names_; }
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::vector<std::string> names_;
  RunResult values_;
};

namespace detail {

// Names with fetches: a map, or a list of pairs.
template <class T>
using IfNamesFetches = std::void_t<decltype(std::string(std::declval<const T&>().begin()->first)),
                                   decltype(FetchRef(std::declval<const T&>().begin()->second))>;

// `run` takes the fetches as a list.
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

class Coordinator {
 public:
  Coordinator(const belay_coordinator_api* api, belay_coordinator* self) noexcept : api_(api), self_(self) {}
  bool should_stop() const { return api_->should_stop(self_) != 0; }
  void request_stop(std::string_view reason) const { api_->request_stop(self_, BELAY_OK, detail::str(reason)); }
  // The error leaves the session where it is closed. Aborted and Unavailable make the session recover instead.
  void request_stop(const Error& error) const {
    api_->request_stop(self_, static_cast<std::int32_t>(error.code()), detail::str(error.message()));
  }
  // Waits for a stop, at most `timeout`; returns should_stop().
  bool wait_for_stop(std::chrono::nanoseconds timeout) const {
    return api_->wait_for_stop(self_, timeout.count()) != 0;
  }
  // A thread that the session waits for when it closes. `thread` has `bool join(std::chrono::nanoseconds timeout)`,
  // which waits at most that long and returns whether the thread has ended; what it throws is the thread's error, and
  // leaves the session as if it had been passed to request_stop. It is called from the thread that closes the session,
  // again and again until the grace period is over, and not after it has returned true or thrown. `thread` lives until
  // then, or until unregister_thread.
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
  // The session forgets it; returns when no join of it is under way. NOT_FOUND: it was never registered, or its join
  // was called for the last time. Not from inside its join.
  template <class T>
  void unregister_thread(T& thread) const {
    detail::Status status;
    status.check(api_->unregister_thread(self_, &thread, status));
  }

 private:
  const belay_coordinator_api* api_;
  belay_coordinator* self_;
};

struct VariableInfo {
  std::string name;
  DType dtype;
  Dims dims;
  bool trainable;
  bool initialized;
};

class Session {
 public:
  Session(const detail::Services* services, belay_session* self) noexcept : s_(services), self_(self) {}

  // A raw run, without hooks. [any]
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
  // The same by name: a map of names to fetches gives the values by these names.
  template <class Names = NamedFetches, class = detail::IfNamesFetches<Names>>
  NamedResult run(const Names& fetches, const std::vector<std::pair<Output, Tensor>>& feeds = {},
                  const RunOptions& options = {}) const {
    return detail::run_by_name(fetches, [&](const std::vector<FetchRef>& list) { return run(list, feeds, options); });
  }
  // Fetches one scalar by a raw run.
  template <class T>
  T value(const Fetch<T>& f) const {
    return run({f})[0].template scalar<T>();
  }

  Graph graph() const { return Graph(&s_->graph, detail::given(s_->session.graph(self_), "session.graph")); }
  // The saved variables, in a fixed order.
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
  // Sets a variable; a wrong name, dtype or shape is an error that names both sides.
  void assign(std::string_view variable, const TensorView& value) const {
    detail::Status status;
    status.check(s_->session.assign(self_, detail::str(variable), &value.raw(), status));
  }
  // As of the last run that was committed, read without a run. Nothing where the graph has no global step, or it is not
  // initialized yet.
  std::optional<std::int64_t> global_step() const {
    std::int64_t step = 0;
    detail::Status status;
    const std::int32_t code = s_->session.global_step(self_, &step, status);
    if (code == BELAY_NOT_FOUND) return std::nullopt;
    status.check(code);
    return step;
  }
  Coordinator coordinator() const {
    return Coordinator(&s_->coordinator, detail::given(s_->session.coordinator(self_), "session.coordinator"));
  }
  belay_session* raw() const noexcept { return self_; }

 private:
  const detail::Services* s_;
  belay_session* self_;
};

// What one node did in a traced run; see belay_node_stats. The strings are views of the graph's own.
struct NodeStats {
  std::string_view name;
  std::string_view op;
  std::chrono::nanoseconds start;
  std::chrono::nanoseconds end;
  std::uint64_t output_bytes;
  Output output;  // the node's first one
};

class RunContext {
 public:
  RunContext(const detail::Services* services, belay_run* self) noexcept : s_(services), self_(self) {}

  // Which run of its session this is, from 1; a recovery begins again.
  std::int64_t number() const { return s_->session.run_number(self_); }
  // The raw session: runs through it trigger no hooks.
  Session session() const { return Session(s_, detail::given(s_->session.run_session(self_), "session.run_session")); }
  // The session stops after this run's after_run calls. The reason is what the user reads at the end.
  void request_stop(std::string_view reason) { s_->session.run_request_stop(self_, detail::str(reason)); }
  bool stop_requested() const { return s_->session.run_stop_requested(self_) != 0; }
  // The caller's own fetches, without those of the hooks.
  std::vector<Output> original_fetches() const {
    const belay_run_args args = original();
    const Graph g = session().graph();
    std::vector<Output> out;
    for (std::uint64_t i = 0; i < args.n_fetches; ++i) out.push_back(g.output(args.fetches[i]));
    return out;
  }
  // What the caller feeds, without what the hooks do. The views live for the callback.
  std::vector<std::pair<Output, TensorView>> original_feeds() const {
    const belay_run_args args = original();
    const Graph g = session().graph();
    std::vector<std::pair<Output, TensorView>> out;
    for (std::uint64_t i = 0; i < args.n_feeds; ++i)
      out.emplace_back(g.output(args.feeds[i].output), TensorView(args.feeds[i].value));
    return out;
  }
  // The caller's own options; what the hooks ask for is merged into a copy of them.
  RunOptions original_options() const { return detail::run_options(original().options); }
  // In after_run: what the nodes did, in the order of their start. Empty unless somebody asked for a trace level.
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
