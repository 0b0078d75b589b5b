// SPDX-License-Identifier: Apache-2.0
// Files that a plugin writes into the run directory by itself. A symbolic link in the place of one is refused: the file
// that it leads to is not the run's. Errors are in errno; ELOOP: there is such a link.
//
//   OutputFile file = open_output_file(std::string(host().run_directory()) + "/losses.csv");
//   if (file == nullptr) host().warning(std::string("losses.csv cannot be written: ") + std::strerror(errno));
//
// Any thread; nothing is kept.
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

// Whether the run itself has a file or folder of that name in its directory, or may get one.
inline bool is_file_of_run(std::string_view name) {
  constexpr std::string_view kUnfinished = ".tmp";
  if (name.size() > kUnfinished.size() && name.substr(name.size() - kUnfinished.size()) == kUnfinished)
    name.remove_suffix(kUnfinished.size());
  for (const std::string_view own :
       {".", "..", "attempt", "attempts", "best", "checkpoint", "eval", "evaluations", "export", "finished", "lock",
        "manifest.toml", "metrics.jsonl", "rendezvous", "report.html"})
    if (name == own) return true;
  for (const std::string_view begin :
       {"before-", "eval_", "events.out.tfevents", "manifest-", "model.ckpt", "rendezvous-"})
    if (name.substr(0, begin.size()) == begin) return true;
  return false;
}

// In a constructor, for an option that names a file: INVALID_ARGUMENT where the name has a '/' or is the run's own,
// with the option's name and the value. An empty name passes: most hooks write no file then. `shared`: a file of the
// run's to which this hook adds whole lines.
inline void check_file_name(std::string_view option, std::string_view name, std::string_view shared = {}) {
  const std::string given = "'" + std::string(option) + "' is '" + std::string(name) + "'";
  if (name.find('/') != name.npos) fail(Code::kInvalidArgument, given + "; give a name without '/'");
  if (is_file_of_run(name) && name != shared)
    fail(Code::kInvalidArgument, given + ", which is the run's own file; give another name");
}

// The path of the file in the run directory that an option names; for a plugin that cannot do without it.
// INVALID_ARGUMENT where the name is empty or as check_file_name refuses it, and where there is no run directory;
// `owner` begins that message.
inline std::string path_in_run_directory(const Host& host, std::string_view owner, std::string_view option,
                                         std::string_view name, std::string_view shared = {}) {
  check_file_name(option, name, shared);
  if (name.empty()) fail(Code::kInvalidArgument, "'" + std::string(option) + "' is empty; give the name of a file");
  const std::string directory = host.run_directory();
  if (directory.empty())
    fail(Code::kInvalidArgument, std::string(owner) + " needs the run directory, and this run has none; set [run] dir");
  return directory + "/" + std::string(name);
}

// What closes it; an error of the last write is lost there: call std::fflush before where it matters.
struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
// A C stream that closes itself.
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

// A new, empty file (mode 0666 without the umask's bits), or with `keep` the one that is there, from its start, for
// reading and writing: where there is none, null with ENOENT. Not inherited by child processes, and never waited for:
// a pipe in its place is ENXIO. Null: it failed.
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

// Replaces a file by one with this content; it is written under another name first ("<path>.part"), so that half a file
// is never found. It is not synced: after a power failure the old one may be there. False: it failed, errno says why,
// the old file is as it was, and the part may be left.
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

// The same for a file without which the training continues, as it does for all that only watches: what fails is a
// warning, once for each `warned`.
inline void replace_or_warn(const Host& host, const std::string& path, std::string_view content, bool& warned) {
  const Host::DiskCall call(host);
  if (replace_output_file(path, content) || std::exchange(warned, true)) return;
  host.warning("'" + path + "' cannot be written: " + std::strerror(errno) + "; the run continues without it");
}

}  // namespace v0
}  // namespace belay
