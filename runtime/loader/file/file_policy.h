// SPDX-License-Identifier: Apache-2.0
// Checks who may have put a plugin at its place. If everybody can write a file or directory, or a parent of one, it is
// refused: anybody could have run code as this user. Group-writable files, and files of others than this user or root,
// give warnings. No key allows a refused file. A sticky bit (as on /tmp) keeps others from replacing the entries.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace belay::runtime {

class FilePolicy {
 public:
  FilePolicy();
  // Checks as if that user ran it, for tests.
  explicit FilePolicy(uid_t user) : user_(user) {}

  // Checks a directory and its parents, following links. Throws LoadError(insecure) about `file`, or about the
  // directory itself if `file` is empty. Each warning is given once, so one policy serves all callers.
  void check_directory(const std::string& directory, const std::string& file, std::vector<std::string>& warnings);
  // Checks an absolute path of a library: its named place, the target of links, and the file itself.
  void check_library(const std::string& path, std::vector<std::string>& warnings);

 private:
  struct Directory {
    std::string real;      // the target of links
    std::string offender;  // it or its first parent that everybody can write; empty: none
    std::string weakness;  // for a warning; empty: none
  };
  // Reads each directory once, since a search asks about the same few directories for every file in them.
  const Directory& look_at(const std::string& directory);
  const std::string& world_writable_above(const std::string& directory);
  void warn(const std::string& what, const std::string& path, const std::string& weakness,
            std::vector<std::string>& warnings);

  uid_t user_;
  std::map<std::string, Directory> directories_;       // by the requested path
  std::map<std::string, std::string> world_writable_;  // by real path: it or its first parent that is; empty: none
  std::set<std::string> warned_;                       // paths
};

}  // namespace belay::runtime
