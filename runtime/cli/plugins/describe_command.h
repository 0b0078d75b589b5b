// SPDX-License-Identifier: Apache-2.0
// `belay describe NAME|KIND:NAME|FILE.so|EXPORT` prints a plugin's purpose, its options, and its library. For an
// exported folder it prints the contents, and the columns and classes that its model knows. It runs no plugin code.
#pragma once

#include <ostream>
#include <string>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `what` is a path (relative to the current directory) if it has a '/' or ends in ".so". Otherwise it is a name. If
// several kinds have that name, all are described. Returns the exit status: 0, 3 with the reason on `err`, or 2 for a
// damaged export.
int describe_command(const std::string& what, const PluginSearch& search, bool json, std::ostream& out,
                     std::ostream& err);

}  // namespace belay::runtime
