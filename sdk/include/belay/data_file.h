// SPDX-License-Identifier: Apache-2.0
// Checks of the data files that a manifest names. Errors name the option, the file and the fix. Use them in an input's
// spec and open, before any read.
//
//   const std::uint64_t bytes = data_file_size("path", options.path.string());
//   content_ = in_memory("path", options.path.string(), bytes, [&] { return read_all(options.path.string()); });
//
//   [B3046] path: there is no file '/data/tran.csv' (did you mean "train.csv"?)                NOT_FOUND
//   [B3047] path: '/data' is a folder; name a file in it                                       INVALID_ARGUMENT
//   [B3047] path: '/data/key' cannot be read: Permission denied                                PERMISSION_DENIED
//   [B3048] path: '/data/a.csv' is a pointer of Git LFS: git lfs pull fetches the file itself  FAILED_PRECONDITION
//   [B3049] path: '/data/all.csv' does not fit into the memory: it needs 64000000000 bytes ... RESOURCE_EXHAUSTED
//   [B3050] path: '/data/a.csv' (entry 1) and '/data/./a.csv' (entry 2) are one file ...       INVALID_ARGUMENT
//
// All functions work on any thread and keep no state.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "belay/file_kind.h"
#include "belay/nearest.h"

namespace belay {
inline namespace v0 {
namespace detail {

// Throws NOT_FOUND with the nearest name in the folder, or with the reason that the folder cannot be opened.
[[noreturn]] inline void fail_missing_file(std::string_view option, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string text = "[B3046] " + std::string(option) + ": there is no file '" + path + "'";
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
  if (entries == nullptr) fail(Code::kNotFound, text + ": the folder cannot be opened: " + std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries.get())) names.emplace_back(entry->d_name);
  fail(Code::kNotFound, text + did_you_mean(path.substr(slash + 1), names));
}

// Refuses the pointer that a git repository has in place of a file that was not fetched, with FAILED_PRECONDITION. Read
// as text it would be data.
inline void refuse_pointer(const std::string& prefix, const std::string& path, std::uint64_t size) {
  constexpr std::uint64_t kMost = 1024;  // limit in the specification of Git LFS
  if (size == 0 || size >= kMost) return;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;  // the reader reports the reason
  char bytes[64];
  const ssize_t got = read(fd, bytes, sizeof(bytes));
  close(fd);
  const FileKind kind = pointer_kind({bytes, static_cast<std::size_t>(got < 0 ? 0 : got)});
  if (kind.name.empty()) return;
  fail(Code::kFailedPrecondition, "[B3048] " + prefix + "is " + std::string(kind.name) + ": " + std::string(kind.help));
}

}  // namespace detail

// Returns the size in bytes of a regular file that this process may read; it follows symbolic links. Otherwise it
// throws the Error that an input's spec or open should throw. NOT_FOUND, with the nearest name in the folder: the file
// does not exist. PERMISSION_DENIED: it cannot be read. INVALID_ARGUMENT: an empty path, a folder or a device.
// FAILED_PRECONDITION: a pointer of Git LFS or git-annex. `option` is the name of the manifest's option; messages begin
// with it. An empty file is not an error here: 0.
inline std::uint64_t data_file_size(std::string_view option, const std::string& path) {
  struct stat status {};
  const std::string prefix = std::string(option) + ": '" + path + "' ";
  if (path.empty()) fail(Code::kInvalidArgument, "[B3047] " + std::string(option) + ": the file name is empty");
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) detail::fail_missing_file(option, path);
    fail(errno == EACCES ? Code::kPermissionDenied : Code::kInvalidArgument,
         "[B3047] " + prefix + "cannot be read: " + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) fail(Code::kInvalidArgument, "[B3047] " + prefix + "is a folder; name a file in it");
  if (!S_ISREG(status.st_mode)) fail(Code::kInvalidArgument, "[B3047] " + prefix + "is no regular file");
  if (access(path.c_str(), R_OK) != 0)
    fail(Code::kPermissionDenied, "[B3047] " + prefix + "cannot be read: " + std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  detail::refuse_pointer(prefix, path, size);
  return size;
}

// A file of a list, and the entry of the option that named it: the file itself, or a pattern.
struct ListedFile {
  std::string path;
  std::size_t entry = 0;  // from 0
};

// Refuses a list in which two entries are one file, by any path or link. Its examples would be read twice, and those of
// the training would be in the evaluation. INVALID_ARGUMENT names both entries. Files that do not exist are not
// compared.
inline void refuse_repeated_files(std::string_view option, const std::vector<std::string>& entries,
                                  const std::vector<ListedFile>& files) {
  std::map<std::pair<dev_t, ino_t>, std::size_t> known;
  for (std::size_t i = 0; i < files.size(); ++i) {
    struct stat status {};
    if (stat(files[i].path.c_str(), &status) != 0) continue;
    const auto [first, added] = known.emplace(std::pair(status.st_dev, status.st_ino), i);
    if (added) continue;
    const auto shown = [&](const ListedFile& file) {
      return "'" + entries[file.entry] + "' (entry " + std::to_string(file.entry + 1) + ")";
    };
    const ListedFile &one = files[first->second], &other = files[i];
    const bool names_it = one.path == entries[one.entry] && other.path == entries[other.entry];
    fail(Code::kInvalidArgument,
         "[B3050] " + std::string(option) + ": " +
             (one.entry == other.entry ? shown(one) + " names the file '" + other.path + "' twice"
                                       : shown(one) + " and " + shown(other) + " are one file") +
             (names_it || one.entry == other.entry ? "" : ", '" + other.path + "'") +
             ", whose examples would be read twice; leave one out");
  }
}
// Does the same for a list without patterns.
inline void refuse_repeated_files(std::string_view option, const std::vector<std::string>& paths) {
  std::vector<ListedFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], i});
  refuse_repeated_files(option, paths, files);
}

// Calls f and returns its result. f brings at least `bytes` bytes of a data file into memory. RESOURCE_EXHAUSTED, with
// the file's name: the machine has less memory than `bytes`, or f runs out of it (std::bad_alloc, std::length_error).
// In the first case f is not called. Other exceptions of f pass. `bytes` may be a lower estimate, such as a compressed
// file's size.
template <class F>
auto in_memory(std::string_view option, const std::string& path, std::uint64_t bytes, F&& f) {
  const auto too_large = [&] {
    fail(Code::kResourceExhausted, "[B3049] " + std::string(option) + ": '" + path +
                                       "' does not fit into the memory: it needs " + std::to_string(bytes) +
                                       " bytes or more; give a smaller file, or several");
  };
  // An allocation beyond the machine's memory may succeed (overcommit) and end the process later.
  const std::uint64_t machine =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > machine) too_large();
  try {
    return f();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  too_large();
  std::abort();  // not reached
}

}  // namespace v0
}  // namespace belay
