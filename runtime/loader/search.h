// SPDX-License-Identifier: Apache-2.0
// Where plugins are looked for, and what lies there. Everything here reads notes alone; no plugin code runs.
//
//   const SearchPath path = plugin_search_path(manifest.plugins.path, environment);
//   const PluginSearch search(path, policy, cpu);
//   const FoundPlugin& hook = search.find(PluginKind::kHook, "logging_tensor");
//
// Order: the manifest's [plugins] path, BELAY_PLUGIN_PATH, ~/.local/lib/belay, the installed directory. In each, every
// *.so that is no hidden file; folders below are not entered. A plugin in an earlier directory shadows one of the same
// kind and name in a later one. Two different files in one directory that offer the same plugin are an error for that
// name. Links to one file are one file.
//
// The files are read once, by the constructor. What find() is not asked for is not parsed: of the notes, which are most
// of the work, only those that hold the name. Afterwards an object may be used from several threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/loader/library_file.h"
#include "runtime/loader/load_error.h"
#include "runtime/manifest/paths.h"

namespace belay::runtime {

struct SearchDirectory {
  std::string path;    // absolute
  std::string source;  // "the manifest's plugins.path", "BELAY_PLUGIN_PATH" ...
};

struct SearchPath {
  std::vector<SearchDirectory> directories;  // in the order of search
  std::vector<std::string> warnings;         // elements that were left out
};

// Empty and relative elements of BELAY_PLUGIN_PATH are left out with a warning: they would mean the current directory.
SearchPath plugin_search_path(const std::vector<std::string>& manifest_path, const Environment& environment);
// Where `cmake --install` puts plugins: in the prefix that the running program is in, wherever that was moved to; else
// the folder `plugins` beside the program's own, as a build has it; where there is neither, in the prefix of the build.
std::string installed_plugin_directory();
// The same for the program at this path.
std::string installed_plugin_directory(const std::string& program);

struct FoundPlugin {
  PluginInfo info;
  std::string file;
  FileStamp stamp;  // of the file when its note was read
  std::string version;
  std::string shadowed_by;     // the file that is used instead, or empty
  std::string conflicts_with;  // another file of the same directory with the same plugin, or empty
  std::size_t directory = 0;   // index in directories()
};

// A *.so that cannot be used, a plugin of one, or a directory that may not be.
struct RejectedFile {
  std::string path;
  LoadError error;
  std::string plugin = {};  // its name, where the file's others can be used
};

class PluginSearch {
 public:
  // `policy` is used by the constructor alone.
  PluginSearch(SearchPath path, FilePolicy& policy, CpuFeatures cpu);

  // The plugin to use. Throws LoadError: not_found (with the directories and the nearest name, also of those in
  // `linked`), duplicate, or, where a file called after it was refused, or the directory that has one, that error.
  const FoundPlugin& find(PluginKind kind, std::string_view name, std::vector<std::string> linked = {}) const;

  const std::vector<SearchDirectory>& directories() const noexcept { return path_.directories; }
  const std::vector<FoundPlugin>& plugins() const;  // in the order of search
  const std::vector<RejectedFile>& rejected() const;
  // Elements of the path that were left out, and files and directories that others may write.
  const std::vector<std::string>& warnings() const noexcept { return path_.warnings; }
  // "/a, /b (does not exist), /c (refused: it can be written by everybody)", or "no directory".
  std::string searched() const;

 private:
  // A file, or why it cannot be used.
  struct ListedFile {
    std::size_t directory = 0;
    UnreadLibrary library = {};
    std::optional<LoadError> error = {};
  };
  // What the notes of some files hold.
  struct Listing {
    std::vector<FoundPlugin> plugins = {};
    std::vector<RejectedFile> rejected = {};
    std::map<std::pair<PluginKind, std::string>, std::size_t> first = {};  // index in plugins of the one to use

    void add(const ListedFile& file, const CpuFeatures& cpu);
    void add_plugins(const LibraryFile& library, std::size_t directory);
  };
  // Behind a pointer, so that an object can be moved.
  struct Parsed {
    std::mutex mutex = {};
    std::optional<Listing> whole = {};
    std::map<std::string, Listing, std::less<>> by_name = {};  // of the files whose notes hold the name
  };

  void list_directory(std::size_t index, FilePolicy& policy);
  const Listing& whole() const;
  // With all files that may have a plugin of this name.
  const Listing& listing_of(std::string_view name) const;
  [[noreturn]] void fail_not_found(PluginKind kind, std::string_view name, std::vector<std::string> candidates) const;

  SearchPath path_;
  CpuFeatures cpu_;
  std::vector<bool> exists_;        // per directory
  std::vector<ListedFile> files_;   // in the order of search; directories that may not be searched too
  std::vector<FileIdentity> seen_;  // sorted
  std::unique_ptr<Parsed> parsed_ = std::make_unique<Parsed>();
};

}  // namespace belay::runtime
