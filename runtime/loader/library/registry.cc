// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/registry.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "runtime/loader/library/module_check.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::string RegisteredPlugin::label(std::string_view instance_name, const Location& at) const {
  std::string text = std::string(kind_name(info.kind)) + " \"";
  if (!instance_name.empty() && instance_name != info.name) text += escaped(instance_name) + "\" of \"";
  text += info.name + "\" (" + (file.empty() ? "linked in," : escaped(std::filesystem::path(file).filename().string()));
  if (!version.empty()) text += " " + escaped(version);
  if (at.line > 0) text += fmt::format(", {}:{}", escaped(std::filesystem::path(at.file).filename().string()), at.line);
  return text + ")";
}

void Registry::add_linked(const belay_module* module) {
  const std::string path = "linked-in module";
  if (module == nullptr || module->note == nullptr)
    throw LoadError(LoadErrorKind::kBadModule, path, module == nullptr ? "is null" : "has no note",
                    "give a module made by BELAY_MODULE");
  ModuleInfo info;
  try {
    info = parse_note({module->note, static_cast<std::size_t>(module->note_size)});
  } catch (const NoteError& e) {
    throw LoadError(LoadErrorKind::kNoNote, path, fmt::format("has a corrupt note: {}", e.what()), "build it again");
  }
  if (!abi_fits(info.abi_major, info.abi_minor))
    throw LoadError(info.abi_major == BELAY_ABI_MAJOR ? LoadErrorKind::kAbiMinor : LoadErrorKind::kAbiMajor, path,
                    "is compiled against another abi.h than this program's runtime",
                    "compile it with the headers of the runtime that it is linked to");
  check_module(*module, info, path);
  for (const PluginInfo& p : info.plugins)
    if (find(p.kind, p.name, "") != nullptr)
      throw LoadError(LoadErrorKind::kDuplicate, path,
                      fmt::format("offers the {} \"{}\", which another one offers", kind_name(p.kind), p.name),
                      "add each module once");
  add(*module, info, "");
}

void Registry::add_loaded(const LoadedLibrary& library) {
  for (const RegisteredPlugin& p : plugins_)
    if (p.file == library.path) return;
  add(*library.module, library.info, library.path);
}

void Registry::add(const belay_module& module, const ModuleInfo& info, const std::string& file) {
  std::vector<RegisteredPlugin> fresh;
  const std::string id = file.empty() ? "" : build_id_of(&module);
  for (const PluginInfo& p : info.plugins)
    fresh.push_back({p, info.version, file, adopt_table(p.kind, module.plugins[p.index]->table), id});
  for (RegisteredPlugin& p : fresh) plugins_.push_back(std::move(p));
}

const RegisteredPlugin* Registry::find(PluginKind kind, std::string_view name, std::string_view file) const noexcept {
  for (const RegisteredPlugin& p : plugins_)
    if (p.info.kind == kind && p.info.name == name && p.file == file) return &p;
  return nullptr;
}

const RegisteredPlugin* Registry::find(PluginKind kind, std::string_view name) const noexcept {
  if (const RegisteredPlugin* linked = find(kind, name, "")) return linked;
  for (const RegisteredPlugin& p : plugins_)
    if (p.info.kind == kind && p.info.name == name) return &p;
  return nullptr;
}

}  // namespace belay::runtime
