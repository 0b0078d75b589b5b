// SPDX-License-Identifier: Apache-2.0
// `belay schema`: the manifest's JSON Schema, with the options of every plugin that is found, for editors (taplo and
// what is built on it read Draft 4) and for checks elsewhere.
#pragma once

#include <ostream>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// What is laid down by no schema: rules over several keys, ranges of lists' lengths, names that a graph must have.
int schema_command(const PluginSearch& search, std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
