// SPDX-License-Identifier: Apache-2.0
// Finds the commit of a working tree in git's files, without git.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace git_files {

inline std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Finds the commit of `ref` among lines "COMMIT refs/heads/main".
inline std::string packed(const std::filesystem::path& path, const std::string& ref) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.size() > ref.size() && line.compare(line.size() - ref.size(), ref.size(), ref) == 0 &&
        line[line.size() - ref.size() - 1] == ' ')
      return line.substr(0, line.find(' '));
  return "";
}

// Returns the folder .git of the working tree around `directory`. A linked tree names its folder in a file .git.
inline std::filesystem::path folder(std::filesystem::path directory) {
  std::error_code failed;
  for (; !directory.empty(); directory = directory.parent_path()) {
    std::filesystem::path git = directory / ".git";
    if (std::filesystem::is_directory(git, failed)) return git;
    const std::string line = first_line(git);
    if (line.rfind("gitdir: ", 0) == 0) return directory / line.substr(8);
    if (directory == directory.root_path()) break;
  }
  return {};
}

}  // namespace git_files

// Returns the commit of the working tree around `directory`. Empty: there is no tree, or its commit cannot be found.
// Changes without a commit do not show.
inline std::string git_commit(const std::string& directory) {
  const std::filesystem::path git = git_files::folder(directory);
  if (git.empty()) return "";
  std::string head = git_files::first_line(git / "HEAD");
  if (head.rfind("ref: ", 0) != 0) return head;
  const std::string ref = head.substr(5), common = git_files::first_line(git / "commondir");
  const std::filesystem::path refs = common.empty() ? git : git / common;
  const std::string commit = git_files::first_line(refs / ref);
  return commit.empty() ? git_files::packed(refs / "packed-refs", ref) : commit;
}
