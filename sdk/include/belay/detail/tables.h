// SPDX-License-Identifier: Apache-2.0
// Reads the other side's table. It takes whole slots and replaces the others by stubs, so no call site tests for null.
// Both sides use this: the SDK for the host's services, and the host for the plugins' tables.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace detail {

// Every table's slots, in order.
// clang-format off
#define BELAY_SLOTS_core(X)                                                                                  \
  X(core, log) X(core, log_enabled) X(core, monotonic_ns) X(core, wall_ns) X(core, run_directory)            \
  X(core, instance_name) X(core, seed) X(core, interactive) X(core, status_line) X(core, mode) X(core, rank) \
  X(core, ranks) X(core, is_chief) X(core, stopping) X(core, attempt) X(core, waits_for_disk)
#define BELAY_SLOTS_graph(X)                                                                                       \
  X(graph, serial) X(graph, finalized) X(graph, add_node) X(graph, find) X(graph, node_info) X(graph, output_info) \
  X(graph, input) X(graph, attr) X(graph, will_fetch) X(graph, enter_scope) X(graph, leave_scope)                  \
  X(graph, enter_control) X(graph, leave_control) X(graph, collect) X(graph, collection_size)                      \
  X(graph, collection_item) X(graph, gradients) X(graph, begin_body) X(graph, end_body)
#define BELAY_SLOTS_session(X)                                                                                      \
  X(session, run) X(session, result_tensor) X(session, result_release) X(session, graph) X(session, variable_count) \
  X(session, variable_info) X(session, assign) X(session, coordinator) X(session, run_session)                      \
  X(session, run_request_stop) X(session, run_stop_requested) X(session, run_original_args)                         \
  X(session, run_node_count) X(session, run_node_stats) X(session, global_step) X(session, run_number)
#define BELAY_SLOTS_coordinator(X)                                                       \
  X(coordinator, should_stop) X(coordinator, request_stop) X(coordinator, wait_for_stop) \
  X(coordinator, register_thread) X(coordinator, unregister_thread)
#define BELAY_SLOTS_model(X) X(model, set) X(model, export_signature) X(model, add_hook)
#define BELAY_SLOTS_input(X)                                                                              \
  X(input, declare) X(input, tensor) X(input, set_string) X(input, set_classes) X(input, set_class_names) \
  X(input, set_columns) X(input, keep_values) X(input, keep_words) X(input, use) X(input, learned)
#define BELAY_SLOTS_files(X)                                                                       \
  X(files, create) X(files, open) X(files, write) X(files, size) X(files, read_at) X(files, close)
#define BELAY_SLOTS_saver(X) X(saver, count) X(saver, get) X(saver, found)
#define BELAY_SLOTS_checkpoint(X)                                                                        \
  X(checkpoint, save) X(checkpoint, latest) X(checkpoint, open) X(checkpoint, count) X(checkpoint, info) \
  X(checkpoint, read) X(checkpoint, close)
#define BELAY_SLOTS_events(X) X(events, scalar) X(events, summary) X(events, session_log) X(events, flush)
#define BELAY_SLOTS_state(X)                                                                              \
  X(state, put) X(state, get) X(state, tensor) X(state, count) X(state, key) X(state, written_by)
#define BELAY_SLOTS_op(X) X(op, output) X(op, parallel) X(op, cancelled) X(op, scratch)

#define BELAY_SLOTS_cluster(X)                                                                              \
  X(cluster, place) X(cluster, barrier) X(cluster, broadcast) X(cluster, all_reduce) X(cluster, all_gather) \
  X(cluster, send) X(cluster, receive) X(cluster, split)

#define BELAY_SLOTS_interrupt(X) X(interrupt, interrupt)

#define BELAY_SLOTS_hook(X)                                                                                      \
  X(hook, create) X(hook, destroy) X(hook, extension) X(hook, begin) X(hook, after_create_session)               \
  X(hook, before_run) X(hook, after_run) X(hook, end) X(hook, before_save) X(hook, after_save) X(hook, on_error) \
  X(hook, save_state) X(hook, load_state)
#define BELAY_SLOTS_saver_plugin(X)                                                                  \
  X(saver_plugin, create) X(saver_plugin, destroy) X(saver_plugin, extension) X(saver_plugin, write) \
  X(saver_plugin, read)
#define BELAY_SLOTS_init_fn(X) X(init_fn, create) X(init_fn, destroy) X(init_fn, extension) X(init_fn, run)
#define BELAY_SLOTS_model_plugin(X)                                                                  \
  X(model_plugin, create) X(model_plugin, destroy) X(model_plugin, extension) X(model_plugin, build) \
  X(model_plugin, initial_value)
#define BELAY_SLOTS_input_plugin(X)                                                                 \
  X(input_plugin, create) X(input_plugin, destroy) X(input_plugin, extension) X(input_plugin, spec) \
  X(input_plugin, open) X(input_plugin, next) X(input_plugin, seek) X(input_plugin, size)
