// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/manifest_block.h"

#include <cstdlib>

#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

struct BlockHead {
  const char* table;
  const char* key;  // that names the plugin
};

BlockHead head_of(PluginKind kind) {
  switch (kind) {
    case PluginKind::kHook: return {"[[hooks]]", "plugin"};
    case PluginKind::kSaver: return {"[scaffold.saver]", "plugin"};
    case PluginKind::kInitFn: return {"[[scaffold.init_fn]]", "plugin"};
    case PluginKind::kModel: return {"[model]", "plugin"};
    case PluginKind::kInput: return {"[input.train]", "plugin"};
    case PluginKind::kOp: return {"[[ops]]", "plugin"};
    case PluginKind::kOptimizer: return {"[optimizer]", "name"};
    case PluginKind::kSchedule: return {"[optimizer.learning_rate]", "schedule"};
    case PluginKind::kExporter: return {"[[exporters]]", "plugin"};
    case PluginKind::kCluster: return {"[cluster]", "plugin"};
  }
  std::abort();
}

// Returns a value of the option's type for a required option without an example. The user replaces it.
std::string stand_in(const OptionInfo& option) {
  if (option.type == OptionType::kTable) return "{ }";
  const std::string one = option.type == OptionType::kBool ? "true"
                          : option.type == OptionType::kInt
                              ? toml_value(static_cast<std::int64_t>(option.min.value_or(1)))
                          : option.type == OptionType::kFloat ? toml_value(option.min.value_or(1))
                          : option.choices.empty()            ? "\"...\""
                                                              : toml_string(option.choices[0]);
  return option.list ? "[" + one + "]" : one;
}

std::string value_of(const OptionInfo& option) {
  if (!option.example) return stand_in(option);
  if (option.type == OptionType::kTable) return escaped(std::get<std::string>(*option.example));
  return toml_value(*option.example);
}

}  // namespace

std::string manifest_block(const PluginInfo& plugin, const std::string& file) {
  const BlockHead head = head_of(plugin.kind);
  std::string block = std::string(head.table) + "\n" + head.key + " = " + toml_string(plugin.name) + "\n";
  if (!file.empty()) block += "file = " + toml_string(file) + "\n";
  for (const OptionInfo& option : plugin.options) {
    if (plugin.kind == PluginKind::kOp) break;  // attributes: a model sets them
    if (option.required || option.example) block += option.name + " = " + value_of(option) + "\n";
  }
  return block;
}

}  // namespace belay::runtime
