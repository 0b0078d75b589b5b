// SPDX-License-Identifier: Apache-2.0
// The files that a path of a user names.
#pragma once

#include <string>
#include <vector>

namespace belay::runtime {

// Returns the files of a pattern with * ? or [ in the order of their names. Any other path, or one that exists, is
// itself.
std::vector<std::string> files_of_pattern(const std::string& path);

}  // namespace belay::runtime
