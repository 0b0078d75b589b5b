// SPDX-License-Identifier: Apache-2.0
// Who may have put a plugin where it lies. A file or directory that everybody can write, or a parent of one, is
// refused: anybody could have run code as this user. Group-writable, and belonging to somebody else than this user or
// root, are warnings. No key allows what is refused. A sticky bit (as /tmp has) keeps others from replacing what is
// there.
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
  // As if run by that user, for tests.
  explicit FilePolicy(uid_t user) : user_(user) {}

  // Checks a directory and its parents, following links. Throws LoadError(insecure) about `file`, or about the
  // directory itself where `file` is empty. Each warning is given once, so one policy serves all that look.
  void check_directory(const std::string& directory, const std::string& file, std::vector<std::string>& warnings);
  // Checks an absolute path of a library: where it is named, where links lead, and itself.
  void check_library(const std::string& path, std::vector<std::string>& warnings);

 private:
  struct Directory {
    std::string real;      // where links lead
    std::string offender;  // it or its first parent that everybody can write; empty: none
    std::string weakness;  // to warn of; empty: none
  };
  // Each is looked at once: a search asks about the same few directories for every file in them.
  const Directory& look_at(const std::string& directory);
  const std::string& world_writable_above(const std::string& directory);
  void warn(const std::string& what, const std::string& path, const std::string& weakness,
            std::vector<std::string>& warnings);

  uid_t user_;
  std::map<std::string, Directory> directories_;       // by the path that was asked for
  std::map<std::string, std::string> world_writable_;  // by real path: it or its first parent that is; empty: none
  std::set<std::string> warned_;                       // paths
};

}  // namespace belay::runtime
