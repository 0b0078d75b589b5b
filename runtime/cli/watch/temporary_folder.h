// SPDX-License-Identifier: Apache-2.0
// A folder that belongs to this process alone, while it runs: the run of `belay run --short`, the replays of `belay
// bisect`, the trials of `belay reduce`. It is removed with the object, and before the process ends by a signal
// (Signals::die_of) or by the watchdog. A SIGKILL or a crash leaves it there.
#pragma once

#include <string>

namespace belay::runtime {

class TemporaryFolder {
 public:
  // Makes belay-NAME-XXXXXX in the folder that TMPDIR names, or in /tmp; only this user can read it. UsageError, with
  // the remedy, if it cannot be made. One at a time. [main]
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Removes the existing folder, once. Any thread may call it; another one may still write into the folder.
  static void remove_now() noexcept;

 private:
  std::string path_;
};

}  // namespace belay::runtime
