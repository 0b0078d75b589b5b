// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/plugin_table.h"

namespace belay::runtime {
namespace {

#define BELAY_LACKS(slot) (t.struct_size < offsetof(Table, slot) + sizeof(t.slot) || t.slot == nullptr)
#define BELAY_REQUIRE(slot) \
  if (BELAY_LACKS(slot)) return #slot;

template <class Table>
std::string_view missing_instance_slot(const Table& t) noexcept {
  BELAY_REQUIRE(create)
  BELAY_REQUIRE(destroy)
  return {};
}

std::string_view missing(const belay_hook_api& t) noexcept { return missing_instance_slot(t); }

std::string_view missing(const belay_saver_api& t) noexcept {
  using Table = belay_saver_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(write)
  BELAY_REQUIRE(read)
  return {};
}

std::string_view missing(const belay_init_fn_api& t) noexcept {
  using Table = belay_init_fn_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(run)
  return {};
}

std::string_view missing(const belay_model_api& t) noexcept {
  using Table = belay_model_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(build)
  return {};
}

std::string_view missing(const belay_input_api& t) noexcept {
  using Table = belay_input_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(spec)
  BELAY_REQUIRE(open)
  BELAY_REQUIRE(next)
  BELAY_REQUIRE(seek)
  return {};
}

std::string_view missing(const belay_op_api& t) noexcept {
  using Table = belay_op_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(infer)
  BELAY_REQUIRE(make_kernel)
  BELAY_REQUIRE(run)
  BELAY_REQUIRE(destroy_kernel)
  return {};
}

std::string_view missing(const belay_optimizer_api& t) noexcept {
  using Table = belay_optimizer_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(apply)
  if (!BELAY_LACKS(takes_sparse)) BELAY_REQUIRE(apply_sparse)
  return {};
}

std::string_view missing(const belay_schedule_api& t) noexcept {
  using Table = belay_schedule_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(build)
  return {};
}

std::string_view missing(const belay_exporter_api& t) noexcept {
  using Table = belay_exporter_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(write)
  return {};
}

std::string_view missing(const belay_cluster_api& t) noexcept {
  using Table = belay_cluster_api;
  if (const auto slot = missing_instance_slot(t); !slot.empty()) return slot;
  BELAY_REQUIRE(open)
  BELAY_REQUIRE(barrier)
  BELAY_REQUIRE(broadcast)
  BELAY_REQUIRE(all_reduce)
  BELAY_REQUIRE(all_gather)
  BELAY_REQUIRE(send)
  BELAY_REQUIRE(receive)
  BELAY_REQUIRE(split)
  return {};
}

#undef BELAY_REQUIRE
#undef BELAY_LACKS

std::int32_t size_is_unknown(void*, std::int64_t* examples, belay_status*) noexcept {
  *examples = -1;
  return BELAY_OK;
}

belay_input_api adopt_input(const belay_input_api* given) noexcept {
  belay_input_api table = detail::adopt(given);
  const bool has_size =
      given->struct_size >= offsetof(belay_input_api, size) + sizeof(given->size) && given->size != nullptr;
  if (!has_size) table.size = &size_is_unknown;
  return table;
}

std::int32_t default_traits(void*, belay_op_traits* traits, belay_status*) noexcept {
  traits->n_inputs = 1;
  return BELAY_OK;
}

std::int32_t no_gradient(void*, const belay_op_gradient_args*, belay_status* status) noexcept {
  return detail::report(status, BELAY_UNIMPLEMENTED, "it has no gradient");
}

belay_op_api adopt_op(const belay_op_api* given) noexcept {
  belay_op_api table = detail::adopt(given);
  const auto has = [&](std::size_t end, bool set) { return given->struct_size >= end && set; };
  if (!has(offsetof(belay_op_api, traits) + sizeof(given->traits), given->traits != nullptr))
    table.traits = &default_traits;
  if (!has(offsetof(belay_op_api, gradient) + sizeof(given->gradient), given->gradient != nullptr))
    table.gradient = &no_gradient;
  return table;
}

}  // namespace

bool has_gradient(const belay_op_api& table) noexcept { return table.gradient != &no_gradient; }

std::string_view missing_slot(PluginKind kind, const void* table) noexcept {
  switch (kind) {
    case PluginKind::kHook: return missing(*static_cast<const belay_hook_api*>(table));
    case PluginKind::kSaver: return missing(*static_cast<const belay_saver_api*>(table));
    case PluginKind::kInitFn: return missing(*static_cast<const belay_init_fn_api*>(table));
    case PluginKind::kModel: return missing(*static_cast<const belay_model_api*>(table));
    case PluginKind::kInput: return missing(*static_cast<const belay_input_api*>(table));
    case PluginKind::kOp: return missing(*static_cast<const belay_op_api*>(table));
    case PluginKind::kOptimizer: return missing(*static_cast<const belay_optimizer_api*>(table));
    case PluginKind::kSchedule: return missing(*static_cast<const belay_schedule_api*>(table));
    case PluginKind::kExporter: return missing(*static_cast<const belay_exporter_api*>(table));
    case PluginKind::kCluster: return missing(*static_cast<const belay_cluster_api*>(table));
  }
  return "kind";
}

std::size_t table_size(PluginKind kind) noexcept {
  switch (kind) {
    case PluginKind::kHook: return sizeof(belay_hook_api);
    case PluginKind::kSaver: return sizeof(belay_saver_api);
    case PluginKind::kInitFn: return sizeof(belay_init_fn_api);
    case PluginKind::kModel: return sizeof(belay_model_api);
    case PluginKind::kInput: return sizeof(belay_input_api);
    case PluginKind::kOp: return sizeof(belay_op_api);
    case PluginKind::kOptimizer: return sizeof(belay_optimizer_api);
    case PluginKind::kSchedule: return sizeof(belay_schedule_api);
    case PluginKind::kExporter: return sizeof(belay_exporter_api);
    case PluginKind::kCluster: return sizeof(belay_cluster_api);
  }
  return 0;
}

AdoptedTable adopt_table(PluginKind kind, const void* table) noexcept {
  switch (kind) {
    case PluginKind::kHook: return detail::adopt<detail::Absent::kSkip>(static_cast<const belay_hook_api*>(table));
    case PluginKind::kSaver: return detail::adopt(static_cast<const belay_saver_api*>(table));
    case PluginKind::kInitFn: return detail::adopt(static_cast<const belay_init_fn_api*>(table));
    case PluginKind::kModel: return detail::adopt<detail::Absent::kSkip>(static_cast<const belay_model_api*>(table));
    case PluginKind::kOp: return adopt_op(static_cast<const belay_op_api*>(table));
    case PluginKind::kOptimizer:
      return detail::adopt<detail::Absent::kSkip>(static_cast<const belay_optimizer_api*>(table));
    case PluginKind::kSchedule: return detail::adopt(static_cast<const belay_schedule_api*>(table));
    case PluginKind::kExporter:
      return detail::adopt<detail::Absent::kSkip>(static_cast<const belay_exporter_api*>(table));
    case PluginKind::kCluster:
      return detail::adopt<detail::Absent::kSkip>(static_cast<const belay_cluster_api*>(table));
    case PluginKind::kInput: break;
  }
  return adopt_input(static_cast<const belay_input_api*>(table));
}

}  // namespace belay::runtime
