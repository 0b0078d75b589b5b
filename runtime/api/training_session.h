// SPDX-License-Identifier: Apache-2.0
// Paths of programs.
#pragma once

#include <string>

namespace belay::runtime {

// Empty stays empty.
std::string absolute_path(const std::string& path);

}  // namespace belay::runtime
