// SPDX-License-Identifier: Apache-2.0
// A plugin by its name or file, with its options, from a manifest's table or from a program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace belay::runtime {

// The place of a key or value: `file:line:column`, in characters, counted from 1. Messages begin with it, so an error
// in a manifest leads to its line. From --set: file is "--set run.dir", line is 0, and column counts in the argument.
// line and column 0: no place, for example of a missing section.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  // All places are equal: a struct with its place in it compares by its other members.
  friend bool operator==(const Location&, const Location&) { return true; }
};

// A value of a plugin's option, as written, with TOML's types. An integer stays an integer if the option is a float.
// Empty lists have no element type.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<bool>, std::vector<std::int64_t>,
                                 std::vector<double>, std::vector<std::string>, std::monostate /* [] */>;

// One option; keys of nested tables and of tables in lists are flattened: "layers.0.units".
struct PluginOption {
  std::string key;
  OptionValue value;
  Location key_at = {};
  Location value_at = {};

  friend bool operator==(const PluginOption&, const PluginOption&) = default;
};

// The effect of a hook's error: it ends the run, or it disables the hook, and the end of the run reports that.
enum class OnHookError { kStop, kDisable };

// A table that names a plugin. Reserved keys: plugin, file, name, on_error (hooks), prefetch (inputs). Options are
// checked against the plugin's note when it is loaded, not here. Two uses are equal if they mean the same: places do
// not count.
struct PluginUse {
  std::string plugin;  // by name, or empty if `file` is given
  std::string file;    // absolute path of a library; plugin then selects one of several in it
  std::string name;    // the instance's name; empty: the plugin's name, made unique by the runtime
  OnHookError on_error = OnHookError::kStop;
  std::vector<PluginOption> options;  // in the order written
  Location at;                        // of the table
  Location plugin_at;                 // of the value of `plugin` or `file`

  friend bool operator==(const PluginUse&, const PluginUse&) = default;
};

// Makes a use that no manifest contains; options in the order of the list. `from` takes the place of the file in
// messages: "the default hook nan_tensor".
PluginUse plugin_use(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options,
                     const std::string& from);

}  // namespace belay::runtime
