// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "belay/error.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Starts it with the writing end of a pipe as its standard error.
class Spawn {
 public:
  explicit Spawn(int errors) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  pid_t start(const std::string& path, const std::vector<std::string>& arguments) {
    std::vector<char*> argv{const_cast<char*>(path.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    pid_t process = -1;
    const int error = ::posix_spawn(&process, path.c_str(), &files_, &attributes_, argv.data(), environ);
    if (error != 0)
      fail(error == ENOENT ? Code::kNotFound : Code::kInternal,
           "the program " + escaped(path) + " cannot be started: " + std::strerror(error));
    return process;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// Until its end closes the pipe; false where the time is over first.
bool read_all(int from, SteadyClock::time_point end, std::string& into) {
  std::array<char, 65536> buffer;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now()).count();
    if (left <= 0) return false;
    pollfd descriptor{from, POLLIN, 0};
    if (::poll(&descriptor, 1, static_cast<int>(std::min<long>(left, 1000))) <= 0) continue;
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    into.append(buffer.data(), static_cast<std::size_t>(n));
    if (into.size() > kMostErrors) into.erase(0, into.size() - kMostErrors);
  }
}

}  // namespace

ProgramOutcome run_program(const std::string& path, const std::vector<std::string>& arguments, double seconds) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    fail(Code::kResourceExhausted, std::string("a pipe to another program cannot be made: ") + std::strerror(errno));
  ProgramOutcome outcome;
  pid_t process = -1;
  try {
    process = Spawn(pipe[1]).start(path, arguments);
  } catch (...) {
    ::close(pipe[0]), ::close(pipe[1]);
    throw;
  }
  ::close(pipe[1]);
  const auto end =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  if (!read_all(pipe[0], end, outcome.errors)) {
    outcome.timed_out = true;
    ::kill(process, SIGKILL);
  }
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace belay::runtime
