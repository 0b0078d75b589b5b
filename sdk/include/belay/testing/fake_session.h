// SPDX-License-Identifier: Apache-2.0
// Services "session" and "coordinator" without an engine: variables, raw runs that a test scripts, and the run of
// before_run and after_run.
//
//   FakeSession session(host, graph);
//   session.set_value("loss", 0.5f);                       // the value in a raw run of a declared tensor
//   session.variable("dense/w", Tensor({2}, {1.f, 2.f}));  // what Session::variables and assign see
//   session.on_run([](const FakeSession::RawRun& run) -> std::vector<Tensor> { ... });   // or anything
//
// The fake detects a Session that a plugin keeps after its callback, and a run that it keeps after after_run. The call
// fails, and the breach is recorded. Results of raw runs are overwritten when they are released.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/testing/fake_coordinator.h"
#include "belay/testing/fake_graph.h"

namespace belay {
inline namespace v0 {
namespace testing {

// Overwrites a tensor's elements, so later reads return nonsense: NaN, -1, "?".
inline void poison(Tensor& t) {
  if (t.dtype() == DType::kInvalid) return;
  if (t.dtype() == DType::kString) {
    for (std::size_t i = 0; i < t.size(); ++i) t.set_text(i, "?");
    return;
  }
  const TensorView view(t.view());
  if (view.bytes() != 0) std::memset(view.mutable_data(), 0xff, view.bytes());
}

class FakeSession {
 public:
  // A run with its request.
  struct RawRun {
    std::vector<std::string> fetches;
    std::map<std::string, Tensor> feeds;
    RunOptions options;
  };
  using RunFunction = std::function<std::vector<Tensor>(const RawRun&)>;

  FakeSession(FakeHost& host, FakeGraph& graph) : host_(host), graph_(graph), coordinator_(host) {
    host.set_service("session", &kSession);
  }
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;

  FakeCoordinator& coordinator() noexcept { return coordinator_; }
  const FakeCoordinator& coordinator() const noexcept { return coordinator_; }

  // ---- raw runs

  // Sets a value. The tensor must be declared, and the value must match it.
  void set_value(std::string_view tensor, Tensor value) {
    const belay_output o = graph_.resolve(tensor);
    graph_.check_value(o, value);
    const std::lock_guard lock(mutex_);
    values_.insert_or_assign(graph_.name_of(o), std::move(value));
  }
  // Returns the value of an output. An operation has none; a tensor without a value is an error.
  Tensor value(const belay_output& o) const {
    const std::string name = graph_.name_of(o);
    if (o.index == BELAY_OPERATION) return Tensor();
    const std::lock_guard lock(mutex_);
    const auto it = values_.find(name);
    if (it == values_.end())
      fail(Code::kFailedPrecondition, "'" + name + "' was fetched, but the test gave it no value");
    return it->second;
  }
  bool has_value(const belay_output& o) const {
    const std::lock_guard lock(mutex_);
    return values_.count(graph_.name_of(o)) != 0;
  }
  // Replaces the results of raw runs: the function returns one tensor per fetch, or throws.
  void on_run(RunFunction run) { on_run_ = std::move(run); }
  std::vector<RawRun> raw_runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }
  // Number of results that the plugin has not released.
  std::size_t open_results() const {
    const std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (const Result& r : results_) n += r.released ? 0 : 1;
    return n;
  }

  // ---- variables

  void variable(const std::string& name, Tensor initial_value, bool trainable = true, bool initialized = true) {
    variables_.push_back({name, std::move(initial_value), trainable, initialized, false});
  }
  const Tensor& variable_value(std::string_view name) const { return variables_[find_variable(name)].value; }
  // Names of the variables that were assigned to, in order.
  std::vector<std::string> assigned() const {
    std::vector<std::string> names;
    for (const Variable& v : variables_)
      if (v.assigned) names.push_back(v.name);
    return names;
  }

  // Sets the result of Session::global_step; -1: the graph has none.
  void set_global_step(std::int64_t step) { global_step_ = step; }

  // ---- for drivers

  // A session handle is valid until it is closed; every call of a plugin gets its own.
  belay_session* open_handle() { return reinterpret_cast<belay_session*>(&handles_.emplace_back(Handle{this, true})); }
  static void close_handle(belay_session* raw) noexcept { reinterpret_cast<Handle*>(raw)->open = false; }

  // The run that before_run and after_run see.
  struct Run {
    FakeSession* owner;
    belay_session* session;
    std::vector<belay_output> caller_fetches;
    bool open = true;
    bool stop_asked = false;
    std::string stop_reason;
    bool traced = false;
    std::int64_t number = 0;  // of the session's runs, from 1
    belay_run* raw() noexcept { return reinterpret_cast<belay_run*>(this); }
  };
  Run& open_run(std::vector<belay_output> caller_fetches) {
    return runs_seen_.emplace_back(
        Run{this, open_handle(), std::move(caller_fetches), true, false, {}, false, ++runs_of_session_});
  }
  // Sets the result of node_stats for a traced step, by declared tensor; an untraced step returns nothing.
  void node_stats(std::string_view tensor, std::string op, double start_seconds, double end_seconds,
                  std::uint64_t output_bytes = 0) {
    const belay_output o = graph_.resolve(tensor);
    const std::string full = graph_.name_of(o);
    node_texts_.push_back({full.substr(0, full.rfind(':')), std::move(op)});
    auto stats = detail::sized<belay_node_stats>();
    stats.name = detail::str(node_texts_.back().first);
    stats.op = detail::str(node_texts_.back().second);
    stats.start_ns = static_cast<std::int64_t>(start_seconds * 1e9);
    stats.end_ns = static_cast<std::int64_t>(end_seconds * 1e9);
    stats.output_bytes = output_bytes;
    stats.node = o.node;
    node_stats_.push_back(stats);
  }
  static void close_run(Run& run) noexcept {
    run.open = false;
    close_handle(run.session);
  }

 private:
  struct Variable {
    std::string name;
    Tensor value;
    bool trainable;
    bool initialized;
    bool assigned;
  };
  struct Handle {
    FakeSession* owner;
    bool open;
  };
  struct Result {
    FakeSession* owner;
    std::vector<Tensor> values;
    bool released = false;
  };

  std::size_t find_variable(std::string_view name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (variables_[i].name == name) return i;
      names.push_back(variables_[i].name);
    }
    const std::string known = nearest(name, names);
    fail(Code::kNotFound, "the session has no variable '" + std::string(name) + "'" +
                              (known.empty() ? "" : "; did you mean '" + known + "'?"));
  }
  static std::string text_of(const Tensor& t) { return std::string(dtype_name(t.dtype())) + " " + dims_text(t.dims()); }

  // ---- the table

  static FakeSession& owner(belay_session* raw) noexcept { return *reinterpret_cast<Handle*>(raw)->owner; }
  static FakeSession& require_open(belay_session* raw, const char* slot) {
    if (!reinterpret_cast<Handle*>(raw)->open) {
      const std::string text = std::string("session.") + slot + " was called on a session after the call that gave it";
      owner(raw).host_.note_breach(text);
      fail(Code::kFailedPrecondition, text);
    }
    return owner(raw);
  }
  static void note_if_closed(belay_session* raw, const char* slot) {
    try {
      require_open(raw, slot);
    } catch (const Error&) {  // recorded; this slot cannot report it
    }
  }
  static Run& require_open(belay_run* raw, const char* slot) noexcept {
    Run& run = *reinterpret_cast<Run*>(raw);
    if (!run.open) run.owner->host_.note_breach(std::string("session.") + slot + " was called on a run that is over");
    return run;
  }

  RawRun copy_request(const belay_run_args& args) const {
    RawRun run;
    for (std::uint64_t i = 0; i < args.n_fetches; ++i) run.fetches.push_back(graph_.name_of(args.fetches[i]));
    for (std::uint64_t i = 0; i < args.n_feeds; ++i)
      run.feeds.insert_or_assign(graph_.name_of(args.feeds[i].output), Tensor(TensorView(args.feeds[i].value)));
    run.options = detail::run_options(args.options);
    return run;
  }
  static std::int32_t run(belay_session* raw, const belay_run_args* args, belay_result** result, belay_status* status) {
    return detail::guard(status, [&] {
      FakeSession& self = require_open(raw, "run");
      belay_run_args room;
      const belay_run_args& asked = detail::read_sized(args, room);
      RawRun request = self.copy_request(asked);
      {
        const std::lock_guard lock(self.mutex_);
        self.runs_.push_back(request);
      }
      std::vector<Tensor> values;
      if (self.on_run_) {
        values = self.on_run_(request);
        if (values.size() != request.fetches.size())
          fail(Code::kInternal, "the test's on_run gave " + std::to_string(values.size()) + " values for " +
                                    std::to_string(request.fetches.size()) + " fetches");
      } else {
        for (std::uint64_t i = 0; i < asked.n_fetches; ++i) values.push_back(self.value(asked.fetches[i]));
      }
      const std::lock_guard lock(self.mutex_);
      *result = reinterpret_cast<belay_result*>(&self.results_.emplace_back(Result{&self, std::move(values), false}));
    });
  }
  static std::int32_t result_tensor(belay_result* raw, std::uint64_t i, belay_tensor* tensor, belay_status* status) {
    return detail::guard(status, [&] {
      const Result& result = *reinterpret_cast<Result*>(raw);
      if (result.released) fail(Code::kFailedPrecondition, "a raw run's result was read after its release");
      if (i >= result.values.size())
        fail(Code::kInvalidArgument, "the run has " + std::to_string(result.values.size()) +
                                         " results, there is no result " + std::to_string(i));
      const Tensor& value = result.values[static_cast<std::size_t>(i)];
      *tensor = value.dtype() == DType::kInvalid ? belay_tensor{} : value.view();
      tensor->flags |= BELAY_TENSOR_READ_ONLY;
    });
  }
  static void result_release(belay_result* raw) {
    Result& result = *reinterpret_cast<Result*>(raw);
    if (result.released) result.owner->host_.note_breach("a raw run's result was released twice");
    const std::lock_guard lock(result.owner->mutex_);
    result.released = true;
    for (Tensor& t : result.values) poison(t);
  }
  static belay_graph* get_graph(belay_session* raw) {
    note_if_closed(raw, "graph");
    return owner(raw).graph_.raw();
  }
  static std::uint64_t variable_count(belay_session* raw) {
    note_if_closed(raw, "variable_count");
    return owner(raw).variables_.size();
  }
  static std::int32_t variable_info(belay_session* raw, std::uint64_t i, belay_variable_info* info,
                                    belay_status* status) {
    return detail::guard(status, [&] {
      const FakeSession& self = require_open(raw, "variable_info");
      if (i >= self.variables_.size())
        fail(Code::kInvalidArgument, "the session has " + std::to_string(self.variables_.size()) +
                                         " variables, there is no variable " + std::to_string(i));
      const Variable& v = self.variables_[static_cast<std::size_t>(i)];
      auto ours = detail::sized<belay_variable_info>();
      ours.name = detail::str(v.name);
      ours.dtype = static_cast<std::int32_t>(v.value.dtype());
      ours.rank = static_cast<std::int32_t>(v.value.dims().size());
      ours.dims = v.value.dims().data();
      ours.trainable = v.trainable ? 1 : 0;
      ours.initialized = v.initialized ? 1 : 0;
      detail::fill_sized(info, ours);
    });
  }
  static std::int32_t assign(belay_session* raw, belay_str name, const belay_tensor* value, belay_status* status) {
    return detail::guard(status, [&] {
      FakeSession& self = require_open(raw, "assign");
      self.host_.require_thread("session.assign");
      Variable& v = self.variables_[self.find_variable(detail::view(name))];
      detail::check_tensor(*value);
      Tensor given{TensorView(*value)};
      if (given.dtype() != v.value.dtype() || given.dims() != v.value.dims())
        fail(Code::kInvalidArgument,
             "variable '" + v.name + "' is " + text_of(v.value) + ", the value is " + text_of(given));
      v.value = std::move(given);
      v.initialized = v.assigned = true;
    });
  }
  static belay_coordinator* get_coordinator(belay_session* raw) {
    note_if_closed(raw, "coordinator");
    return owner(raw).coordinator_.raw();
  }
  static belay_session* run_session(belay_run* raw) { return require_open(raw, "run_session").session; }
  static void run_request_stop(belay_run* raw, belay_str reason) {
    Run& run = require_open(raw, "run_request_stop");
    if (run.stop_asked) return;
    run.stop_asked = true;
    run.stop_reason = std::string(detail::view(reason));
  }
  static std::int32_t run_stop_requested(belay_run* raw) {
    return require_open(raw, "run_stop_requested").stop_asked ? 1 : 0;
  }
  static std::int32_t run_original_args(belay_run* raw, belay_run_args* args, belay_status* status) {
    return detail::guard(status, [&] {
      const Run& run = require_open(raw, "run_original_args");
      auto ours = detail::sized<belay_run_args>();
      ours.fetches = run.caller_fetches.data(), ours.n_fetches = run.caller_fetches.size();
      detail::fill_sized(args, ours);
    });
  }
  static std::uint64_t run_node_count(belay_run* raw) {
    const Run& run = require_open(raw, "run_node_count");
    return run.traced ? run.owner->node_stats_.size() : 0;
  }
  static std::int32_t run_node_stats(belay_run* raw, std::uint64_t i, belay_node_stats* stats, belay_status* status) {
    return detail::guard(status, [&] {
      const Run& run = require_open(raw, "run_node_stats");
      if (!run.traced || i >= run.owner->node_stats_.size())
        fail(Code::kInvalidArgument, "the run has no traced node " + std::to_string(i));
      detail::fill_sized(stats, run.owner->node_stats_[static_cast<std::size_t>(i)]);
    });
  }

  static std::int32_t get_global_step(belay_session* raw, std::int64_t* step, belay_status* status) {
    return detail::guard(status, [&] {
      note_if_closed(raw, "global_step");
      *step = owner(raw).global_step_;
      if (*step < 0) fail(Code::kNotFound, "the session has no global step");
    });
  }
  static std::int64_t run_number(belay_run* raw) { return require_open(raw, "run_number").number; }

  static constexpr belay_session_api kSession{sizeof(belay_session_api),
                                              0,
                                              &FakeSession::run,
                                              &FakeSession::result_tensor,
                                              &FakeSession::result_release,
                                              &FakeSession::get_graph,
                                              &FakeSession::variable_count,
                                              &FakeSession::variable_info,
                                              &FakeSession::assign,
                                              &FakeSession::get_coordinator,
                                              &FakeSession::run_session,
                                              &FakeSession::run_request_stop,
                                              &FakeSession::run_stop_requested,
                                              &FakeSession::run_original_args,
                                              &FakeSession::run_node_count,
                                              &FakeSession::run_node_stats,
                                              &FakeSession::get_global_step,
                                              &FakeSession::run_number};

  FakeHost& host_;
  FakeGraph& graph_;
  FakeCoordinator coordinator_;
  RunFunction on_run_;
  std::int64_t global_step_ = -1;
  std::int64_t runs_of_session_ = 0;
  mutable std::mutex mutex_;  // raw runs may come from a plugin's threads
  std::map<std::string, Tensor> values_;
  std::vector<RawRun> runs_;
  std::deque<Result> results_;  // kept after their release, to distinguish a late read from a wild pointer
  std::deque<Variable> variables_;
  std::deque<Handle> handles_;
  std::deque<Run> runs_seen_;
  std::deque<std::pair<std::string, std::string>> node_texts_;
  std::vector<belay_node_stats> node_stats_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
