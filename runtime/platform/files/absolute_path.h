// SPDX-License-Identifier: Apache-2.0
// A path that stays right if the working directory changes.
#pragma once

#include <string>

namespace belay::runtime {

// Returns the path from the root, without "." and "..". An empty one stays empty.
std::string absolute_path(const std::string& path);

}  // namespace belay::runtime
