// SPDX-License-Identifier: Apache-2.0
// Finds the libraries of a file, like the dynamic linker, or the reasons why it could not. The dynamic linker decides
// what is loaded. But it stops at the first missing library and does not name the file that needs it. This finds all.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

struct Dependency {
  std::string name;                    // the needed name: "libz.so.1"
  std::string path;                    // its file; empty: missing
  std::string problem;                 // the reason why the file cannot be loaded; empty: there is none
  std::vector<std::string> wanted_by;  // files, from the one that needs it up to `path`
  std::vector<std::string> searched;   // the searched directories, if it is missing
};

// Returns all libraries of `path`, directly or through others, each once, breadth first. Empty: the file cannot be
// read. `library_path` is LD_LIBRARY_PATH at the start of the process.
std::vector<Dependency> walk_dependencies(const std::string& path, const std::string& library_path);

// A version of a library's symbols; this system's library lacks it.
struct MissingVersion {
  std::string library;    // "libstdc++.so.6"
  std::string version;    // "GLIBCXX_3.4.32"
  std::string wanted_by;  // file
  std::string newest;     // the newest of this family on this system: "GLIBCXX_3.4.30"; may be empty
};
std::vector<MissingVersion> missing_versions(const std::string& path, const std::string& library_path);

// `path`, or a library that it needs, would load a library from its directories. But this process has already loaded
// another file of this name. The dynamic linker loads only the first one of a name.
struct ShadowedDependency {
  std::string name;    // "libz.so.1"
  std::string own;     // found by its rpath, LD_LIBRARY_PATH or runpath
  std::string loaded;  // the one that it gets
};
// Call it before `path` is loaded. Libraries of the system's directories are the same for all, and are skipped.
std::vector<ShadowedDependency> shadowed_dependencies(const std::string& path, const std::string& library_path);

}  // namespace belay::runtime
