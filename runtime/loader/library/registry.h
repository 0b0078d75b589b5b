// SPDX-License-Identifier: Apache-2.0
// The usable plugins of this run: those linked into the program, given as explicit lists, and those of loaded files.
//
//   Registry registry;
//   registry.add_linked(&belay_module_stop_at_step);      // an embedding program
//   registry.add_loaded(loader.load(path));               // what the manifest names
//   const RegisteredPlugin* hook = registry.find(PluginKind::kHook, "stop_at_step");
//
// Each add takes all of a library's plugins or, if it throws, none. Entries keep their addresses as long as the
// registry lives. [main]
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "belay/abi.h"
#include "runtime/loader/library/loader.h"
#include "runtime/loader/library/plugin_table.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct RegisteredPlugin {
  PluginInfo info;
  std::string version;
  std::string file;  // empty: linked in
  AdoptedTable table;
  std::string build_id = {};  // of its library; empty: linked in

  // Returns `hook "x" (libx.so 1.2)` or `hook "x" (linked in, 1.2)`. It adds the instance's name if that differs, and
  // the line of the manifest if there is one: `hook "x" (libx.so 1.2, train.toml:14)`.
  std::string label(std::string_view instance_name = {}, const Location& at = {}) const;
};

class Registry {
 public:
  // Throws LoadError: bad_module, stale, no_note, abi_major, abi_minor, duplicate. The module must live as long as the
  // registry.
  void add_linked(const belay_module* module);
  // A library is added once. Two files may have the same plugin, since a manifest may name each by its file.
  void add_loaded(const LoadedLibrary& library);

  // Returns the plugin of this file; an empty `file` means the one linked in. Null: there is none.
  const RegisteredPlugin* find(PluginKind kind, std::string_view name, std::string_view file) const noexcept;
  // Returns the one linked in, else the first loaded one.
  const RegisteredPlugin* find(PluginKind kind, std::string_view name) const noexcept;

  const std::deque<RegisteredPlugin>& plugins() const noexcept { return plugins_; }

 private:
  void add(const belay_module& module, const ModuleInfo& info, const std::string& file);
  std::deque<RegisteredPlugin> plugins_;
};

}  // namespace belay::runtime
