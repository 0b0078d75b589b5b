// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/process_copy.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "belay/error.h"
#include "runtime/platform/process/current_plugin.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMarkBytes = 4096;
const volatile std::uint32_t never_copied = 1;
volatile std::uint32_t* own_mark = nullptr;
pid_t own_pid = 0;

// descriptor + 1; 0: free. A run has two: its lock and its attempt's mark.
std::array<std::atomic<int>, 16> host_only{};

// The copy's one thread, right after fork.
void enter_copy() {
  *own_mark = 0;  // a kernel before 4.14 does not clear it
  for (std::atomic<int>& place : host_only)
    if (const int fd = place.load() - 1; fd >= 0) ::close(fd);
}

volatile std::uint32_t* make_mark() {
  void* page = ::mmap(nullptr, kMarkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail(Code::kResourceExhausted, std::string("cannot map a page: ") + std::strerror(errno));
  ::madvise(page, kMarkBytes, MADV_WIPEONFORK);
  ::pthread_atfork(nullptr, nullptr, &enter_copy);
  return static_cast<volatile std::uint32_t*>(page);
}

}  // namespace

const volatile std::uint32_t* process_mark = &never_copied;

bool is_own_process() noexcept { return !is_process_copy() && own_pid == ::getpid(); }

void end_now(int status) noexcept {
  for (;;) ::syscall(SYS_exit_group, status);
}

// It allocates nothing, since a thread that the copy lacks may hold the allocator's lock.
void end_copy_in(const char* service) noexcept {
  const CurrentPlugin* plugin = current_plugin();
  const char* who = plugin == nullptr ? "a plugin" : plugin->label().c_str();
  char text[1024];
  const int n = std::snprintf(
      text, sizeof(text),
      "error[B2044]: %s forked the process, and the copy called the host's %s: the copy (pid %d) ends here, the run "
      "continues without it\n  help: a copy must call exec or _exit, and nothing of the host before\n",
      who, service, static_cast<int>(::getpid()));
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::min(static_cast<std::size_t>(n), sizeof(text) - 1));
  (void)ignored;
  end_now(kPluginFailure);
}

void own_process() {
  if (own_mark == nullptr) own_mark = make_mark();
  *own_mark = 1;
  process_mark = own_mark;
  own_pid = ::getpid();
}

NotInCopies::NotInCopies(int fd) noexcept : place_(-1) {
  for (std::size_t i = 0; i < host_only.size() && place_ < 0; ++i) {
    int free = 0;
    if (host_only[i].compare_exchange_strong(free, fd + 1)) place_ = static_cast<int>(i);
  }
}

NotInCopies::~NotInCopies() {
  if (place_ >= 0) host_only[static_cast<std::size_t>(place_)] = 0;
}

}  // namespace belay::runtime
