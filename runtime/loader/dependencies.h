// SPDX-License-Identifier: Apache-2.0
// The libraries that a file needs, found the way the dynamic linker finds them, and why it could not. The dynamic
// linker decides what is loaded; it stops at the first library that it misses and does not say who needs it. This
// finds all.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

struct Dependency {
  std::string name;                    // as needed: "libz.so.1"
  std::string path;                    // where it is, or empty: missing
  std::string problem;                 // why the file there cannot be loaded, or empty
  std::vector<std::string> wanted_by;  // files, from the one that needs it up to the one asked about
  std::vector<std::string> searched;   // directories, where it is missing
};

// All that `path` needs, itself or through others; each once, breadth first. Of a file that cannot be read: nothing.
// `library_path` is LD_LIBRARY_PATH as it was when the process started.
std::vector<Dependency> walk_dependencies(const std::string& path, const std::string& library_path);

// A version of a library's symbols that the library on this system does not have.
struct MissingVersion {
  std::string library;    // "libstdc++.so.6"
  std::string version;    // "GLIBCXX_3.4.32"
  std::string wanted_by;  // file
  std::string newest;     // of that family, that the system has: "GLIBCXX_3.4.30"; may be empty
};
std::vector<MissingVersion> missing_versions(const std::string& path, const std::string& library_path);

// A library that `path`, or one that it needs, would have from its own directories, had this process not got another
// file of that name: the dynamic linker loads one library per name, the first.
struct ShadowedDependency {
  std::string name;    // "libz.so.1"
  std::string own;     // what its rpath, LD_LIBRARY_PATH or runpath lead to
  std::string loaded;  // what it gets
};
// To be asked before `path` is loaded. Libraries of the system's directories are the same for all and not looked at.
std::vector<ShadowedDependency> shadowed_dependencies(const std::string& path, const std::string& library_path);

}  // namespace belay::runtime
