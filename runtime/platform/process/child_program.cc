// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The arguments of posix_spawn.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  const posix_spawn_file_actions_t* actions() const noexcept { return &actions_; }
  const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Returns 0 if it could not be started; errno has the reason.
pid_t start(const ChildProgram& child) {
  std::vector<char*> argv{const_cast<char*>(child.program.c_str())};
  for (const std::string& a : child.arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const SpawnSettings settings(child.log);
  pid_t pid = 0;
  errno = ::posix_spawnp(&pid, child.program.c_str(), settings.actions(), settings.attributes(), argv.data(), environ);
  return errno == 0 ? pid : 0;
}

// False if the time is over first, or if there is a signal.
bool ends_before(pid_t pid, SteadyClock::time_point limit, const std::atomic<int>* signal) {
  const long most_ms = signal == nullptr ? 60'000 : 50;
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return true;  // an old kernel: there is no limit
  bool ended = false;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - SteadyClock::now()).count();
    pollfd process{descriptor, POLLIN, 0};
    ended = ::poll(&process, 1, static_cast<int>(std::clamp<long>(left, 0, most_ms))) > 0;
    if (ended || left <= 0 || (signal != nullptr && *signal != 0)) break;
  }
  ::close(descriptor);
  return ended;
}

ProgramEnd wait_for(pid_t pid, SteadyClock::time_point limit, const std::atomic<int>* signal) {
  ProgramEnd end;
  if (!ends_before(pid, limit, signal)) {
    end.timed_out = true;
    ::kill(pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return {1, end.timed_out};
  end.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

}  // namespace

std::string this_program() {
  constexpr const char* kSelf = "/proc/self/exe";
  char path[PATH_MAX];
  const ssize_t n = ::readlink(kSelf, path, sizeof(path) - 1);
  if (n <= 0) return kSelf;
  path[n] = '\0';
  return ::access(path, X_OK) == 0 ? path : kSelf;
}

std::vector<ProgramEnd> run_programs(const std::vector<ChildProgram>& programs, double seconds,
                                     const std::atomic<int>* signal) {
  const auto limit =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  std::vector<pid_t> started;
  std::string failed;
  for (const ChildProgram& child : programs) {
    started.push_back(start(child));
    if (started.back() == 0 && failed.empty())
      failed = single_quoted(child.program) + " cannot be started: " + std::strerror(errno);
  }
  std::vector<ProgramEnd> ends;
  for (const pid_t pid : started) ends.push_back(pid == 0 ? ProgramEnd{-1, false} : wait_for(pid, limit, signal));
  if (!failed.empty()) fail(Code::kNotFound, failed);
  return ends;
}

}  // namespace belay::runtime
