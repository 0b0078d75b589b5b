// SPDX-License-Identifier: Apache-2.0
// The arguments of each command that works on a manifest.
#pragma once

#include <string>
#include <vector>

#include "runtime/cli/arguments/command.h"

namespace belay::runtime {

struct ManifestArguments {
  std::vector<std::string> manifests;  // one over the other, the last wins; "-": standard input
  std::vector<std::string> sets;
  bool json_diagnostics = false;  // what is wrong with them is printed as JSON
};

// Returns the options of all of them, then the command's own.
CommandOptions manifest_options(const CommandOptions& own = {});
ManifestArguments manifest_arguments(const Given& given);

}  // namespace belay::runtime