#define BELAY_SLOTS_op_plugin(X)                                                                              \
  X(op_plugin, create) X(op_plugin, destroy) X(op_plugin, extension) X(op_plugin, traits) X(op_plugin, infer) \
  X(op_plugin, make_kernel) X(op_plugin, run) X(op_plugin, destroy_kernel) X(op_plugin, gradient)

#define BELAY_SLOTS_optimizer(X)                                                                                      \
  X(optimizer, create) X(optimizer, destroy) X(optimizer, extension) X(optimizer, create_slots) X(optimizer, prepare) \
  X(optimizer, apply) X(optimizer, finish) X(optimizer, takes_sparse) X(optimizer, apply_sparse)
#define BELAY_SLOTS_schedule(X) X(schedule, create) X(schedule, destroy) X(schedule, extension) X(schedule, build)
#define BELAY_SLOTS_exporter(X)                                                                                      \
  X(exporter, create) X(exporter, destroy) X(exporter, extension) X(exporter, write) X(exporter, check)

#define BELAY_SLOTS_cluster_plugin(X)                                                                          \
  X(cluster_plugin, create) X(cluster_plugin, destroy) X(cluster_plugin, extension) X(cluster_plugin, open)    \
  X(cluster_plugin, close) X(cluster_plugin, abort) X(cluster_plugin, barrier) X(cluster_plugin, broadcast)    \
  X(cluster_plugin, all_reduce) X(cluster_plugin, all_gather) X(cluster_plugin, send) X(cluster_plugin, receive) \
  X(cluster_plugin, split)

#define BELAY_EACH_TABLE(X)                                                                                          \
  X(core, belay_core_api) X(graph, belay_graph_api) X(session, belay_session_api)                                    \
  X(coordinator, belay_coordinator_api) X(model, belay_model_service) X(input, belay_input_service)                  \
  X(files, belay_files_api) X(saver, belay_saver_service) X(checkpoint, belay_checkpoint_api)                        \
  X(events, belay_events_api) X(state, belay_state_service) X(hook, belay_hook_api) X(saver_plugin, belay_saver_api) \
  X(init_fn, belay_init_fn_api) X(model_plugin, belay_model_api) X(input_plugin, belay_input_api)                    \
  X(op, belay_op_service) X(op_plugin, belay_op_api) X(interrupt, belay_interrupt_api)                               \
  X(optimizer, belay_optimizer_api) X(schedule, belay_schedule_api) X(exporter, belay_exporter_api)  \
  X(cluster, belay_cluster_service) X(cluster_plugin, belay_cluster_api)
// clang-format on

// The kinds of stubs for a missing slot: kMissing fails and names the slot, kSkip does nothing.
enum class Absent { kMissing, kSkip };

template <class F>
struct Stub;
template <class R, class... A>
struct Stub<R (*)(A...)> {
  template <Absent kind, const char* name>
  static R call([[maybe_unused]] A... args) noexcept {
    if constexpr (std::is_same_v<R, std::int32_t> && kind == Absent::kMissing) {
      belay_status* status = nullptr;
      ((status = status_of(args)), ...);
      char text[96] = "the other side offers no '";
      std::size_t n = std::strlen(text);
      for (const char* c = name; *c != 0 && n + 2 < sizeof(text); ++c) text[n++] = *c;
      text[n++] = '\'';
      return status == nullptr ? 0 : report(status, BELAY_UNIMPLEMENTED, std::string_view(text, n));
    } else if constexpr (!std::is_void_v<R>) {
      return R{};
    }
  }

 private:
  static belay_status* status_of(belay_status* s) noexcept { return s; }
  template <class T>
  static belay_status* status_of(const T&) noexcept {
    return nullptr;
  }
};

#define BELAY_SLOT_NAME(table, slot) inline constexpr char name_of_##table##_##slot[] = #table "." #slot;
#define BELAY_TABLE_NAMES(table, type) BELAY_SLOTS_##table(BELAY_SLOT_NAME)
BELAY_EACH_TABLE(BELAY_TABLE_NAMES)
#undef BELAY_TABLE_NAMES
#undef BELAY_SLOT_NAME

#define BELAY_TAKE_SLOT(table, slot)                                                                                  \
  out.slot =                                                                                                          \
      given != nullptr && given->struct_size >= offsetof(Table, slot) + sizeof(given->slot) && given->slot != nullptr \
          ? given->slot                                                                                               \
          : &Stub<decltype(out.slot)>::template call<absent, name_of_##table##_##slot>;
#define BELAY_ADOPT(table, type)                     \
  template <Absent absent = Absent::kMissing>        \
  inline type adopt(const type* given) noexcept {    \
    using Table = type;                              \
    type out;                                        \
    out.struct_size = sizeof(type);                  \
    out.reserved = 0;                                \
    BELAY_SLOTS_##table(BELAY_TAKE_SLOT) return out; \
  }
BELAY_EACH_TABLE(BELAY_ADOPT)
#undef BELAY_ADOPT
#undef BELAY_TAKE_SLOT

}  // namespace detail
}  // namespace v0
}  // namespace belay
