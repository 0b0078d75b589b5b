// SPDX-License-Identifier: Apache-2.0
// Checks a node's attributes against the note of its plugin, and converts them to the plugin's form.
#pragma once

#include <string>

#include "runtime/graph/op_def.h"
#include "runtime/loader/note/note.h"
#include "runtime/loader/options/option_values.h"

namespace belay::runtime {

// INVALID_ARGUMENT: an attribute is unknown, of a wrong type, out of range or missing. The message has the first one,
// without the node.
OptionValues check_attrs(const PluginInfo& plugin, const Attrs& attrs);

// INVALID_ARGUMENT: the plugin declares an attribute that no node can have (a path, a table).
void check_declared_attrs(const PluginInfo& plugin);

}  // namespace belay::runtime
