// SPDX-License-Identifier: Apache-2.0
// `belay look FILE...`: the columns of a table, with types, gaps, values and what is odd.
#pragma once

#include <ostream>
#include <string>

#include "runtime/cli/tables/table_profile.h"

namespace belay::runtime {

// Prints the contents of the files. `label` is the column to predict; empty: it is not known. Returns the exit status:
// 2 if the files cannot be read.
int look_command(const TableFiles& files, const std::string& label, std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
