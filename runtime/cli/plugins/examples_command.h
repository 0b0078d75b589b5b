// SPDX-License-Identifier: Apache-2.0
// `belay examples [NAME...]`: the manifests of examples/. The build makes string literals of them (CMakeLists.txt).
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

// Returns them in the order of their names.
const std::vector<Example>& examples();

// Without names it prints a list on `out`. Otherwise it writes each as `directory`/NAME.toml, with run directories in
// that directory, and prints on `out` how to train it. Throws UsageError if there is no such example, or if a file
// exists already; then nothing is written.
int examples_command(const std::vector<std::string>& names, FileSystem& files, const std::string& directory,
                     std::ostream& out);

}  // namespace belay::runtime
