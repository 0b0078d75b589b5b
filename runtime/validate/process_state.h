// SPDX-License-Identifier: Apache-2.0
// The state of the process that a plugin must not change.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <vector>

#include "runtime/loader/library/load_guard.h"
#include "runtime/platform/process/process_limits.h"

namespace belay::runtime {

// The number of files and threads that this process has open, at construction.
class ProcessResources {
 public:
  ProcessResources();
  // Returns "3 open files and 1 thread"; empty: there are no more.
  std::string more_than(const ProcessResources& before) const;

 private:
  int files_ = 0;
  int threads_ = 0;
};

// Floating-point mode, locale, directory, umask, signal handlers and mask, limits, and the number of open files, at
// construction.
class ProcessState {
 public:
  ProcessState();
  // Returns the changes since then, and restores the floating-point mode and the locale.
  std::vector<std::string> changes();

 private:
  struct Signals {
    std::array<void (*)(int), 65> handlers{};
    sigset_t blocked{};
  };
  static Signals signals();
  static std::string directory();
  static unsigned mask();

  ProcessStateGuard guard_;
  std::string directory_;
  unsigned mask_;
  Signals signals_;
  ProcessLimits limits_;
  int files_;
};

}  // namespace belay::runtime
