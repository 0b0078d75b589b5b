// SPDX-License-Identifier: Apache-2.0
// The BELAY note of a plugin file, as plain structs: all that listing, describing and checking need, so that no plugin
// code runs for them. It is JSON from an untrusted file; abi.h describes its form.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "belay/options.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

enum class PluginKind : std::int32_t {
  kHook = BELAY_KIND_HOOK,
  kSaver = BELAY_KIND_SAVER,
  kInitFn = BELAY_KIND_INIT_FN,
  kModel = BELAY_KIND_MODEL,
  kInput = BELAY_KIND_INPUT,
  kOp = BELAY_KIND_OP,
  kOptimizer = BELAY_KIND_OPTIMIZER,
  kSchedule = BELAY_KIND_SCHEDULE,
  kExporter = BELAY_KIND_EXPORTER,
  kCluster = BELAY_KIND_CLUSTER,
};
inline constexpr PluginKind kPluginKinds[] = {
    PluginKind::kHook, PluginKind::kSaver,     PluginKind::kInitFn,   PluginKind::kModel,    PluginKind::kInput,
    PluginKind::kOp,   PluginKind::kOptimizer, PluginKind::kSchedule, PluginKind::kExporter, PluginKind::kCluster};

// "hook", "init_fn" ...
const char* kind_name(PluginKind kind) noexcept;
std::optional<PluginKind> kind_from_name(std::string_view name) noexcept;

using OptionType = belay::detail::OptionType;

struct OptionInfo {
  std::string name;
  OptionType type = OptionType::kString;
  bool list = false;
  std::optional<OptionValue> default_value;  // of `type`
  bool required = false;
  std::optional<double> min, max;           // numbers, and elements of lists
  std::vector<std::string> choices;         // empty: any
  std::optional<OptionValue> example;       // of `type`; of a table its TOML, a string
  std::optional<std::string> example_file;  // the bytes of the file that a path's example names
  bool watching = false;                    // changes no number of the training
  bool learned = false;                     // of an input: others of the model have the training's value
  std::string help;
  // Of a key below a table:
  bool single = false;            // of a list: one value may be given in its place
  std::string when_key;           // empty: it belongs to every table
  std::vector<std::string> when;  // those of its values with which it does
};

// "float", "string_list"
const char* type_name(const OptionInfo& option) noexcept;

struct PluginInfo {
  PluginKind kind = PluginKind::kHook;
  std::string name;
  std::string doc;
  std::size_t index = 0;                         // in the module's list of plugins
  std::vector<OptionInfo> options;               // of an op: the attributes of its nodes
  std::vector<OptionInfo> nested;                // keys below options of the kind table: "layers[].units"
  std::optional<std::vector<std::string>> uses;  // callbacks that not every plugin of the kind has; none: not known
  std::optional<bool> state;                     // of a hook: whether it keeps one in checkpoints; none: not known

  const OptionInfo* option(std::string_view option_name) const noexcept;  // or null
};

// A plugin of a kind, or with a type of option, that this host does not know: the library was built for a later one.
// The library's other plugins can be used.
struct UnusablePlugin {
  std::string kind;
  std::string name;
  std::string reason;  // `"plugins.1.kind" is "stage", this host knows: hook, ...`
};

struct ModuleInfo {
  std::int64_t abi_major = 0, abi_minor = 0;
  std::string version;
  std::string toolchain;
  std::vector<std::string> isa;     // beyond the baseline, as in /proc/cpuinfo
  std::vector<PluginInfo> plugins;  // empty where the ABI is not this host's: the rest of the note may mean anything
  std::vector<UnusablePlugin> unusable;
  std::string text;  // the note itself
};

// Whether a note or module of that ABI fits this host: 0.x exactly; from 1.0 on an equal major and a minor not above
// ours.
bool abi_fits(std::int64_t major, std::int64_t minor) noexcept;

// What is wrong in the note, and where: `"plugins.0.options.2.type" is "flaot", must be one of: bool, ...`.
class NoteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

ModuleInfo parse_note(std::string_view text);

}  // namespace belay::runtime
