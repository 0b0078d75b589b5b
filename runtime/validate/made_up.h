// SPDX-License-Identifier: Apache-2.0
// Options of a plugin under validation: the user's, and values made up for required ones that he did not give.
#pragma once

#include <string>
#include <vector>

#include "belay/testing/option_values.h"
#include "runtime/loader/note.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

struct ChosenOptions {
  belay::testing::OptionValues values;
  std::vector<std::string> made_up;
};

// `sets`: key=value, as for `belay run --set`. `path`: the value of a required path; init functions find a checkpoint
// there. What is wrong with the sets is in `problems`.
ChosenOptions choose_options(const PluginInfo& plugin, const std::vector<std::string>& sets, const std::string& path,
                             Diagnostics& problems);

}  // namespace belay::runtime
