// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/child_commands.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "belay/error.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// What posix_spawn takes, and gives back.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
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

// 0: it could not be started, and errno says why.
pid_t start_command(const ChildCommand& command) {
  std::vector<char*> argv{const_cast<char*>(command.program.c_str())};
  for (const std::string& a : command.arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const SpawnSettings settings(command.log);
  pid_t pid = 0;
  errno =
      ::posix_spawnp(&pid, command.program.c_str(), settings.actions(), settings.attributes(), argv.data(), environ);
  return errno == 0 ? pid : 0;
}

int status_of_child(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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

std::vector<int> run_commands(const std::vector<ChildCommand>& commands) {
  std::vector<pid_t> started;
  std::string failed;
  for (const ChildCommand& command : commands) {
    started.push_back(start_command(command));
    if (started.back() == 0 && failed.empty())
      failed = single_quoted(command.program) + " cannot be started: " + std::strerror(errno);
  }
  std::vector<int> statuses;
  for (const pid_t pid : started) statuses.push_back(pid == 0 ? -1 : status_of_child(pid));
  if (!failed.empty()) fail(Code::kNotFound, failed);
  return statuses;
}

}  // namespace belay::runtime
