// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/absolute_path.h"

#include <filesystem>

namespace belay::runtime {

std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace belay::runtime
