#include "runtime/loader/file_policy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/loader/load_error.h"
#include "runtime/platform/text.h"

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

// "belongs to user 1000", "can be written by its group", or empty.
std::string weakness(const struct stat& s, uid_t user) {
  if (s.st_uid != user && s.st_uid != 0)
    return "belongs to user " + std::to_string(s.st_uid) + ", who can replace plugins";
  if ((s.st_mode & S_IWOTH) != 0)
    return "can be written by everybody (its sticky bit keeps them from replacing plugins)";
  if ((s.st_mode & S_IWGRP) != 0)
    return "can be written by group " + std::to_string(s.st_gid) + ", whose members can replace plugins";
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

void FilePolicy::check_directory(const std::string& directory, const std::string& file,
                                 std::vector<std::string>& warnings) {
  const std::string real = canonical(directory);
  const std::string& offender = world_writable_above(real);
  if (!offender.empty())
    throw LoadError(LoadErrorKind::kInsecure, file.empty() ? directory : file,
                    file.empty() && offender == real ? "can be written by everybody"
                                                     : "lies in '" + offender + "', which everybody can write",
                    "chmod o-w '" + offender + "'");
  struct stat s {};
  if (::stat(real.c_str(), &s) == 0) warn("plugin directory", real, weakness(s, user_), warnings);
}

void FilePolicy::check_library(const std::string& path, std::vector<std::string>& warnings) {
  const std::string real = canonical(path);
  const std::string real_parent = fs::path(real).parent_path().string();
  check_directory(fs::path(path).parent_path().string(), path, warnings);
  check_directory(real_parent, path, warnings);
  struct stat s {
  }, in{};
  if (::stat(real.c_str(), &s) != 0 || ::stat(real_parent.c_str(), &in) != 0) return;
  if (world_writable(s))
    throw LoadError(LoadErrorKind::kInsecure, path, "can be written by everybody", "chmod o-w '" + real + "'");
  // A file like its directory was told of with the directory.
  const std::string weak = weakness(s, user_);
  if (weak != weakness(in, user_)) warn("plugin", real, weak, warnings);
}

}  // namespace belay::runtime
