// SPDX-License-Identifier: Apache-2.0
// A plugin's error about its options, shown at their place: options that do not fit together, a missing column of the
// data, a layer that does not fit its input. The loader found no fault in any option alone.
#pragma once

#include "belay/error.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// Whether the error is about the use of the plugin. A broken file, or an error of the plugin itself, is not.
bool is_of_manifest(const Error& error);
// The same of an input before the first step, or the data that it was given are damaged.
bool is_of_input(const Error& error);

// Adds it at the option of `use` that the message names, else at the plugin's name. The message names it as
// "'every_n_secs'", "label: ", "'layers.2'", or by a value in quotes. Without a code of the plugin it has B2045.
void add_plugin_problem(const PluginUse& use, const Error& error, Diagnostics& problems);

}  // namespace belay::runtime
