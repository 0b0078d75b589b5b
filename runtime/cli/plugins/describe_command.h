// SPDX-License-Identifier: Apache-2.0
// `belay describe NAME|KIND:NAME|FILE.so|EXPORT`: what a plugin does, its options, and its library; or what an exported
// folder holds and which columns and classes its model knows. Runs no plugin code.
#pragma once

#include <ostream>
#include <string>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `what` is a path where it has a '/' or ends in ".so" (relative to the current directory), else a name, which may be
// one of several kinds: then all are described. Returns the exit status: 0, 3 with the reason on `err`, or 2 for
// a damaged export.
int describe_command(const std::string& what, const PluginSearch& search, bool json, std::ostream& out,
                     std::ostream& err);

}  // namespace belay::runtime
