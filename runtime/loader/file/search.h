// SPDX-License-Identifier: Apache-2.0
// Searches for plugins in directories. It reads only notes; no plugin code runs.
//
//   const SearchPath path = plugin_search_path(manifest.plugins.path, environment);
//   const PluginSearch search(path, policy, cpu);
//   const FoundPlugin& hook = search.find(PluginKind::kHook, "logging_tensor");
//
// Order: the manifest's [plugins] path, BELAY_PLUGIN_PATH, ~/.local/lib/belay, the installed directory. In each, it
// takes every *.so that is no hidden file, and no folders below. A plugin in an earlier directory shadows one of the
// same kind and name in a later one. Two different files in one directory with the same plugin are an error for that
// name. Links to one file are one file.
//
// The constructor reads the files once. Parsing the notes is most of the work, so find() parses only those that contain
// the name. Afterwards several threads may use an object.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/loader/file/library_file.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/manifest/paths.h"

namespace belay::runtime {

struct SearchDirectory {
  std::string path;    // absolute
  std::string source;  // "the manifest's plugins.path", "BELAY_PLUGIN_PATH" ...
};

struct SearchPath {
  std::vector<SearchDirectory> directories;  // in the order of search
  std::vector<std::string> warnings;         // omitted elements
};

// Empty and relative elements of BELAY_PLUGIN_PATH are left out with a warning, since they would mean the current
// directory.
SearchPath plugin_search_path(const std::vector<std::string>& manifest_path, const Environment& environment);
// Returns the directory in which `cmake --install` puts plugins. It is in the prefix of the running program, also after
// a move of the prefix. Otherwise it is the folder `plugins` beside the program's, as in a build. If neither exists, it
// is in the prefix of the build.
std::string installed_plugin_directory();
// Does the same for the program at this path.
std::string installed_plugin_directory(const std::string& program);

struct FoundPlugin {
  PluginInfo info;
  std::string file;
  FileStamp stamp;  // of the file when its note was read
  std::string version;
  std::string shadowed_by;     // the file used instead; may be empty
  std::string conflicts_with;  // another file of the same directory with the same plugin; may be empty
  std::size_t directory = 0;   // index in directories()
};

// An unusable *.so or plugin in it, or a forbidden directory.
struct RejectedFile {
  std::string path;
  LoadError error;
  std::string plugin = {};  // its name, if the file's others can be used
};

class PluginSearch {
 public:
  // Only the constructor uses `policy`.
  PluginSearch(SearchPath path, FilePolicy& policy, CpuFeatures cpu);

  // Returns the plugin to use. Throws LoadError: duplicate, or not_found, with the directories and the nearest name,
  // also from `linked`. If a file with its name was refused, or its directory, it throws that error.
  const FoundPlugin& find(PluginKind kind, std::string_view name, std::vector<std::string> linked = {}) const;

  const std::vector<SearchDirectory>& directories() const noexcept { return path_.directories; }
  const std::vector<FoundPlugin>& plugins() const;  // in the order of search
  const std::vector<RejectedFile>& rejected() const;
  // Returns the omitted elements of the path, and the files and directories that other users may write.
  const std::vector<std::string>& warnings() const noexcept { return path_.warnings; }
  // Returns "/a, /b (does not exist), /c (refused: it can be written by everybody)", or "no directory".
  std::string searched() const;

 private:
  // A file, or the reason why it cannot be used.
  struct ListedFile {
    std::size_t directory = 0;
    UnreadLibrary library = {};
    std::optional<LoadError> error = {};
  };
  // The content of some files' notes.
  struct Listing {
    std::vector<FoundPlugin> plugins = {};
    std::vector<RejectedFile> rejected = {};
    std::map<std::pair<PluginKind, std::string>, std::size_t> first = {};  // index in `plugins` of the one to use

    void add(const ListedFile& file, const CpuFeatures& cpu);
    void add_plugins(const LibraryFile& library, std::size_t directory);
  };
  // A pointer leads to it, so an object can be moved.
  struct Parsed {
    std::mutex mutex = {};
    std::optional<Listing> whole = {};
    std::map<std::string, Listing, std::less<>> by_name = {};  // of the files whose notes have the name
  };

  void list_directory(std::size_t index, FilePolicy& policy);
  const Listing& whole() const;
  // Returns all files that may have a plugin of this name.
  const Listing& listing_of(std::string_view name) const;
  [[noreturn]] void fail_not_found(PluginKind kind, std::string_view name, std::vector<std::string> candidates) const;

  SearchPath path_;
  CpuFeatures cpu_;
  std::vector<bool> exists_;        // per directory
  std::vector<ListedFile> files_;   // in the order of search, with the forbidden directories
  std::vector<FileIdentity> seen_;  // sorted
  std::unique_ptr<Parsed> parsed_ = std::make_unique<Parsed>();
};

}  // namespace belay::runtime
