// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/process_state.h"

#include <fmt/core.h>

#include <sys/stat.h>

#include <cstring>
#include <filesystem>

namespace fs = std::filesystem;

namespace belay::runtime {
namespace {

int entries(const char* directory) {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(directory)) ++n;
  return n;
}

std::string counted(int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

ProcessResources::ProcessResources() : files_(entries("/proc/self/fd")), threads_(entries("/proc/self/task")) {}

std::string ProcessResources::more_than(const ProcessResources& before) const {
  std::string text;
  if (files_ > before.files_) text = counted(files_ - before.files_, "open file");
  if (threads_ > before.threads_)
    text += (text.empty() ? "" : " and ") + counted(threads_ - before.threads_, "running thread");
  return text;
}

ProcessState::ProcessState()
    : directory_(directory()), mask_(mask()), signals_(signals()), files_(entries("/proc/self/fd")) {}

std::vector<std::string> ProcessState::changes() {
  std::vector<std::string> changed = guard_.restore();
  if (!limits_.changes().empty()) changed.emplace_back("a limit of the process (setrlimit)");
  // If no file can be opened any more, they cannot be counted.
  if (changed.empty() && entries("/proc/self/fd") < files_) changed.emplace_back("files of the host, which it closed");
  if (directory() != directory_) changed.emplace_back("the current directory");
  if (mask() != mask_) changed.emplace_back("the umask");
  const Signals now = signals();
  for (int s = 1; s < static_cast<int>(now.handlers.size()); ++s) {
    const auto i = static_cast<std::size_t>(s);
    if (now.handlers[i] != signals_.handlers[i])
      changed.push_back(fmt::format("the handler of signal {} ({})", s, ::strsignal(s)));
    if (sigismember(&now.blocked, s) != sigismember(&signals_.blocked, s))
      changed.push_back(fmt::format("whether signal {} ({}) is blocked", s, ::strsignal(s)));
  }
  return changed;
}

ProcessState::Signals ProcessState::signals() {
  Signals all;
  for (int s = 1; s < static_cast<int>(all.handlers.size()); ++s) {
    struct sigaction action {};
    if (::sigaction(s, nullptr, &action) == 0) all.handlers[static_cast<std::size_t>(s)] = action.sa_handler;
  }
  ::pthread_sigmask(SIG_BLOCK, nullptr, &all.blocked);
  return all;
}

std::string ProcessState::directory() {
  std::error_code error;
  return fs::current_path(error).string();
}

unsigned ProcessState::mask() {
  const mode_t mask = ::umask(022);
  ::umask(mask);
  return mask;
}

}  // namespace belay::runtime
