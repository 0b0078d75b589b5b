// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/path_pattern.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace belay::runtime {

std::vector<std::string> files_of_pattern(const std::string& path) {
  std::error_code ignored;
  if (path.find_first_of("*?[") == path.npos || std::filesystem::exists(path, ignored)) return {path};
  glob_t found{};
  const int status = ::glob(path.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace belay::runtime
