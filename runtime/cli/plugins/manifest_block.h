// SPDX-License-Identifier: Apache-2.0
// The lines to paste into a manifest to use a plugin.
#pragma once

#include <string>

#include "runtime/loader/note/note.h"

namespace belay::runtime {

// The table with the plugin's required options and those that its note has an example of, in lines:
//
//   [[hooks]]
//   plugin = "logging_tensor"
//   tensors = ["loss"]
//
// `file`: of a plugin that is not found by its name; empty: it is.
std::string manifest_block(const PluginInfo& plugin, const std::string& file);

}  // namespace belay::runtime
