// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/stacks.h"

#include <fmt/core.h>

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/stacktrace/frame.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/platform/process/process_copy.h"

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

// The dynamic linker has the names of functions. It holds its lock while it runs a library's initializers. A hang in
// one of them must be visible, too.
bool linker_answers() {
  const auto answers = std::make_shared<std::atomic<bool>>(false);
  std::thread([answers] {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&install_stack_signal), &info);
    *answers = true;
  }).detach();
  for (int i = 0; i < 200 && !*answers; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return *answers;
}

// Finds the file at an address, without the dynamic linker.
class MappedFiles {
 public:
  MappedFiles() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      Mapping m;
      int path = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &m.begin, &m.end, &m.offset, &path) != 3) continue;
      m.path = line.substr(static_cast<std::size_t>(path));
      if (m.offset == 0) bases_[m.path] = m.begin;
      m.base = bases_[m.path];
      mappings_.push_back(m);
    }
  }
  // Returns "./x.so(+0x1234)[0x7f01c2a3b234]", like backtrace_symbols.
  std::string place(const void* address) const {
    const auto at = reinterpret_cast<unsigned long>(address);
    char text[64];
    for (const Mapping& m : mappings_) {
      if (at < m.begin || at >= m.end) continue;
      std::snprintf(text, sizeof(text), "(+0x%lx)[0x%lx]\n", at - m.base, at);
      return m.path + text;
    }
    std::snprintf(text, sizeof(text), "[0x%lx]\n", at);
    return text;
  }

 private:
  struct Mapping {
    unsigned long begin = 0, end = 0, offset = 0, base = 0;
    std::string path;
  };
  std::map<std::string, unsigned long> bases_;
  std::vector<Mapping> mappings_;
};

// Returns "belay::runtime::train(...) at train.cc:40", as far as it is known. The address after a call may belong to
// the next line.
std::string name_of(const void* address) {
  const boost::stacktrace::frame frame(static_cast<const char*>(address) - 1);
  std::string name = frame.name();
  if (const std::string file = frame.source_file(); !file.empty())
    name += fmt::format(" at {}:{}", file.substr(file.rfind('/') + 1), frame.source_line());
  return name;
}

void write_frames(int fd, void* const* addresses, int n, bool with_names) {
  const MappedFiles files;
  std::string text;
  for (int i = 0; i < n; ++i) {
    const std::string name = with_names ? name_of(addresses[i]) : "";
    text += (name.empty() ? "" : name + "  ") + files.place(addresses[i]);
  }
  write_text(fd, text);
}

}  // namespace

bool write_frames_in_copy(int fd, void* const* addresses, int count) noexcept {
  constexpr unsigned kMostSeconds = 5;
  const pid_t copy = _Fork();  // fork() would wait for locks that the crash may hold
  if (copy < 0) return false;
  if (copy == 0) {
    for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    alarm(kMostSeconds);
    try {
      write_frames(fd, addresses, count, true);
      end_now(0);
    } catch (...) {
      end_now(1);
    }
  }
  int status = 0;
  while (waitpid(copy, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void install_stack_signal() {
  void* warm[2];
  backtrace(warm, 2);  // loads its libraries now, not in a handler
  struct sigaction action = {};
  action.sa_handler = answer;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(stack_signal(), &action, nullptr);
}

void write_all_stacks(int fd) {
  const int self = static_cast<int>(syscall(SYS_gettid));
  const std::vector<int> tids = all_threads();
  const bool with_names = linker_answers();
  for (const int tid : tids) {
    write_text(fd, fmt::format("thread {} ({}):\n", tid, thread_name(tid)));
    if (tid == self) {
      void* own[kMostFrames];
      write_frames(fd, own, backtrace(own, kMostFrames), with_names);
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
      write_frames(fd, frames, frame_count.load(), with_names);
    } else {
      write_text(fd, "  does not answer\n");
    }
  }
}

}  // namespace belay::runtime
