// SPDX-License-Identifier: Apache-2.0
// `belay complete N WORD...` prints the words that a shell offers for the N-th word of a command line, one a line. If
// it prints nothing, the shell offers names of files. cmake/shell has the functions of bash and zsh that call it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `args` has the number, counted from 0, and then the words. The first word is the program. `search` is called only for
// the names of plugins. Words that are no command line have no completion.
int complete_command(const std::vector<std::string>& args, const std::function<PluginSearch()>& search,
                     std::ostream& out);

}  // namespace belay::runtime
