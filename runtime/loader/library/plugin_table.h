// SPDX-License-Identifier: Apache-2.0
// A plugin's table of callbacks in the runtime's form: copied once over stubs, so no call tests for null.
#pragma once

#include <string_view>
#include <variant>

#include "belay/detail/tables.h"
#include "runtime/loader/note/note.h"

namespace belay::runtime {

using AdoptedTable =
    std::variant<belay_hook_api, belay_saver_api, belay_init_fn_api, belay_model_api, belay_input_api, belay_op_api,
                 belay_optimizer_api, belay_schedule_api, belay_exporter_api, belay_cluster_api>;

// Returns the table's first missing mandatory slot, or an empty text. `table` is the kind's table, not null.
std::string_view missing_slot(PluginKind kind, const void* table) noexcept;

// Returns the size of the kind's table that this host knows.
std::size_t table_size(PluginKind kind) noexcept;

// Missing slots are skipped in hooks, models, exporters, clusters and optimizers (a callback that does nothing).
// Elsewhere they fail with UNIMPLEMENTED.
AdoptedTable adopt_table(PluginKind kind, const void* table) noexcept;

// True if an adopted table had a gradient.
bool has_gradient(const belay_op_api& table) noexcept;

}  // namespace belay::runtime
