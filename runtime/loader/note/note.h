// SPDX-License-Identifier: Apache-2.0
// The BELAY note of a plugin file, as plain structs. It is enough for listing, describing and checking, so no plugin
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

// Returns "hook", "init_fn" ...
const char* kind_name(PluginKind kind) noexcept;
std::optional<PluginKind> kind_from_name(std::string_view name) noexcept;

using OptionType = belay::detail::OptionType;

struct OptionInfo {
  std::string name;
  OptionType type = OptionType::kString;
  bool list = false;
  std::optional<OptionValue> default_value;  // of `type`
  bool required = false;
  std::optional<double> min, max;           // for numbers, and elements of lists
  std::vector<std::string> choices;         // empty: any
  std::optional<OptionValue> example;       // of `type`; a table's is TOML, a string
  std::optional<std::string> example_file;  // the bytes of the file that a path's example names
  bool watching = false;                    // true: changes no number of the training
  bool learned = false;                     // true for an input: its other uses in the model take the training's value
  std::string help;
  // These are for a key below a table:
  bool single = false;            // for a list: one value may replace it
  std::string when_key;           // empty: it belongs to every table
  std::vector<std::string> when;  // values of the key with which it does
};

// Returns the name of the option's type, for example "float" or "string_list".
const char* type_name(const OptionInfo& option) noexcept;

struct PluginInfo {
  PluginKind kind = PluginKind::kHook;
  std::string name;
  std::string doc;
  std::size_t index = 0;                         // in the module's list of plugins
  std::vector<OptionInfo> options;               // for an op: the attributes of its nodes
  std::vector<OptionInfo> nested;                // keys below options of the kind table: "layers[].units"
  std::optional<std::vector<std::string>> uses;  // callbacks that only some plugins of the kind have; none: not known
  std::optional<bool> state;                     // for a hook: whether checkpoints keep its state; none: not known

  const OptionInfo* option(std::string_view option_name) const noexcept;  // or null
};

// A plugin of a kind, or with a type of option, that this host does not know. The library was built for a later host.
// Its other plugins can be used.
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
  std::vector<PluginInfo> plugins;  // empty if the ABI is not this host's: then the rest of the note may mean anything
  std::vector<UnusablePlugin> unusable;
  std::string text;  // the note itself
};

// True if a note or module of this ABI fits the host. 0.x must be equal. From 1.0 on the major must be equal, and the
// minor not larger than the host's.
bool abi_fits(std::int64_t major, std::int64_t minor) noexcept;

// Names the fault in the note and its place: `"plugins.0.options.2.type" is "flaot", must be one of: bool, ...`.
class NoteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

ModuleInfo parse_note(std::string_view text);

}  // namespace belay::runtime
