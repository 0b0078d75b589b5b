// SPDX-License-Identifier: Apache-2.0
// What a plugin must leave as it was: the process that it lives in.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <vector>

#include "runtime/loader/load_guard.h"
#include "runtime/platform/process_limits.h"

namespace belay::runtime {

// How many files and threads this process has open, at the moment of construction.
class ProcessResources {
 public:
  ProcessResources();
  // "3 open files and 1 thread"; empty where there are no more.
  std::string more_than(const ProcessResources& before) const;

 private:
  int files_ = 0;
  int threads_ = 0;
};

// Floating-point mode, locale, directory, umask, signal handlers and mask, limits, and how many files are open, at the
// moment of construction.
class ProcessState {
 public:
  ProcessState();
  // What has changed since, and puts the floating-point mode and the locale back.
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
