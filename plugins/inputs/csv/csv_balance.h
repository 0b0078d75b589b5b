// SPDX-License-Identifier: Apache-2.0
// The shares of a label's classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace csv_input {

// Returns the shares of the classes for the log, the largest first: `label: 86 % "no", 14 % "yes" of 1000 rows`. Empty:
// no class is rare, since the smallest has at least half of an equal share, or the classes have no names.
std::string balance_text(const std::vector<std::int64_t>& labels, const std::vector<std::string>& names);

}  // namespace csv_input
