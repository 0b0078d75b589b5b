// Options of a plugin under validation: the user's, and values made up for required ones that he did not give.
#pragma once

#include <string>
#include <vector>

#include "belay/testing/option_values.h"
#include "runtime/loader/note.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// The value of a required path: init functions find a checkpoint there, nothing else does.
inline constexpr const char* kMadeUpPath = "/made_up_by_belay_validate";

struct ChosenOptions {
  belay::testing::OptionValues values;
  std::vector<std::string> made_up;
};

// `sets`: key=value, as for `belay run --set`. What is wrong with them is in `problems`.
ChosenOptions choose_options(const PluginInfo& plugin, const std::vector<std::string>& sets, Diagnostics& problems);

}  // namespace belay::runtime
