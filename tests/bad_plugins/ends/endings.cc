// SPDX-License-Identifier: Apache-2.0
#include "endings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <stdexcept>
#include <thread>

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

namespace {

// A thread's stack is 8 MiB.
int overflow(volatile char* from, int deep = 0) {
  volatile char block[4096];
  block[0] = from == nullptr ? '\0' : from[0];
  return deep > 100'000 ? 0 : overflow(block, deep + 1) + block[0];
}

void wait_for_ever() {
  for (;;) ::usleep(10'000);
}

void in_thread(void (*f)()) {
  std::thread(f).detach();
  wait_for_ever();
}

void crash() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void close_from(int first) {
  for (int fd = first; fd < 1024; ++fd) ::close(fd);
}

void limit(__rlimit_resource_t resource, rlim_t most) {
  const rlimit lower{most, most};
  ::setrlimit(resource, &lower);
}

// A copy of the process that comes back; the host's process waits for its end, so that its status is known.
void come_back(pid_t child) {
  if (child == 0) return;
  int status = 0;
  ::waitpid(child, &status, 0);
  dprintf(STDERR_FILENO, "the copy ended with status %d\n", WEXITSTATUS(status));
}

std::jmp_buf somewhere;
__attribute__((noinline)) void set_somewhere() {
  if (setjmp(somewhere) != 0) std::abort();
}

struct Ending {
  const char* how;
  void (*end)();
};
constexpr Ending kEndings[] = {
    {"exit", [] { std::exit(0); }},
    {"exit_9", [] { std::exit(9); }},
    {"quick_exit", [] { std::quick_exit(0); }},
    {"_exit", [] { ::_exit(0); }},
    {"_Exit", [] { std::_Exit(0); }},
    {"hang", wait_for_ever},
    {"atexit_hang", [] { std::atexit(wait_for_ever); }},
    // Overwrites the size of the heap's next block.
    {"heap",
     [] {
       char* block = static_cast<char*>(std::malloc(100'000));
       std::memset(block + ::malloc_usable_size(block), 0x41, 8);
     }},
    {"thread_bad_alloc", [] { in_thread([] { throw std::bad_alloc(); }); }},
    {"exec", [] { ::execl("/bin/true", "true", static_cast<char*>(nullptr)); }},
    {"exit_group", [] { ::syscall(SYS_exit_group, 0); }},
    {"abort", [] { std::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"terminate_exits",
     [] {
       std::set_terminate([] { std::exit(0); });
       std::terminate();
     }},
    {"joinable", [] { std::thread thread(wait_for_ever); }},
    {"segv", [] { crash(); }},
    {"overflow", [] { overflow(nullptr); }},
    {"sigkill", [] { ::raise(SIGKILL); }},
    {"sigterm",
     [] {
       ::kill(::getpid(), SIGTERM);
       ::usleep(300'000);
     }},
    {"raise_sigterm", [] { ::raise(SIGTERM); }},
    {"alarm",
     [] {
       ::alarm(1);
       wait_for_ever();
     }},
    {"cpu_limit",
     [] {
       const rlimit soon{1, RLIM_INFINITY};
       ::setrlimit(RLIMIT_CPU, &soon);
       for (std::atomic<int> spins{0};; ++spins) continue;
     }},
    {"longjmp",
     [] {
       set_somewhere();
       std::longjmp(somewhere, 1);
     }},
    {"pthread_exit", [] { ::pthread_exit(nullptr); }},
    {"close_files", [] { close_from(3); }},
    {"close_all", [] { close_from(0); }},
    {"dlclose",
     [] {
       Dl_info info{};
       ::dladdr(&somewhere, &info);
       void* handle = ::dlopen(info.dli_fname, RTLD_NOW);
       for (int i = 0; i < 8; ++i) ::dlclose(handle);
     }},
    {"no_files", [] { limit(RLIMIT_NOFILE, 0); }},
    {"no_file_size", [] { limit(RLIMIT_FSIZE, 0); }},
    {"no_memory", [] { limit(RLIMIT_AS, 1 << 20); }},
    {"remove_run", [] { std::filesystem::remove_all(variable("ENDS_RUN")); }},
    {"truncate_mark", [] { std::filesystem::resize_file(variable("ENDS_RUN") + "/attempt", 0); }},
    {"fork", [] { come_back(::fork()); }},
    {"clone", [] { come_back(static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))); }},
    {"fork_exec",
     [] {
       const pid_t child = ::fork();
       if (child == 0) ::execl("/bin/true", "true", static_cast<char*>(nullptr));
       come_back(child);
     }},
    {"fork_exit",
     [] {
       const pid_t child = ::fork();
       if (child == 0) std::exit(5);
       come_back(child);
     }},
    {"fork__exit",
     [] {
       const pid_t child = ::fork();
       if (child == 0) ::_exit(5);
       come_back(child);
     }},
    {"vfork__exit",
     [] {
       const pid_t child = ::vfork();
       if (child == 0) ::_exit(5);
       come_back(child);
     }},
    {"fork_stays",
     [] {
       const pid_t child = ::fork();
       if (child == 0) wait_for_ever();
       dprintf(STDERR_FILENO, "the copy is %d\n", child);
     }},
    {"thread_exit", [] { in_thread([] { std::exit(0); }); }},
    {"thread_crash", [] { in_thread(crash); }},
    {"thread_throws", [] { in_thread([] { throw std::runtime_error("from a thread of a plugin"); }); }},
    {"late_thread_exit",
     [] {
       std::thread([] {
         ::usleep(200'000);
         std::exit(0);
       }).detach();
     }},
    {"atexit__exit", [] { std::atexit([] { ::_exit(0); }); }},
    {"atexit_thread_crash", [] { std::atexit([] { in_thread(crash); }); }},
    {"atexit_crash", [] { std::atexit(crash); }},
};

}  // namespace

void ends(const std::string& place) {
  static std::map<std::string, int>* calls = new std::map<std::string, int>;
  const std::string at = variable("ENDS_AT");
  if (variable("ENDS_IN") != place || ++(*calls)[place] != (at.empty() ? 3 : std::atoi(at.c_str()))) return;
  for (const Ending& e : kEndings)
    if (variable("ENDS_HOW") == e.how) return e.end();
  dprintf(STDERR_FILENO, "no such ending: %s\n", variable("ENDS_HOW").c_str());
  std::abort();
}
