// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_service.h"

#include <fmt/core.h>

#include <mutex>

#include "runtime/graph/graph_service.h"
#include "runtime/platform/log/plugin_words.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/process/current_error.h"
#include "runtime/platform/process/current_plugin.h"
#include "runtime/platform/text/text.h"
#include "runtime/session/run_context.h"

namespace belay::runtime {
namespace {

using detail::guard;
using detail::view;

struct Result {
  FetchSet fetches;
  std::optional<Run> run;
};

std::int32_t run(belay_session* session, const belay_run_args* args, belay_result** result, belay_status* status) {
  return guard(status, [&] {
    belay_run_args room;
    const belay_run_args& a = detail::read_sized(args, room);
    detail::check_list("fetches", a.fetches, a.n_fetches);
    detail::check_list("feeds", a.feeds, a.n_feeds);
    auto made = std::make_unique<Result>();
    made->fetches = FetchSet(a.fetches, a.n_fetches);
    RunRequest request;
    request.fetches = &made->fetches;
    request.feeds = {a.feeds, a.n_feeds};
    for (const belay_feed& feed : request.feeds) detail::check_tensor(feed.value);
    const RunOptions options = detail::run_options(a.options);
    request.timeout_ms = options.timeout_ms;
    request.trace_level = static_cast<std::int32_t>(options.trace_level);
    made->run.emplace(from_handle(session).run(request));
    *result = reinterpret_cast<belay_result*>(made.release());
  });
}

std::int32_t result_tensor(belay_result* result, std::uint64_t i, belay_tensor* tensor, belay_status* status) {
  return guard(status, [&] {
    const Result& r = *reinterpret_cast<Result*>(result);
    if (i >= r.fetches.outputs().size())
      fail(Code::kInvalidArgument,
           fmt::format("[B5074] the run has {} results, there is no result {}", r.fetches.outputs().size(), i));
    *tensor = r.run->result(r.fetches, i);
  });
}

void result_release(belay_result* result) { delete reinterpret_cast<Result*>(result); }

belay_graph* graph(belay_session* session) { return to_handle(&from_handle(session).graph()); }

std::uint64_t variable_count(belay_session* session) { return from_handle(session).variables().size(); }

std::int32_t variable_info(belay_session* session, std::uint64_t i, belay_variable_info* info, belay_status* status) {
  return guard(status, [&] {
    const auto& variables = from_handle(session).variables();
    if (i >= variables.size()) fail(Code::kInvalidArgument, fmt::format("[B5074] there is no variable {}", i));
    const Variable& v = *variables[i];
    const belay_tensor t = v.value.view();
    auto ours = detail::sized<belay_variable_info>();
    ours.name = detail::str(v.name);
    ours.dtype = t.dtype;
    ours.rank = t.rank;
    ours.dims = t.dims;
    ours.trainable = v.trainable ? 1 : 0;
    ours.initialized = v.initialized ? 1 : 0;
    detail::fill_sized(info, ours);
  });
}

std::int32_t assign(belay_session* session, belay_str variable, const belay_tensor* value, belay_status* status) {
  return guard(status, [&] {
    detail::check_tensor(*value);
    DirectSession& s = from_handle(session);
    const std::string name(view(variable));
    if (name == s.global_step_name()) refuse_negative_step(name, TensorView(*value));
    s.store().assign(name, TensorView(*value));
  });
}

belay_coordinator* coordinator(belay_session* session) { return from_handle(session).coordinator; }

belay_session* run_session(belay_run* r) { return to_handle(from_handle(r).session); }

void run_request_stop(belay_run* r, belay_str reason) {
  RunContextState& state = from_handle(r);
  if (!state.stop_requested) state.stop_reason = words_of(reason, kMostReasonBytes);
  state.stop_requested = true;
}

std::int32_t run_stop_requested(belay_run* r) { return from_handle(r).stop_requested ? 1 : 0; }

std::int32_t run_original_args(belay_run* r, belay_run_args* args, belay_status* status) {
  return guard(status, [&] { detail::fill_sized(args, from_handle(r).original); });
}

std::uint64_t run_node_count(belay_run* r) {
  const RunMetadata* metadata = from_handle(r).metadata;
  return metadata == nullptr ? 0 : metadata->nodes.size();
}

std::int32_t run_node_stats(belay_run* r, std::uint64_t i, belay_node_stats* stats, belay_status* status) {
  return guard(status, [&] {
    if (i >= run_node_count(r))
      fail(Code::kInvalidArgument,
           fmt::format("[B5074] the run has {} traced nodes, there is no node {}", run_node_count(r), i));
    const TracedNode& s = from_handle(r).metadata->nodes[static_cast<std::size_t>(i)];
    auto ours = detail::sized<belay_node_stats>();
    ours.name = detail::str(s.name);
    ours.op = detail::str(s.op);
    ours.start_ns = s.start_ns;
    ours.end_ns = s.end_ns;
    ours.output_bytes = s.output_bytes;
    ours.node = s.node;
    detail::fill_sized(stats, ours);
  });
}

std::int32_t global_step(belay_session* session, std::int64_t* step, belay_status* status) {
  return guard(status, [&] {
    *step = from_handle(session).global_step();
    if (*step < 0) fail(Code::kNotFound, "[B5073] the session has no global step, or it is not initialized yet");
  });
}

std::int64_t run_number(belay_run* r) { return from_handle(r).number; }

constexpr belay_session_api kSessionApi{sizeof(belay_session_api),
                                        0,
                                        checked<run, detail::name_of_session_run>,
                                        checked<result_tensor, detail::name_of_session_result_tensor>,
                                        checked<result_release, detail::name_of_session_result_release>,
                                        checked<graph, detail::name_of_session_graph>,
                                        checked<variable_count, detail::name_of_session_variable_count>,
                                        checked<variable_info, detail::name_of_session_variable_info>,
                                        checked<assign, detail::name_of_session_assign>,
                                        checked<coordinator, detail::name_of_session_coordinator>,
                                        checked<run_session, detail::name_of_session_run_session>,
                                        checked<run_request_stop, detail::name_of_session_run_request_stop>,
                                        checked<run_stop_requested, detail::name_of_session_run_stop_requested>,
                                        checked<run_original_args, detail::name_of_session_run_original_args>,
                                        checked<run_node_count, detail::name_of_session_run_node_count>,
                                        checked<run_node_stats, detail::name_of_session_run_node_stats>,
                                        checked<global_step, detail::name_of_session_global_step>,
                                        checked<run_number, detail::name_of_session_run_number>};

std::int32_t should_stop(belay_coordinator* c) { return c != nullptr && from_handle(c).should_stop() ? 1 : 0; }

// An unknown code is the plugin's fault, so the error names the plugin.
Error named(const Error& error) {
  const CurrentPlugin* plugin = current_plugin();
  if (error.code() != Code::kInternal || plugin == nullptr) return error;
  return {error.code(), plugin->label() + " in request_stop: " + error.what()};
}

void request_stop(belay_coordinator* c, std::int32_t code, belay_str text) {
  if (c == nullptr) return;
  try {
    if (code == BELAY_OK) {
      from_handle(c).ask_to_stop(words_of(text, kMostReasonBytes));
    } else {
      from_handle(c).request_stop(named(error_of(code, words_of(text, kMostReasonBytes))));
    }
  } catch (const Error&) {
    // After a join the request comes too late and is dropped.
  }
}

std::int32_t wait_for_stop(belay_coordinator* c, std::int64_t timeout_ns) {
  return c == nullptr || from_handle(c).wait_for_stop(timeout_ns) ? 1 : 0;
}

using Join = std::int32_t (*)(void*, std::int64_t, belay_status*);

// A plugin's thread. [any]
class PluginThread final : public Joinable {
 public:
  // The plugin that this thread is calling registers it, if there is one.
  PluginThread(std::string name, Join join, void* arg)
      : name_(std::move(name)), join_(join), arg_(arg), plugin_(current_plugin()) {}
  const std::string& name() const override { return name_; }
  std::string label() const override {
    return plugin_ == nullptr ? name_ : single_quoted(name_) + " of " + plugin_->label();
  }
  bool join_for(std::int64_t timeout_ns) override {
    const std::lock_guard lock(mutex_);
    if (done_) return true;
    try {
      done_ = ask(timeout_ns);
    } catch (const Error& e) {
      done_ = true;
      error_ = Error(e.code(), "thread " + single_quoted(name_) + ": " + e.what());
    }
    return done_;
  }
  std::optional<Error> error() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  // Returns false if `arg` is of another thread, or the thread was joined or forgotten. Waits for a running join.
  bool forget(const void* arg) {
    const std::lock_guard lock(mutex_);
    if (done_ || arg_ != arg) return false;
    return done_ = true;
  }

