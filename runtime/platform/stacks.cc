#include "runtime/platform/stacks.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace belay::runtime {
namespace {

constexpr int kMostFrames = 128;

// The answer of the thread that was asked last. The handler may only write here and count.
void* frames[kMostFrames];
std::atomic<int> frame_count{0};
std::atomic<int> answered{0};
std::atomic<int> expected{0};

int stack_signal() { return SIGRTMIN + 4; }

void answer(int) {
  const int saved_errno = errno;
  const int want = expected.load();
  frame_count = backtrace(frames, kMostFrames);
  answered = want;
  errno = saved_errno;
}

void write_text(int fd, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) at += static_cast<std::size_t>(n);
  }
}

std::string thread_name(int tid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "?";
  char name[64] = {};
  const ssize_t n = read(fd, name, sizeof(name) - 1);
  close(fd);
  std::string text(name, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::vector<int> all_threads() {
  std::vector<int> tids;
  DIR* dir = opendir("/proc/self/task");
  if (dir == nullptr) return tids;
  while (const dirent* e = readdir(dir))
    if (e->d_name[0] != '.') tids.push_back(std::atoi(e->d_name));
  closedir(dir);
  return tids;
}

}  // namespace

void install_stack_signal() {
  void* warm[2];
  backtrace(warm, 2);  // loads what it needs now: not in a handler
  struct sigaction action = {};
  action.sa_handler = answer;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(stack_signal(), &action, nullptr);
}

void write_all_stacks(int fd) {
  const int self = static_cast<int>(syscall(SYS_gettid));
  for (const int tid : all_threads()) {
    write_text(fd, "thread " + std::to_string(tid) + " (" + thread_name(tid) + "):\n");
    if (tid == self) {
      void* own[kMostFrames];
      backtrace_symbols_fd(own, backtrace(own, kMostFrames), fd);
      continue;
    }
    const int question = expected.fetch_add(1) + 1;
    if (syscall(SYS_tgkill, getpid(), tid, stack_signal()) != 0) {
      write_text(fd, "  has ended\n");
      continue;
    }
    for (int i = 0; i < 1000 && answered.load() != question; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (answered.load() == question) {
      backtrace_symbols_fd(frames, frame_count.load(), fd);
    } else {
      write_text(fd, "  does not answer\n");
    }
  }
}

}  // namespace belay::runtime
