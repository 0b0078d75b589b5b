// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/dependencies.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/loader/file/elf_file.h"
#include "runtime/loader/file/ld_cache.h"
#include "runtime/loader/file/library_file.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr const char* kTriplet = "x86_64-linux-gnu";
#else
constexpr const char* kTriplet = "aarch64-linux-gnu";
#endif

constexpr std::size_t kMaxLibraries = 4096;

std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end != begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

// Splits a search path and replaces the linker's variables.
std::vector<std::string> expanded(const std::string& search_path, const std::string& file) {
  std::vector<std::string> directories = split_path(search_path);
  const std::string origin = fs::path(file).parent_path().string();
  for (std::string& directory : directories) {
    for (const char* name : {"${ORIGIN}", "$ORIGIN"}) replace_all(directory, name, origin);
    for (const char* name : {"${LIB}", "$LIB"}) replace_all(directory, name, std::string("lib/") + kTriplet);
  }
  return directories;
}

// Returns the path of this process's library of this name. It serves every later need of the name. This loads nothing.
std::string loaded_path(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return "";
  struct link_map* map = nullptr;
  std::string path;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path = map->l_name;
  ::dlclose(handle);
  return path;
}

// The facts about one library.
struct Library {
  std::string path;
  ElfDynamic dynamic;
  std::vector<ElfVersionNeed> version_needs;
  const Library* wanted_by = nullptr;
};

class Walk {
 public:
  explicit Walk(const std::string& library_path) : library_path_(split_path(library_path)) {}

  std::vector<Dependency> run(const std::string& path) {
    if (!read(path, nullptr)) return {};
    std::vector<Dependency> found;
    for (std::size_t i = 0; i < libraries_.size() && i < kMaxLibraries; ++i) {
      const Library& library = *libraries_[i];
      for (const std::string& name : library.dynamic.needed) {
        if (!seen_.insert(name).second) continue;
        found.push_back(resolve(name, library));
      }
    }
    return found;
  }
  std::vector<ShadowedDependency> shadowed(const std::string& path) {
    if (!read(path, nullptr)) return {};
    std::vector<ShadowedDependency> found;
    for (std::size_t i = 0; i < libraries_.size() && i < kMaxLibraries; ++i) {
      const Library& library = *libraries_[i];
      for (const std::string& name : library.dynamic.needed) {
        if (name.find('/') != std::string::npos || !seen_.insert(name).second) continue;
        const std::string own = first_existing(name, own_directories(library));
        if (own.empty()) continue;
        const std::string loaded = loaded_path(name);
        std::error_code ignored;
        if (loaded.empty())
          read(own, &library);
        else if (!fs::equivalent(own, loaded, ignored))
          found.push_back({name, own, loaded});
      }
    }
    return found;
  }
  const std::vector<std::unique_ptr<Library>>& libraries() const { return libraries_; }

