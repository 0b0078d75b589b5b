// SPDX-License-Identifier: Apache-2.0
// Checks a plugin's options in a manifest against its note. It runs no plugin code.
#pragma once

#include <string>

#include "runtime/loader/note/note.h"
#include "runtime/loader/options/check_value.h"
#include "runtime/loader/options/option_values.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Returns the given options, checked and ready to pass on. It adds to `problems`: unknown options, values that
// check_value refuses, and missing ones. Declared keys below a table are checked, too. Use the result only if nothing
// was added.
OptionValues check_options(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths,
                           Diagnostics& problems);

// Helps a user who wrote `file` for an input's data: it names the option for the file. Empty: no option takes a file.
std::string data_options_text(const PluginInfo& input);

}  // namespace belay::runtime
