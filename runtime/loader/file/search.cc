// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "runtime/manifest/other_names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

// Returns the *.so files of a directory, sorted.
std::vector<std::string> libraries_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename().string();
    if (name.size() > 3 && name[0] != '.' && name.compare(name.size() - 3, 3, ".so") == 0)
      names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  const std::optional<FileStamp> stamp = stamp_of(path);
  if (!stamp) return std::nullopt;
  return stamp->identity;
}

// True if a directory, which may not exist, has a file with the plugin's name.
bool is_library_in(const std::string& directory, std::string_view name) {
  std::error_code ignored;
  const auto has = [&](const std::string& file) { return fs::exists(fs::path(directory) / file, ignored); };
  return has(std::string(name) + ".so") || has("lib" + std::string(name) + ".so");
}

// Remembers an identity; false: it was known.
bool remember(std::vector<FileIdentity>& seen, const FileIdentity& id) {
  const auto at = std::lower_bound(seen.begin(), seen.end(), id);
  if (at != seen.end() && *at == id) return false;
  seen.insert(at, id);
  return true;
}

}  // namespace

std::string installed_plugin_directory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? BELAY_PLUGIN_DIRECTORY : installed_plugin_directory(program.string());
}

std::string installed_plugin_directory(const std::string& program) {
  std::error_code error;
  const fs::path prefix = fs::path(program).parent_path().parent_path();
  for (const char* directory : {BELAY_PLUGIN_DIRECTORY_IN_PREFIX, "plugins"})
    if (fs::is_directory(prefix / directory, error)) return (prefix / directory).lexically_normal().string();
  return BELAY_PLUGIN_DIRECTORY;
}

SearchPath plugin_search_path(const std::vector<std::string>& manifest_path, const Environment& environment) {
  SearchPath path;
  for (const std::string& directory : manifest_path)
    path.directories.push_back({directory, "the manifest's plugins.path"});
  if (const auto text = environment("BELAY_PLUGIN_PATH"); text && !text->empty()) {
    for (std::size_t begin = 0; begin <= text->size();) {
      const std::size_t end = std::min(text->find(':', begin), text->size());
      const std::string element = text->substr(begin, end - begin);
      begin = end + 1;
      if (element.empty()) {
        path.warnings.emplace_back(
            "BELAY_PLUGIN_PATH has an empty element, which is left out; remove the ':' at an end or the '::'");
      } else if (element[0] != '/') {
        path.warnings.push_back("BELAY_PLUGIN_PATH has the relative element '" + escaped(element) +
                                "', which is left out; write an absolute path");
      } else {
        path.directories.push_back({element, "BELAY_PLUGIN_PATH"});
      }
    }
  }
  if (const auto home = environment("HOME"); home && !home->empty() && (*home)[0] == '/')
    path.directories.push_back({(fs::path(*home) / ".local/lib/belay").string(), "the user's directory"});
  path.directories.push_back({installed_plugin_directory(), "the installed directory"});
  return path;
}

PluginSearch::PluginSearch(SearchPath path, FilePolicy& policy, CpuFeatures cpu)
    : path_(std::move(path)), cpu_(std::move(cpu)) {
  std::vector<FileIdentity> listed;
  for (std::size_t i = 0; i < path_.directories.size(); ++i) {
    const auto identity = identity_of(path_.directories[i].path);
    exists_.push_back(identity.has_value());
    if (identity && remember(listed, *identity)) list_directory(i, policy);
  }
}

void PluginSearch::list_directory(std::size_t index, FilePolicy& policy) {
  const std::string& directory = path_.directories[index].path;
  const auto reject = [&](const std::string& path, const LoadError& e) {
    files_.push_back({index, {path, {}, "", {}}, e});
  };
  std::vector<std::string> names;
  try {
    policy.check_directory(directory, "", path_.warnings);
    names = libraries_in(directory);
  } catch (const LoadError& e) {
    reject(directory, e);
    path_.warnings.push_back("plugin directory '" + escaped(directory) + "' is not searched: it " +
                             escaped(e.reason()) + "; " + escaped(e.help()));
    return;
  } catch (const fs::filesystem_error& e) {
    return reject(directory, LoadError(LoadErrorKind::kUnreadable, directory, "cannot be listed: " + e.code().message(),
                                       "give this user the right to read it (chmod, chown)"));
  }
  for (const std::string& name : names) {
    const std::string file = (fs::path(directory) / name).string();
    const auto identity = identity_of(file);
    if (identity && !remember(seen_, *identity)) continue;
    try {
      UnreadLibrary library = read_library(file, policy);
      path_.warnings.insert(path_.warnings.end(), library.warnings.begin(), library.warnings.end());
      files_.push_back({index, std::move(library), {}});
    } catch (const LoadError& e) {
      reject(file, e);
    }
  }
}

void PluginSearch::Listing::add(const ListedFile& file, const CpuFeatures& cpu) {
  if (file.error) {
    rejected.push_back({file.library.path, *file.error});
    return;
  }
  try {
    add_plugins(vet_note(file.library, cpu), file.directory);
  } catch (const LoadError& e) {
    rejected.push_back({file.library.path, e});
  }
}

