// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/child_process.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "belay/detail/parse_options.h"
#include "belay/error.h"
#include "runtime/platform/process/process_copy.h"

namespace belay::runtime {
namespace {

using SteadyClock = std::chrono::steady_clock;

int checked(int result, const char* what) {
  if (result < 0) fail(Code::kInternal, std::string(what) + ": " + std::strerror(errno));
  return result;
}

// A file in memory for the output of the child.
class Capture {
 public:
  explicit Capture(const char* name) : fd_(checked(::memfd_create(name, MFD_CLOEXEC), "memfd_create")) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { ::close(fd_); }
  int fd() const { return fd_; }
  std::string text() const {
    constexpr std::size_t kMost = 64 << 10;
    std::string text(kMost, '\0');
    const ssize_t n = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
  }

 private:
  int fd_;
};

// A word of memory shared with a child and its forks.
class SharedFlag {
 public:
  SharedFlag() : memory_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) fail(Code::kInternal, std::string("mmap: ") + std::strerror(errno));
  }
  SharedFlag(const SharedFlag&) = delete;
  SharedFlag& operator=(const SharedFlag&) = delete;
  ~SharedFlag() { ::munmap(memory_, kBytes); }
  void raise() { *static_cast<volatile int*>(memory_) = 1; }
  bool raised() const { return *static_cast<volatile const int*>(memory_) != 0; }

 private:
  static constexpr std::size_t kBytes = sizeof(int);
  void* memory_;
};

[[noreturn]] void work_in_child(const std::function<std::string()>& work, int out, int err, int report,
                                SharedFlag& copy_came_back) {
  own_process();
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  const std::string text = work();
  if (is_process_copy()) {
    copy_came_back.raise();
    end_now(0);
  }
  std::fflush(nullptr);
  std::cout.flush();
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(report, text.data() + done, text.size() - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  end_now(0);
}

// Reads until the other end is closed. False: that takes too long.
bool read_all(int fd, double seconds, std::string& text) {
  const auto deadline = SteadyClock::now() + std::chrono::duration<double>(seconds);
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, left < 0 ? 0 : static_cast<int>(left) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string ending_of(int status, bool reported) {
  if (WIFSIGNALED(status)) {
    const int s = WTERMSIG(status);
    return fmt::format("crashed with signal {} ({})", s, ::strsignal(s));
  }
  if (WEXITSTATUS(status) != 0 || !reported)
    return fmt::format("ended the process with status {}", WEXITSTATUS(status));
  return "";
}

}  // namespace

ChildOutcome run_in_child(const std::function<std::string()>& work, double seconds) {
  const Capture out("stdout"), err("stderr");
  SharedFlag copy_came_back;
  int pipe[2];
  checked(::pipe2(pipe, O_CLOEXEC), "pipe2");
  std::fflush(nullptr);
  std::cout.flush();
  const pid_t child = checked(::fork(), "fork");
  if (child == 0) {
    ::close(pipe[0]);
    work_in_child(work, out.fd(), err.fd(), pipe[1], copy_came_back);
  }
  ::close(pipe[1]);
  ChildOutcome outcome;
  const bool in_time = read_all(pipe[0], seconds, outcome.report);
  ::close(pipe[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.ending = in_time ? ending_of(status, !outcome.report.empty())
                           : "did not end within " + detail::number_text(seconds) + " s";
  if (copy_came_back.raised() && outcome.ending.empty())
    outcome.ending = "forked the process, and the copy came back from a callback; a copy must call exec or _exit there";
  outcome.output = out.text();
  outcome.errors = err.text();
  return outcome;
}

}  // namespace belay::runtime
