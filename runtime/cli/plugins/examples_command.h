// SPDX-License-Identifier: Apache-2.0
// `belay examples [NAME...]`: the manifests of examples/, which the build makes string literals of (CMakeLists.txt).
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

struct Example {
  std::string_view name;  // "digits"
  std::string_view text;
};

// By name.
const std::vector<Example>& examples();

// Without names a list on `out`. Else each as `directory`/NAME.toml, with run directories below that directory, and on
// `out` how to train it. Throws UsageError if there is no such example, and if a file is there already; then
// nothing is written.
int examples_command(const std::vector<std::string>& names, FileSystem& files, const std::string& directory,
                     std::ostream& out);

}  // namespace belay::runtime
