// SPDX-License-Identifier: Apache-2.0
// A plugin's table of callbacks as the runtime calls it: copied once over stubs, so that no call site tests for null.
#pragma once

#include <string_view>
#include <variant>

#include "belay/detail/tables.h"
#include "runtime/loader/note.h"

namespace belay::runtime {

using AdoptedTable =
    std::variant<belay_hook_api, belay_saver_api, belay_init_fn_api, belay_model_api, belay_input_api, belay_op_api,
                 belay_optimizer_api, belay_schedule_api, belay_exporter_api, belay_cluster_api>;

// The first mandatory slot that the table lacks, or empty. `table` is the kind's table, not null.
std::string_view missing_slot(PluginKind kind, const void* table) noexcept;

// Of the kind's table, as this host knows it.
std::size_t table_size(PluginKind kind) noexcept;

// Slots that the table lacks are skipped in hooks, models, exporters, clusters and optimizers (a callback that does
// nothing), and fail with UNIMPLEMENTED elsewhere.
AdoptedTable adopt_table(PluginKind kind, const void* table) noexcept;

// Whether an adopted table had a gradient of its own.
bool has_gradient(const belay_op_api& table) noexcept;

}  // namespace belay::runtime
