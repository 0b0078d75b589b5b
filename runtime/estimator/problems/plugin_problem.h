// SPDX-License-Identifier: Apache-2.0
// A plugin's error about its options, shown at their place: options that do not fit together, a missing column of the
// data, a layer that does not fit its input. The loader found no fault in any option alone.
#pragma once

#include "belay/error.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// Whether the error is about how the plugin is used: not a broken file, and no error of the plugin itself.
bool is_of_manifest(const Error& error);

// Adds it at the option of `use` that the message names ("'every_n_secs'", "label: ", "'layers.2'", or a value in
// quotes), else at the plugin's name.
void add_plugin_problem(const PluginUse& use, const Error& error, Diagnostics& problems);

}  // namespace belay::runtime