void PluginSearch::Listing::add_plugins(const LibraryFile& library, std::size_t directory) {
  for (const UnusablePlugin& p : library.module.unusable)
    rejected.push_back({library.path, unusable_error(library.path, p), p.name});
  for (const PluginInfo& info : library.module.plugins) {
    FoundPlugin found;
    found.info = info;
    found.file = library.path;
    found.stamp = library.stamp;
    found.version = library.module.version;
    found.directory = directory;
    const auto [at, is_first] = first.try_emplace({info.kind, info.name}, plugins.size());
    if (!is_first) {
      FoundPlugin& used = plugins[at->second];
      if (used.directory == directory) {
        used.conflicts_with = found.file;
        found.conflicts_with = used.file;
      } else {
        found.shadowed_by = used.file;
      }
    }
    plugins.push_back(std::move(found));
  }
}

const PluginSearch::Listing& PluginSearch::whole() const {
  const std::lock_guard lock(parsed_->mutex);
  if (!parsed_->whole) {
    Listing all;
    for (const ListedFile& file : files_) all.add(file, cpu_);
    parsed_->whole = std::move(all);
  }
  return *parsed_->whole;
}

const PluginSearch::Listing& PluginSearch::listing_of(std::string_view name) const {
  const std::lock_guard lock(parsed_->mutex);
  if (parsed_->whole) return *parsed_->whole;
  const auto known = parsed_->by_name.find(name);
  if (known != parsed_->by_name.end()) return known->second;
  Listing some;
  for (const ListedFile& file : files_)
    if (!file.error && file.library.note.find(name) != std::string::npos) some.add(file, cpu_);
  return parsed_->by_name.emplace(name, std::move(some)).first->second;
}

const std::vector<FoundPlugin>& PluginSearch::plugins() const { return whole().plugins; }
const std::vector<RejectedFile>& PluginSearch::rejected() const { return whole().rejected; }

const FoundPlugin& PluginSearch::find(PluginKind kind, std::string_view name, std::vector<std::string> linked) const {
  const std::pair<PluginKind, std::string> key{kind, name};
  // A note may write a name in another way, for example with "\u0061".
  const Listing& some = listing_of(name);
  const Listing& listing = some.first.contains(key) ? some : whole();
  const auto at = listing.first.find(key);
  if (at == listing.first.end()) fail_not_found(kind, name, std::move(linked));
  const FoundPlugin& p = listing.plugins[at->second];
  if (p.conflicts_with.empty()) return p;
  throw LoadError(
      LoadErrorKind::kDuplicate, p.file,
      fmt::format("({}) and '{}' both offer the {} \"{}\"", p.version, p.conflicts_with, kind_name(kind), p.info.name),
      "remove one of them, or name the one you want with file = \"...\"");
}

void PluginSearch::fail_not_found(PluginKind kind, std::string_view name, std::vector<std::string> candidates) const {
  const std::string quoted = "\"" + std::string(name) + "\"";
  if (name.find('/') != std::string_view::npos)
    throw LoadError(LoadErrorKind::kNotFound, "", fmt::format("[B2025] {} is no plugin's name: it has a '/'", quoted),
                    "to load a library by its path, write file = " + quoted);
  for (const RejectedFile& r : rejected()) {
    if (r.plugin == name) throw r.error;
    if (!r.plugin.empty()) continue;
    const std::string stem = fs::path(r.path).stem().string();
    if (stem == name || stem == "lib" + std::string(name)) throw r.error;
    if (is_library_in(r.path, name)) throw r.error;
  }
  std::string elsewhere;
  for (const FoundPlugin& p : plugins()) {
    if (p.info.kind == kind) candidates.push_back(p.info.name);
    if (p.info.name == name && elsewhere.empty()) elsewhere = kind_name(p.info.kind);
  }
  if (!elsewhere.empty()) {
    // "linear" is a model, but in other programs a schedule, our polynomial_decay.
    const std::string ours = help_for_other_plugin(kind_name(kind), name, {});
    throw LoadError(LoadErrorKind::kNotFound, "",
                    fmt::format("[B2025] {} {} is not found, but there is a plugin of that name of the kind {}",
                                kind_name(kind), quoted, elsewhere),
                    ours.empty() ? fmt::format("name it in the section for the kind {}", elsewhere) : ours);
  }
  const std::string near = nearest(name, candidates);
  std::string meant =
      near.empty() ? help_for_other_plugin(kind_name(kind), name, candidates) : "did you mean \"" + near + "\"?";
  if (!meant.empty()) meant += meant.ends_with('?') ? " " : "; ";
  throw LoadError(LoadErrorKind::kNotFound, "",
                  fmt::format("[B2025] {} {} is not found in {}", kind_name(kind), quoted, searched()),
                  meant + "set [plugins] path, BELAY_PLUGIN_PATH or file = \"...\"; `belay plugins` lists what exists");
}

std::string PluginSearch::searched() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < path_.directories.size(); ++i) {
    const std::string& directory = path_.directories[i].path;
    names.push_back(directory + (exists_[i] ? "" : " (does not exist)"));
    for (const RejectedFile& r : rejected())
      if (r.path == directory) names.back() += " (refused: it " + r.error.reason() + ")";
  }
  return names.empty() ? "no directory" : joined(names);
}

}  // namespace belay::runtime
