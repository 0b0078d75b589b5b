// SPDX-License-Identifier: Apache-2.0
// The lines that a user pastes into a manifest to use a plugin.
#pragma once

#include <string>

#include "runtime/loader/note/note.h"

namespace belay::runtime {

// Returns the lines of the table. It has the plugin's required options, and those with an example in its note:
//
//   [[hooks]]
//   plugin = "logging_tensor"
//   tensors = ["loss"]
//
// `file`: of a plugin that its name does not find; empty: the name finds it.
std::string manifest_block(const PluginInfo& plugin, const std::string& file);

}  // namespace belay::runtime
