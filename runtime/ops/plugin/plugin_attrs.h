// SPDX-License-Identifier: Apache-2.0
// The attributes of a node against what the note of its plugin declares, and in the form in which they cross to it.
#pragma once

#include <string>

#include "runtime/graph/op_def.h"
#include "runtime/loader/note.h"
#include "runtime/loader/option_values.h"

namespace belay::runtime {

// INVALID_ARGUMENT for the first attribute that is unknown, of a wrong type, out of range or missing; it does not say
// whose node it is.
OptionValues check_attrs(const PluginInfo& plugin, const Attrs& attrs);

// A declared attribute that no node can have (a path, a table) is INVALID_ARGUMENT.
void check_declared_attrs(const PluginInfo& plugin);

}  // namespace belay::runtime
