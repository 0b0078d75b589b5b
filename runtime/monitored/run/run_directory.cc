// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

namespace {

namespace fs = std::filesystem;

// Returns the missing directories of the path, the innermost first.
std::vector<std::string> missing_directories(const FileSystem& files, const std::string& path) {
  std::vector<std::string> missing;
  for (fs::path at = path; !at.empty() && !files.exists(at.string()); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at.string());
    if (at == at.parent_path()) break;
  }
  return missing;
}

// The run starts also if the mark cannot be read.
void tell_last_attempt(OpenDirectory& run, Logger& log) {
  try {
    if (const std::string how = AttemptMark::last_attempt(run); !how.empty()) log.warning("", how);
    if (run.exists(kAttemptName)) run.remove(kAttemptName);
  } catch (const Error& e) {
    log.warning("", std::string("what the attempt before left cannot be read: ") + e.what());
  }
}

// Returns true for a place of the system itself. --from-scratch would move its content aside, and a run's user may be
// root.
bool is_of_system(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  if (error || !real.is_absolute()) return false;
  std::vector<std::string> parts;
  for (const fs::path& part : real.relative_path())
    if (!part.empty()) parts.push_back(part.string());
  if (parts.empty()) return true;
  const auto among = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), parts[0]) != names.end();
  };
  if (parts.size() == 1 && among({"dev", "home", "opt", "run", "tmp", "var"})) return true;
  if (parts[0] == "usr") return parts.size() == 1 || (parts[1] != "local" && parts[1] != "src");
  return among({"bin", "boot", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys"});
}

}  // namespace

RunDirectory RunDirectory::open(FileSystem& files, const std::string& path, const Clock& clock, Logger& log) {
  if (is_of_system(path))
    fail(Code::kPermissionDenied,
         "[B5020] '" + escaped(path) + "' belongs to the system; a run takes a directory that holds nothing else");
  std::vector<std::string> made = missing_directories(files, path);
  std::unique_ptr<OpenDirectory> directory = files.make_directories(path);
  constexpr std::uint32_t kWorldWritable = 0002, kSticky = 01000;
  const FileStatus status = files.status(path);
  if ((status.mode & kWorldWritable) != 0 && (status.mode & kSticky) == 0)
    fail(Code::kPermissionDenied, "[B5020] the run directory '" + escaped(path) +
                                      "' may be written by everybody; run: chmod o-w '" + escaped(path) + "'");
  RunLock lock = RunLock::take(*directory, clock);
  tell_last_attempt(*directory, log);
  remove_leftovers(*directory, log);
  return RunDirectory(std::make_unique<LockedDirectory>(std::move(directory), std::move(lock)), std::move(made));
}

AttemptMark* RunDirectory::mark_attempt(const Clock& clock, Logger& log) {
  try {
    mark_ = std::make_unique<AttemptMark>(*directory_, holder_text(this_process(), clock));
    mark_->remove_at_end(*directory_, made_);
  } catch (const Error& e) {
    log.warning("", std::string("this attempt is not marked (") + e.what() +
                        "): if a plugin ends the process without a word, the next start cannot name it");
  }
  return mark_.get();
}

}  // namespace belay::runtime
