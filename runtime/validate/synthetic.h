// SPDX-License-Identifier: Apache-2.0
// The options of a plugin under validation: the user's, the examples of its note, and synthetic values for required
// ones without either.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belay/testing/option_values.h"
#include "runtime/loader/note/note.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

struct ChosenOptions {
  belay::testing::OptionValues values;
  std::vector<std::string> synthetic;  // required options with a value that validation chose, also for an example path
                                       // without contents
  std::vector<std::string> examples;   // options with their note's example
  std::vector<std::string> paths;      // values of all paths; init functions find a checkpoint there
  std::map<std::string, std::string> files;  // to write before the plugin is tried: contents by path
};

// `sets` has key=value, as for `belay run --set`. If there are any, examples of options that are not required are left
// out. Paths that were not given are in `folder`. `problems` gets the faults of the sets and the examples.
ChosenOptions choose_options(const PluginInfo& plugin, const std::vector<std::string>& sets, const std::string& folder,
                             Diagnostics& problems);

}  // namespace belay::runtime
