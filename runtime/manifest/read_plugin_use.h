// SPDX-License-Identifier: Apache-2.0
// Reads the tables that name a plugin.
#pragma once

#include <string>

#include "runtime/manifest/manifest.h"
#include "runtime/manifest/read_fields.h"

namespace belay::runtime {

// `name` is the table's path, "model" or "hooks.0".
PluginUse read_plugin_use(const TomlNode& node, const std::string& name, PluginTable table, const ReadContext& context);
InputSection read_input(const TomlNode& node, const std::string& name, const ReadContext& context);
ExporterSection read_exporter(const TomlNode& node, const std::string& name, const ReadContext& context);
ClusterSection read_cluster(const TomlNode& node, const std::string& name, const ReadContext& context);

}  // namespace belay::runtime
