// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/module_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/loader/file/load_error.h"
#include "runtime/loader/library/plugin_table.h"

namespace belay::runtime {
namespace {

// A module of a later minor is longer than the host's, but never longer than this.
constexpr std::uint32_t kMaxStructSize = 4096;
constexpr std::size_t kMaxName = 63;

class ModuleChecker {
 public:
  ModuleChecker(const belay_module& module, const ModuleInfo& note, const std::string& path,
                const LibraryMapping* library)
      : module_(module), note_(note), path_(path), library_(library) {}

  void check() const {
    check_head();
    check_note();
    const std::size_t noted = note_.plugins.size() + note_.unusable.size();
    if (module_.n_plugins != noted)
      stale(fmt::format("its note lists {} plugins, its module {}", noted, module_.n_plugins));
    if (module_.plugins == nullptr) bad("plugins is null");
    require_own("plugins", module_.plugins, module_.n_plugins * sizeof(belay_plugin*));
    for (const PluginInfo& p : note_.plugins) check_plugin(p);
  }

 private:
  [[noreturn]] void bad(const std::string& reason) const {
    throw LoadError(LoadErrorKind::kBadModule, path_, fmt::format("has a bad {}: {}", BELAY_MODULE_SYMBOL, reason),
                    "fill the module as abi.h describes, or let BELAY_MODULE do it");
  }
  [[noreturn]] void stale(const std::string& reason) const {
    throw LoadError(LoadErrorKind::kStale, path_, "has a note that is not its module's: " + reason,
                    "build it again; was the file edited or replaced?");
  }

  // `what` names the field with the pointer.
  void require_own(const std::string& what, const void* data, std::uint64_t size) const {
    if (library_ == nullptr || library_->holds(data, size)) return;
    throw LoadError(
        LoadErrorKind::kBadModule, path_,
        fmt::format("has a bad {}: {} lies outside of the library, in {}", BELAY_MODULE_SYMBOL, what, owner_of(data)),
        "two libraries that export one symbol share it: compile both with -fvisibility=hidden (pkg-config "
        "--cflags belay-sdk has it), or build them with belay_add_plugin");
  }

  void check_head() const {
    require_own("it", &module_, sizeof(module_));
    if (module_.magic != BELAY_MODULE_MAGIC)
      bad(fmt::format("magic is {:#018x}, must be {:#018x}", module_.magic, BELAY_MODULE_MAGIC));
    if (module_.struct_size < sizeof(belay_module) || module_.struct_size > kMaxStructSize)
      bad(fmt::format("struct_size is {}, must be {}", module_.struct_size,
                      module_.struct_size < sizeof(belay_module) ? fmt::format("at least {}", sizeof(belay_module))
                                                                 : fmt::format("at most {}", kMaxStructSize)));
    if (module_.flags != 0) bad(fmt::format("flags is {}, must be 0", module_.flags));
  }

  void check_note() const {
    if (module_.abi_major != note_.abi_major || module_.abi_minor != note_.abi_minor)
      stale(fmt::format("the note has ABI {}.{}, the module {}.{}", note_.abi_major, note_.abi_minor, module_.abi_major,
                        module_.abi_minor));
    if (module_.note == nullptr) bad("note is null");
    require_own("note", module_.note, std::min<std::uint64_t>(module_.note_size, note_.text.size()));
    if (module_.note_size != note_.text.size() || std::memcmp(module_.note, note_.text.data(), note_.text.size()) != 0)
      stale("the module points at another note than the file's");
  }

  void check_plugin(const PluginInfo& noted) const {
    const std::size_t i = noted.index;
    const std::string place = fmt::format("plugins[{}]", i);
    const belay_plugin* plugin = module_.plugins[i];
    if (plugin == nullptr) bad(place + " is null");
    require_own(place, plugin, sizeof(*plugin));
    const std::string name = checked_name(place, plugin->name);
    if (plugin->kind != static_cast<std::int32_t>(noted.kind) || name != noted.name)
      stale(fmt::format("the note's plugin {} is the {} \"{}\", the module's is \"{}\" of kind {}", i,
                        kind_name(noted.kind), noted.name, name, plugin->kind));
    if (plugin->table == nullptr) bad(place + ".table is null");
    require_own(place + ".table", plugin->table, sizeof(std::uint32_t));
    require_own(place + ".table", plugin->table,
                std::min<std::size_t>(*static_cast<const std::uint32_t*>(plugin->table), table_size(noted.kind)));
    const std::string_view slot = missing_slot(noted.kind, plugin->table);
    if (!slot.empty())
      bad(fmt::format("the table of {} \"{}\" (struct_size {}) lacks the mandatory slot {}", kind_name(noted.kind),
                      name, *static_cast<const std::uint32_t*>(plugin->table), slot));
  }

  std::string checked_name(const std::string& place, const char* name) const {
    if (name == nullptr) bad(place + ".name is null");
    require_own(place + ".name", name, 1);
    std::uint64_t most = kMaxName + 1;
    if (library_ != nullptr) most = std::min(most, library_->bytes_from(name));
    return {name, strnlen(name, most)};
  }

  const belay_module& module_;
  const ModuleInfo& note_;
  const std::string& path_;
  const LibraryMapping* library_;
};

}  // namespace

void check_module(const belay_module& module, const ModuleInfo& note, const std::string& path,
                  const LibraryMapping* library) {
  ModuleChecker(module, note, path, library).check();
}

}  // namespace belay::runtime
