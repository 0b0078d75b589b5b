// SPDX-License-Identifier: Apache-2.0
// `belay validate FILE.so` checks everything about a plugin library that needs no training run.
#pragma once

#include <ostream>
#include <string>

#include "runtime/validate/validate.h"

namespace belay::runtime {

// `file` may be relative. Prints each result at once, then the totals; with `json` one array at the end. Returns the
// exit status: 0, 3 if a check failed, or 2 with the reason on `err` if an option is wrong.
int validate_command(const std::string& file, const ValidateOptions& options, bool json, std::ostream& out,
                     std::ostream& err);

}  // namespace belay::runtime
