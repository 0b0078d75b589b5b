// SPDX-License-Identifier: Apache-2.0
// A folder that is this process's alone and for its time: the run of `belay run --short`, the replays of `belay
// bisect`, the trials of `belay reduce`. It is removed with the object, and before the process ends by a signal
// (Signals::die_of) or by the watchdog. A SIGKILL or a crash leaves it there.
#pragma once

#include <string>

namespace belay::runtime {

class TemporaryFolder {
 public:
  // belay-NAME-XXXXXX in the folder that TMPDIR names, or in /tmp; for this user alone. UsageError if it cannot be
  // made, with what to set. One at a time. [main]
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Removes the one that there is, once. Any thread; another one may still be writing into it.
  static void remove_now() noexcept;

 private:
  std::string path_;
};

}  // namespace belay::runtime
