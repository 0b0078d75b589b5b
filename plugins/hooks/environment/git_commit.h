// SPDX-License-Identifier: Apache-2.0
// Which commit a working tree is at, read from git's files without git.
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

// Of "COMMIT refs/heads/main" lines.
inline std::string packed(const std::filesystem::path& path, const std::string& ref) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.size() > ref.size() && line.compare(line.size() - ref.size(), ref.size(), ref) == 0 &&
        line[line.size() - ref.size() - 1] == ' ')
      return line.substr(0, line.find(' '));
  return "";
}

// The folder .git of the working tree that `directory` is in; of a linked one what its file .git names.
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

// Of the working tree that `directory` is in; empty where it is in none, or the commit cannot be found. Changes that
// are not committed do not show.
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
