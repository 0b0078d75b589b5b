// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/run_lock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>

#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::uint64_t kMaxText = 4096;

}  // namespace

RunHolder this_process() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) return {"unknown", getpid()};
  return {host, getpid()};
}

std::string holder_text(const RunHolder& holder, const Clock& clock) {
  const auto started = static_cast<std::time_t>(clock.wall_ns() / 1'000'000'000);
  return fmt::format("host {}, pid {}, since {:%Y-%m-%dT%H:%M:%SZ}", holder.host, holder.pid, fmt::gmtime(started));
}

std::string holder_of(const OpenDirectory& directory, std::string_view name) {
  try {
    std::string text = directory.read(name, kMaxText);
    while (text.ends_with('\n')) text.pop_back();
    return escaped(text);
  } catch (const Error&) {
    return "";
  }
}

RunLock RunLock::take(OpenDirectory& run, const Clock& clock, const RunHolder& holder) {
  std::unique_ptr<OpenFile> file = run.try_lock(kLockName);
  if (file == nullptr) {
    const std::string who = holder_of(run, kLockName);
    const std::string own = fmt::format("host {}, pid {},", escaped(holder.host), holder.pid);
    const bool here = who.starts_with(own);
    throw RunInUse(Code::kFailedPrecondition, "[B5112] the run directory '" + escaped(run.path()) + "' is in use by " +
                                                  (here ? "another session of this process" : "another run") +
                                                  (who.empty() ? "" : " (" + who + ")") +
                                                  (here ? ": close that one first, or give this one another directory"
                                                        : ": stop that one, or give this one another run.dir"));
  }
  const std::string text = holder_text(holder, clock) + "\n";
  file->write(text.data(), text.size());
  return RunLock(std::move(file), run.status(kLockName));
}

bool RunLock::in_place(const OpenDirectory& run) const {
  try {
    const FileStatus status = run.status(kLockName);
    return status.device == device_ && status.inode == inode_;
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) return true;
    // If the whole directory is gone, no other run is in it, and writes fail for that reason.
    std::error_code failed;
    return !std::filesystem::exists(run.path(), failed);
  }
}

}  // namespace belay::runtime
