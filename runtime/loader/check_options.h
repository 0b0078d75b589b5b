// SPDX-License-Identifier: Apache-2.0
// A plugin's options in a manifest against what its note declares. Runs no plugin code.
#pragma once

#include <string>

#include "runtime/loader/check_value.h"
#include "runtime/loader/note.h"
#include "runtime/loader/option_values.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// The options given, checked and ready to cross. Adds to `problems`: unknown options, values that check_value refuses,
// missing ones; and the same of keys below a table whose note declares them. What is returned is for use only if
// nothing was added.
OptionValues check_options(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths,
                           Diagnostics& problems);

// Of an input, for who wrote `file` for the data: 'what input "csv" reads is given by "path"'. Empty for one that no
// option gives a file.
std::string data_options_text(const PluginInfo& input);

}  // namespace belay::runtime
