// SPDX-License-Identifier: Apache-2.0
// The files that `belay new` copies, from sdk/template; the build makes string literals of them (CMakeLists.txt).
#pragma once

#include <string_view>
#include <vector>

namespace belay::runtime {

// Name and content have "my_KIND" and "MyKind" instead of the new plugin's name.
struct TemplateFile {
  std::string_view kind;
  std::string_view name;
  std::string_view text;
};

const std::vector<TemplateFile>& template_files();

}  // namespace belay::runtime
