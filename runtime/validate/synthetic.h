// SPDX-License-Identifier: Apache-2.0
// Options of a plugin under validation: the user's, the examples of its note, and synthetic values for required ones
// that have neither.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belay/testing/option_values.h"
#include "runtime/loader/note.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

struct ChosenOptions {
  belay::testing::OptionValues values;
  std::vector<std::string> synthetic;  // required options whose value validation chose, also for an example path that
                                       // has no contents
  std::vector<std::string> examples;   // options with their note's example
  std::vector<std::string> paths;      // values of all paths; init functions find a checkpoint there
  std::map<std::string, std::string> files;  // to be written before the plugin is tried: contents by path
};

// `sets`: key=value, as for `belay run --set`; where there are any, examples of options that are not required are left
// out. Paths that were not given lie in `folder`. What is wrong with the sets or the examples is in `problems`.
ChosenOptions choose_options(const PluginInfo& plugin, const std::vector<std::string>& sets, const std::string& folder,
                             Diagnostics& problems);

}  // namespace belay::runtime