 private:
  static std::string first_existing(const std::string& name, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories) {
      std::error_code ignored;
      const fs::path file = fs::path(directory) / name;
      if (fs::exists(file, ignored)) return file.string();
    }
    return "";
  }
  // Reads a library's headers and remembers it. Returns the problem; none: it was read.
  std::optional<std::string> read_problem(const std::string& path, const Library* wanted_by, LoadErrorKind& kind) {
    try {
      const OpenLibrary opened = open_library(path);
      const ElfFile elf(*opened.bytes, path);
      auto library = std::make_unique<Library>();
      library->path = path;
      library->dynamic = elf.dynamic();
      library->version_needs = elf.version_needs();
      library->wanted_by = wanted_by;
      if (!library->dynamic.soname.empty()) seen_.insert(library->dynamic.soname);
      libraries_.push_back(std::move(library));
      return std::nullopt;
    } catch (const LoadError& e) {
      kind = e.kind();
      return e.reason();
    }
  }
  bool read(const std::string& path, const Library* wanted_by) {
    LoadErrorKind ignored{};
    return !read_problem(path, wanted_by, ignored);
  }

  Dependency resolve(const std::string& name, const Library& library) {
    Dependency d;
    d.name = name;
    for (const Library* by = &library; by != nullptr; by = by->wanted_by) d.wanted_by.push_back(by->path);
    std::vector<std::string> places = candidates(name, library, d.searched);
    if (const std::string loaded = loaded_path(name); !loaded.empty()) places.insert(places.begin(), loaded);
    for (const std::string& candidate : places) {
      std::error_code ignored;
      if (!fs::exists(candidate, ignored)) continue;
      LoadErrorKind kind{};
      const auto problem = read_problem(candidate, &library, kind);
      if (problem && kind == LoadErrorKind::kWrongMachine) continue;  // like the dynamic linker
      d.path = candidate;
      d.problem = problem.value_or("");
      d.searched.clear();
      break;
    }
    return d;
  }

  // Returns the directories before the system's: rpath, LD_LIBRARY_PATH, runpath.
  std::vector<std::string> own_directories(const Library& library) const {
    std::vector<std::string> directories;
    const auto add = [&](const std::vector<std::string>& more) {
      directories.insert(directories.end(), more.begin(), more.end());
    };
    if (library.dynamic.runpath.empty())
      for (const Library* by = &library; by != nullptr; by = by->wanted_by)
        if (by->dynamic.runpath.empty()) add(expanded(by->dynamic.rpath, by->path));
    add(library_path_);
    add(expanded(library.dynamic.runpath, library.path));
    return directories;
  }

  std::vector<std::string> candidates(const std::string& name, const Library& library,
                                      std::vector<std::string>& searched) {
    if (name.find('/') != std::string::npos) return {name};
    const std::vector<std::string> directories = own_directories(library);
    std::vector<std::string> files;
    files.reserve(directories.size());
    for (const std::string& directory : directories) files.push_back((fs::path(directory) / name).string());
    searched = directories;
    if (!cache_) cache_ = read_ld_cache();
    searched.emplace_back("the system's libraries (ld.so.cache)");
    if (const auto at = cache_->find(name); at != cache_->end()) files.push_back(at->second);
    for (const std::string& base : {std::string("/lib/") + kTriplet, std::string("/usr/lib/") + kTriplet,
                                    std::string("/lib"), std::string("/usr/lib")})
      files.push_back(base + "/" + name);
    return files;
  }

  std::vector<std::string> library_path_;
  std::optional<std::map<std::string, std::string, std::less<>>> cache_;
  std::vector<std::unique_ptr<Library>> libraries_;  // in the order of the search
  std::set<std::string> seen_;                       // names
};

// Returns "GLIBCXX_" for "GLIBCXX_3.4.32".
std::string family(const std::string& version) {
  const auto digit = std::find_if(version.begin(), version.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return std::string(version.begin(), digit);
}

std::vector<int> numbers(const std::string& version) {
  std::vector<int> all;
  for (std::size_t i = 0; i < version.size();) {
    if (std::isdigit(static_cast<unsigned char>(version[i])) == 0) {
      ++i;
      continue;
    }
    int n = 0;
    for (; i < version.size() && std::isdigit(static_cast<unsigned char>(version[i])) != 0 && n < 1'000'000; ++i)
      n = n * 10 + (version[i] - '0');
    all.push_back(n);
  }
  return all;
}

std::string newest_of(const std::string& wanted, const std::vector<std::string>& offered) {
  std::string best;
  for (const std::string& v : offered)
    if (family(v) == family(wanted) && (best.empty() || numbers(best) < numbers(v))) best = v;
  return best;
}

}  // namespace

std::vector<Dependency> walk_dependencies(const std::string& path, const std::string& library_path) {
  return Walk(library_path).run(path);
}

std::vector<ShadowedDependency> shadowed_dependencies(const std::string& path, const std::string& library_path) {
  return Walk(library_path).shadowed(path);
}

std::vector<MissingVersion> missing_versions(const std::string& path, const std::string& library_path) {
  Walk walk(library_path);
  std::map<std::string, std::vector<std::string>> offered;  // by name
  for (const Dependency& d : walk.run(path)) {
    if (d.path.empty() || !d.problem.empty()) continue;
    try {
      const OpenLibrary opened = open_library(d.path);
      offered[d.name] = ElfFile(*opened.bytes, d.path).version_definitions();
    } catch (const LoadError&) {
      // It was readable a moment ago. Its versions stay unknown.
    }
  }
  std::vector<MissingVersion> missing;
  for (const auto& library : walk.libraries()) {
    for (const ElfVersionNeed& need : library->version_needs) {
      const auto at = offered.find(need.library);
      // A library without versions serves every version, with a warning from the linker.
      if (at == offered.end() || at->second.empty()) continue;
      if (std::find(at->second.begin(), at->second.end(), need.version) != at->second.end()) continue;
      missing.push_back({need.library, need.version, library->path, newest_of(need.version, at->second)});
    }
  }
  return missing;
}

}  // namespace belay::runtime
