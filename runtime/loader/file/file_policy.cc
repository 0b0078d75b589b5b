// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/file_policy.h"

#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/loader/file/load_error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

bool world_writable(const struct stat& s) {
  return (s.st_mode & S_IWOTH) != 0 && (!S_ISDIR(s.st_mode) || (s.st_mode & S_ISVTX) == 0);
}

std::string canonical(const std::string& path) {
  std::error_code ignored;
  const fs::path resolved = fs::canonical(path, ignored);
  return ignored ? path : resolved.string();
}

// Takes an absolute path.
std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string joined_path(const std::string& directory, const std::string& name) {
  return directory + (directory == "/" ? "" : "/") + name;
}

// Returns "belongs to user 1000", "can be written by its group", or an empty text.
std::string weakness(const struct stat& s, uid_t user) {
  if (s.st_uid != user && s.st_uid != 0) return fmt::format("belongs to user {}, who can replace plugins", s.st_uid);
  if ((s.st_mode & S_IWOTH) != 0)
    return "can be written by everybody (its sticky bit keeps them from replacing plugins)";
  if ((s.st_mode & S_IWGRP) != 0)
    return fmt::format("can be written by group {}, whose members can replace plugins", s.st_gid);
  return "";
}

}  // namespace

FilePolicy::FilePolicy() : user_(::geteuid()) {}

const std::string& FilePolicy::world_writable_above(const std::string& directory) {
  const auto [at, is_new] = world_writable_.try_emplace(directory);
  if (!is_new) return at->second;
  struct stat s {};
  if (::stat(directory.c_str(), &s) == 0 && world_writable(s)) {
    at->second = directory;
  } else if (directory.size() > 1) {
    at->second = world_writable_above(fs::path(directory).parent_path().string());
  }
  return at->second;
}

void FilePolicy::warn(const std::string& what, const std::string& path, const std::string& weakness,
                      std::vector<std::string>& warnings) {
  if (!weakness.empty() && warned_.insert(path).second)
    warnings.push_back(what + " '" + escaped(path) + "' " + weakness);
}

const FilePolicy::Directory& FilePolicy::look_at(const std::string& directory) {
  const auto [at, is_new] = directories_.try_emplace(directory);
  if (!is_new) return at->second;
  Directory& d = at->second;
  d.real = canonical(directory);
  d.offender = world_writable_above(d.real);
  struct stat s {};
  if (::stat(d.real.c_str(), &s) == 0) d.weakness = weakness(s, user_);
  return d;
}

void FilePolicy::check_directory(const std::string& directory, const std::string& file,
                                 std::vector<std::string>& warnings) {
  const Directory& d = look_at(directory);
  if (!d.offender.empty())
    throw LoadError(LoadErrorKind::kInsecure, file.empty() ? directory : file,
                    file.empty() && d.offender == d.real ? "can be written by everybody"
                                                         : "lies in '" + d.offender + "', which everybody can write",
                    "chmod o-w '" + d.offender + "'");
  warn("plugin directory", d.real, d.weakness, warnings);
}

void FilePolicy::check_library(const std::string& path, std::vector<std::string>& warnings) {
  const std::string parent = parent_of(path);
  check_directory(parent, path, warnings);
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return;
  std::string real = joined_path(look_at(parent).real, path.substr(path.rfind('/') + 1)), real_parent = parent;
  if (S_ISLNK(s.st_mode)) {
    real = canonical(path);
    real_parent = parent_of(real);
    check_directory(real_parent, path, warnings);
    if (::stat(real.c_str(), &s) != 0) return;
  }
  if (world_writable(s))
    throw LoadError(LoadErrorKind::kInsecure, path, "can be written by everybody", "chmod o-w '" + real + "'");
  // If the file has the same weakness as its directory, that was reported with the directory.
  const std::string weak = weakness(s, user_);
  if (weak != look_at(real_parent).weakness) warn("plugin", real, weak, warnings);
}

}  // namespace belay::runtime