 private:
  // True if the thread has ended.
  bool ask(std::int64_t timeout_ns) const {
    const auto join = [&](belay_status* status) { return join_(arg_, timeout_ns, status); };
    if (plugin_ != nullptr) return plugin_->call_join(join) != BELAY_DEADLINE_EXCEEDED;
    detail::Status status;
    std::int32_t code = BELAY_OK;
    try {
      code = join(status);
    } catch (...) {
      fail(Code::kUnknown, "[B2041] it let an exception escape from its join: " + std::string(current_error().what()));
    }
    if (code == BELAY_DEADLINE_EXCEEDED) return false;
    if (code != BELAY_OK) throw error_of(code, status.message());
    return true;
  }

  const std::string name_;
  const Join join_;
  void* const arg_;
  CurrentPlugin* const plugin_;  // null: a program's thread
  mutable std::mutex mutex_;
  bool done_ = false;  // join is not called any more
  std::optional<Error> error_;
};

Coordinator& coordinator_of(belay_coordinator* c) {
  if (c == nullptr) fail(Code::kFailedPrecondition, "[B5090] this session has no coordinator");
  return from_handle(c);
}

std::int32_t register_thread(belay_coordinator* c, belay_str name, Join join, void* arg, belay_status* status) {
  return guard(status, [&] {
    if (join == nullptr) fail(Code::kInvalidArgument, "[B5090] register_thread needs a join function");
    coordinator_of(c).register_thread(std::make_shared<PluginThread>(std::string(view(name)), join, arg));
  });
}

std::int32_t unregister_thread(belay_coordinator* c, void* arg, belay_status* status) {
  return guard(status, [&] {
    const bool found = coordinator_of(c).unregister_thread([&](Joinable& thread) {
      auto* plugins = dynamic_cast<PluginThread*>(&thread);
      return plugins != nullptr && plugins->forget(arg);
    });
    if (!found) fail(Code::kNotFound, "[B5090] no such thread is registered");
  });
}

constexpr belay_coordinator_api kCoordinatorApi{
    sizeof(belay_coordinator_api),
    0,
    checked<should_stop, detail::name_of_coordinator_should_stop>,
    checked<request_stop, detail::name_of_coordinator_request_stop>,
    checked<wait_for_stop, detail::name_of_coordinator_wait_for_stop>,
    checked<register_thread, detail::name_of_coordinator_register_thread>,
    checked<unregister_thread, detail::name_of_coordinator_unregister_thread>};

}  // namespace

const belay_session_api* session_service() noexcept { return &kSessionApi; }

void refuse_negative_step(const std::string& global_step, const TensorView& value) {
  if (value.dtype() != DType::kInt64 || value.size() != 1) return;  // it is refused for that
  const auto step = value.scalar<std::int64_t>();
  if (step < 0)
    fail(Code::kInvalidArgument,
         fmt::format("[B5075] the global step '{}' cannot become {}; it counts from 0", global_step, step));
}
const belay_coordinator_api* coordinator_service() noexcept { return &kCoordinatorApi; }

const detail::Services& services_without_host() noexcept {
  static const detail::Services services = [] {
    const auto none = [](const auto* table) { return detail::adopt(table); };
    detail::Services s{};
    s.core = none(static_cast<const belay_core_api*>(nullptr));
    s.graph = none(graph_service());
    s.session = none(&kSessionApi);
    s.coordinator = none(&kCoordinatorApi);
    s.model = none(static_cast<const belay_model_service*>(nullptr));
    s.input = none(static_cast<const belay_input_service*>(nullptr));
    s.files = none(static_cast<const belay_files_api*>(nullptr));
    s.saver = none(static_cast<const belay_saver_service*>(nullptr));
    s.checkpoint = none(static_cast<const belay_checkpoint_api*>(nullptr));
    s.events = none(static_cast<const belay_events_api*>(nullptr));
    s.state = none(static_cast<const belay_state_service*>(nullptr));
    return s;
  }();
  return services;
}

}  // namespace belay::runtime
