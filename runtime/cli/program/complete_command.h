// SPDX-License-Identifier: Apache-2.0
// `belay complete N WORD...`: what a shell offers for the N-th word of a command line, a line each; nothing: the names
// of files. cmake/shell has the functions of bash and zsh that call it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `args`: the number, counted from 0, then the words, of which the first is the program. `search` is called where
// plugins' names are asked for. What is no command line has no completion.
int complete_command(const std::vector<std::string>& args, const std::function<PluginSearch()>& search,
                     std::ostream& out);

}  // namespace belay::runtime
