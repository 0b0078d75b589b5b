#include "runtime/loader/module_check.h"

#include <cstdio>
#include <cstring>

#include "runtime/loader/load_error.h"
#include "runtime/loader/plugin_table.h"

namespace belay::runtime {
namespace {

// A module of a later minor is longer than ours; nothing sane is longer than this.
constexpr std::uint32_t kMaxStructSize = 4096;
constexpr std::size_t kMaxName = 63;

class ModuleChecker {
 public:
  ModuleChecker(const belay_module& module, const ModuleInfo& note, const std::string& path)
      : module_(module), note_(note), path_(path) {}

  void check() const {
    check_head();
    check_note();
    if (module_.n_plugins != note_.plugins.size())
      stale("its note lists " + std::to_string(note_.plugins.size()) + " plugins, its module " +
            std::to_string(module_.n_plugins));
    if (module_.plugins == nullptr) bad("plugins is null");
    for (std::size_t i = 0; i < note_.plugins.size(); ++i) check_plugin(i);
  }

 private:
  [[noreturn]] void bad(const std::string& reason) const {
    throw LoadError(LoadErrorKind::kBadModule, path_, std::string("has a bad ") + BELAY_MODULE_SYMBOL + ": " + reason,
                    "fill the module as abi.h says, or let BELAY_MODULE do it");
  }
  [[noreturn]] void stale(const std::string& reason) const {
    throw LoadError(LoadErrorKind::kStale, path_, "has a note that is not its module's: " + reason,
                    "build it again; was the file edited or replaced?");
  }

  void check_head() const {
    if (module_.magic != BELAY_MODULE_MAGIC) {
      char text[80];
      std::snprintf(text, sizeof(text), "magic is 0x%016llx, must be 0x%016llx",
                    static_cast<unsigned long long>(module_.magic),
                    static_cast<unsigned long long>(BELAY_MODULE_MAGIC));
      bad(text);
    }
    if (module_.struct_size < sizeof(belay_module) || module_.struct_size > kMaxStructSize)
      bad("struct_size is " + std::to_string(module_.struct_size) + ", must be " +
          (module_.struct_size < sizeof(belay_module) ? "at least " + std::to_string(sizeof(belay_module))
                                                      : "at most " + std::to_string(kMaxStructSize)));
    if (module_.flags != 0) bad("flags is " + std::to_string(module_.flags) + ", must be 0");
  }

  void check_note() const {
    if (module_.abi_major != note_.abi_major || module_.abi_minor != note_.abi_minor)
      stale("the note says ABI " + std::to_string(note_.abi_major) + "." + std::to_string(note_.abi_minor) +
            ", the module " + std::to_string(module_.abi_major) + "." + std::to_string(module_.abi_minor));
    if (module_.note == nullptr) bad("note is null");
    if (module_.note_size != note_.text.size() || std::memcmp(module_.note, note_.text.data(), note_.text.size()) != 0)
      stale("the module points at another text than the file's note");
  }

  void check_plugin(std::size_t i) const {
    const std::string place = "plugins[" + std::to_string(i) + "]";
    const belay_plugin* plugin = module_.plugins[i];
    if (plugin == nullptr) bad(place + " is null");
    if (plugin->name == nullptr) bad(place + ".name is null");
    const std::string name(plugin->name, strnlen(plugin->name, kMaxName + 1));
    const PluginInfo& noted = note_.plugins[i];
    if (plugin->kind != static_cast<std::int32_t>(noted.kind) || name != noted.name)
      stale("the note's plugin " + std::to_string(i) + " is the " + kind_name(noted.kind) + " \"" + noted.name +
            "\", the module's is \"" + name + "\" of kind " + std::to_string(plugin->kind));
    if (plugin->table == nullptr) bad(place + ".table is null");
    const std::string_view slot = missing_slot(noted.kind, plugin->table);
    if (!slot.empty())
      bad("the table of " + std::string(kind_name(noted.kind)) + " \"" + name + "\" (struct_size " +
          std::to_string(*static_cast<const std::uint32_t*>(plugin->table)) + ") lacks the mandatory slot " +
          std::string(slot));
  }

  const belay_module& module_;
  const ModuleInfo& note_;
  const std::string& path_;
};

}  // namespace

void check_module(const belay_module& module, const ModuleInfo& note, const std::string& path) {
  ModuleChecker(module, note, path).check();
}

}  // namespace belay::runtime
