// SPDX-License-Identifier: Apache-2.0
// Files that a plugin itself writes into the run directory. A symbolic link at the path is refused, because its target
// is not the run's file. Errors are in errno; ELOOP: the path is such a link.
//
//   OutputFile file = open_output_file(std::string(host().run_directory()) + "/losses.csv");
//   if (file == nullptr) host().warning(std::string("losses.csv cannot be written: ") + std::strerror(errno));
//
// All functions work on any thread and keep no state.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "belay/error.h"
#include "belay/host.h"

namespace belay {
inline namespace v0 {

// True if the run itself has, or may get, a file or folder with this name in its directory.
inline bool is_file_of_run(std::string_view name) {
  constexpr std::string_view kUnfinished = ".tmp";
  if (name.size() > kUnfinished.size() && name.substr(name.size() - kUnfinished.size()) == kUnfinished)
    name.remove_suffix(kUnfinished.size());
  for (const std::string_view own :
       {".", "..", "attempt", "attempts", "best", "checkpoint", "eval", "evaluations", "export", "finished", "lock",
        "manifest.toml", "metrics.jsonl", "rendezvous", "report.html", "schema.json"})
    if (name == own) return true;
  for (const std::string_view begin :
       {"before-", "eval_", "events.out.tfevents", "manifest-", "model.ckpt", "rendezvous-"})
    if (name.substr(0, begin.size()) == begin) return true;
  return false;
}

// Checks an option that names a file; call it in a constructor. An empty name passes: most hooks write no file then.
// `shared`: a file of the run to which this hook adds whole lines. INVALID_ARGUMENT, with the option's name and value:
// the name has a '/' or is the run's own.
inline void check_file_name(std::string_view option, std::string_view name, std::string_view shared = {}) {
  const std::string given = "'" + std::string(option) + "' is '" + std::string(name) + "'";
  if (name.find('/') != name.npos) fail(Code::kInvalidArgument, given + "; give a name without '/'");
  if (is_file_of_run(name) && name != shared)
    fail(Code::kInvalidArgument, given + ", which is the run's own file; give another name");
}

// Returns the path of the file in the run directory for the name in an option. INVALID_ARGUMENT: the name is empty,
// check_file_name refuses it, or there is no run directory. `owner` begins that message.
inline std::string path_in_run_directory(const Host& host, std::string_view owner, std::string_view option,
                                         std::string_view name, std::string_view shared = {}) {
  check_file_name(option, name, shared);
  if (name.empty()) fail(Code::kInvalidArgument, "'" + std::string(option) + "' is empty; give the name of a file");
  const std::string directory = host.run_directory();
  if (directory.empty())
    fail(Code::kInvalidArgument, std::string(owner) + " needs the run directory, and this run has none; set [run] dir");
  return directory + "/" + std::string(name);
}

// Closes a C stream. It ignores an error of the last write: call std::fflush first if it matters.
struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
// A C stream that closes itself.
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

// Opens a new, empty file (mode 0666 without the umask's bits) for reading and writing. With `keep` it opens the
// existing file, at its start; ENOENT: it does not exist. Child processes do not inherit it. It never waits: a pipe at
// the path is ENXIO. Null: it failed.
inline OutputFile open_output_file(const std::string& path, bool keep = false) {
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (keep ? 0 : O_CREAT | O_TRUNC);
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags, 0666);
  } while (descriptor < 0 && errno == EINTR);
  struct stat info {};
  if (descriptor >= 0 && ::fstat(descriptor, &info) == 0 && !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    descriptor = -1;
    errno = ENXIO;
  }
  if (descriptor < 0) return nullptr;
  OutputFile file(::fdopen(descriptor, "r+"));
  if (file == nullptr) ::close(descriptor);
  return file;
}

// Replaces the content of a file. It writes another file first ("<path>.part"), so readers never find half a file. It
// does not sync: after a power failure the old file may be back. False: it failed, and errno has the reason. The old
// file is unchanged; the part may be left.
inline bool replace_output_file(const std::string& path, std::string_view content) {
  const std::string part = path + ".part";
  const OutputFile file = open_output_file(part);
  if (file == nullptr) return false;
  while (!content.empty()) {
    const ssize_t n = ::write(::fileno(file.get()), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return std::rename(part.c_str(), path.c_str()) == 0;
}

// Does the same for a file that the training does not need: a failure is one warning for each `warned`, and the
// training continues.
inline void replace_or_warn(const Host& host, const std::string& path, std::string_view content, bool& warned) {
  const Host::DiskCall call(host);
  if (replace_output_file(path, content) || std::exchange(warned, true)) return;
  host.warning("'" + path + "' cannot be written: " + std::strerror(errno) + "; the run continues without it");
}

}  // namespace v0
}  // namespace belay
