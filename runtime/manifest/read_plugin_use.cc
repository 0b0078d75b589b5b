// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_plugin_use.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "runtime/manifest/read_options.h"
#include "runtime/manifest/sections.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

void refuse_nameless(const TomlNode& node, const std::string& name, Diagnostics& problems) {
  std::string help = "add plugin = \"NAME\", or file = \"./NAME.so\"; `belay plugins` lists the names";
  // It first looks for keys like "plugin", since "fill" may be an option of the unnamed plugin.
  for (const char* wanted : {"file", "plugin"}) {
    for (const TomlEntry& entry : std::get<TomlTable>(node.value)) {
      if (!std::holds_alternative<std::string>(entry.node.value)) continue;
      const std::vector<std::string> others = {"type", "kind", "class", "callback"};
      const bool other =
          wanted == std::string_view("plugin") && std::find(others.begin(), others.end(), entry.key) != others.end();
      if (other || !nearest(entry.key, std::vector<std::string>{wanted}).empty())
        help = fmt::format("did you mean \"{}\" instead of \"{}\"?", wanted, entry.key);
    }
  }
  problems.add(node.at.location(), fmt::format("[B1021] [{}] names no plugin", name), help);
}

// Call it after the reserved keys were visited.
void read_rest(const TomlNode& node, const std::string& name, const ReadFields& fields, const ReadContext& context,
               PluginUse& use) {
  const auto& table = std::get<TomlTable>(node.value);
  use.at = node.at.location();
  use.plugin_at = fields.place_of(find(table, "plugin") != nullptr ? "plugin" : "file");
  if (find(table, "plugin") == nullptr && find(table, "file") == nullptr) refuse_nameless(node, name, context.problems);
  read_options(fields.unvisited(), name, use.options, context.problems);
}

// Reports a problem if `node` is no table.
bool is_table(const TomlNode& node, const std::string& name, const ReadContext& context) {
  if (std::holds_alternative<TomlTable>(node.value)) return true;
  const auto* text = std::get_if<std::string>(&node.value);
  context.problems.add(node.at.location(), fmt::format("[B1012] {} must be a table, found {}", name, found_text(node)),
                       text == nullptr ? "" : fmt::format("write {{ plugin = \"{}\" }}", *text));
  return false;
}

// Reads a table that has keys of the host besides the reserved ones.
template <class Section>
Section read_section(const TomlNode& node, const std::string& name, const ReadContext& context) {
  Section section;
  if (!is_table(node, name, context)) return section;
  ReadFields fields(node, name, context);
  visit(fields, section);
  read_rest(node, name, fields, context, section);
  return section;
}

}  // namespace

PluginUse read_plugin_use(const TomlNode& node, const std::string& name, PluginTable table,
                          const ReadContext& context) {
  PluginUse use;
  if (!is_table(node, name, context)) return use;
  ReadFields fields(node, name, context);
  visit(fields, use, table);
  read_rest(node, name, fields, context, use);
  return use;
}

InputSection read_input(const TomlNode& node, const std::string& name, const ReadContext& context) {
  return read_section<InputSection>(node, name, context);
}

ExporterSection read_exporter(const TomlNode& node, const std::string& name, const ReadContext& context) {
  return read_section<ExporterSection>(node, name, context);
}

ClusterSection read_cluster(const TomlNode& node, const std::string& name, const ReadContext& context) {
  return read_section<ClusterSection>(node, name, context);
}

}  // namespace belay::runtime
