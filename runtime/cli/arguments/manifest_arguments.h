// SPDX-License-Identifier: Apache-2.0
// The arguments of each command that works on a manifest.
#pragma once

#include <string>
#include <vector>

#include "runtime/cli/arguments/command.h"

namespace belay::runtime {

struct ManifestArguments {
  std::vector<std::string> manifests;  // later ones override earlier ones; "-": standard input
  std::vector<std::string> sets;
  bool json_diagnostics = false;  // prints their mistakes as JSON
};

// Returns the options of all of them, then the command's own.
CommandOptions manifest_options(const CommandOptions& own = {});
ManifestArguments manifest_arguments(const Given& given);

}  // namespace belay::runtime
