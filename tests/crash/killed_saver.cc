// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "runtime/checkpoint/format/names.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

// Lets the traced child stop itself after its restore. Returns its wait status.
int trace_from_restore_on(pid_t child, KilledSaver& saver) {
  int status = 0;
  waitpid(child, &status, 0);  // stopped by exec
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  saver.await_restored();
  waitpid(child, &status, 0);
  return status;
}

// Counts the traced child's system calls and kills it before the nth; its last wait status.
int kill_at_call(pid_t child, int nth, KilledSaver& saver) {
  int status = trace_from_restore_on(child, saver);
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) return status;
  for (int stops = 0;; ++stops) {  // each call stops twice, when it begins and when it ends
    if (stops == 2 * nth - 1) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return status;
    }
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return status;
  }
}

#ifdef __x86_64__
// The calls that reach the disk. close is left out: what fails there is closed all the same.
bool is_of_the_disk(const user_regs_struct& call) {
  switch (call.orig_rax) {
    case SYS_openat:
    case SYS_pwrite64:
    case SYS_pread64:
    case SYS_fsync:
    case SYS_mkdirat:
    case SYS_renameat:
    case SYS_unlinkat:
    case SYS_ftruncate: return true;
    case SYS_write: return call.rdi > STDERR_FILENO;
    default: return false;
  }
}

// This is not an error number: the call transfers one of the requested bytes.
constexpr int kOneByte = 0;

// Makes the nth call of the disk fail with that error, once; the child's last wait status, and in `hit` the number of
// the call, -1 where there were fewer.
int disturb_call(pid_t child, int nth, int error, KilledSaver& saver, long& hit) {
  hit = -1;
  int status = trace_from_restore_on(child, saver);
  for (bool entering = true; WIFSTOPPED(status); entering = !entering) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    user_regs_struct call{};
    if (!entering || !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, nullptr, &call) != 0) continue;
    if (!is_of_the_disk(call) || --nth != 0) continue;
    hit = static_cast<long>(call.orig_rax);
    const bool transfers = hit == SYS_write || hit == SYS_pwrite64 || hit == SYS_pread64;
    if (error == kOneByte) {
      if (transfers) call.rdx = 1;
      ptrace(PTRACE_SETREGS, child, nullptr, &call);
      continue;
    }
    call.orig_rax = static_cast<unsigned long long>(-1);  // no call at all
    ptrace(PTRACE_SETREGS, child, nullptr, &call);
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    entering = false;
    ptrace(PTRACE_GETREGS, child, nullptr, &call);
    call.rax = static_cast<unsigned long long>(-error);
    ptrace(PTRACE_SETREGS, child, nullptr, &call);
  }
  return status;
}
#endif

bool tracing_is_allowed() {
  const pid_t child = fork();
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool KilledSaver::is_in_save() const {
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    const auto unfinished = checkpoint_of_temporary(name);
    if (name == kUnfinishedStateFileName || checkpoint_of_replaced(name) ||
        (unfinished && step_of_checkpoint(*unfinished) > last_saved_))
      return true;
  }
  return false;
}

int run_to_end(pid_t child) {
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  return status;
}

int kill_at_random_moments(const std::string& saver_name, int times, unsigned seed) {
  const TempDir dir;
  std::mt19937 random(seed);
  KilledSaver saver(dir.path(), saver_name);
  // How long a start and two saves take here: on a busy machine they take long.
  const auto begin = std::chrono::steady_clock::now();
  saver.live(
      "once", [] {}, run_to_end);
  const auto two_saves =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
  const auto longest = std::max<std::int64_t>(60'000, 2 * two_saves);
  int in_save = 0;
  for (int i = 0; i < times && !::testing::Test::HasFatalFailure(); ++i) {
    saver.live(
        "for-ever", [] {},
        [&](pid_t child) {
          saver.await_restored();
          std::this_thread::sleep_for(std::chrono::microseconds(random() % longest));
          kill(child, SIGKILL);
          int status = 0;
          waitpid(child, &status, 0);
          return status;
        });
    in_save += saver.is_in_save() ? 1 : 0;
  }
  std::printf(
      "killed %d times, %d of them between a save's first write and its last rename; last step announced %lld\n", times,
      in_save, static_cast<long long>(saver.last_saved()));
  EXPECT_GT(saver.last_saved(), 1);  // the life that was not killed announced 0 and 1
  return in_save;
}

void kill_at_every_system_call(const std::string& saver_name) {
  if (!tracing_is_allowed()) GTEST_SKIP() << "this system does not allow ptrace";
  const TempDir dir;
  const auto trace_me = [] { ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); };
  int nth = 1;
  for (;; ++nth) {
    // Every time from the same start: three checkpoints, of which the next save removes one.
    const std::string directory = dir / std::to_string(nth);
    std::filesystem::create_directory(directory);
    KilledSaver saver(directory, saver_name);
    for (int i = 0; i < 2; ++i)
      saver.live(
          "once", [] {}, run_to_end);
    saver.live("once", trace_me, [&](pid_t child) { return kill_at_call(child, nth, saver); });
    const bool done = saver.finished();
    saver.live(
        "once", [] {}, run_to_end);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "killed at system call " << nth;
    std::filesystem::remove_all(directory);
    if (done) break;
  }
  std::printf("killed at each of %d system calls\n", nth - 1);
  EXPECT_GT(nth, 50);
}

void disturb_every_system_call(const std::string& saver_name, bool each_error) {
#ifndef __x86_64__
  GTEST_SKIP() << "written for x86-64's registers";
#else
  if (!tracing_is_allowed()) GTEST_SKIP() << "this system does not allow ptrace";
  constexpr int kErrors[] = {ENOSPC, EIO, EDQUOT, EACCES, EROFS, EINTR, kOneByte};
  const TempDir dir;
  const auto trace_me = [] { ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); };
  int trials = 0;
  bool more = true;
  for (int nth = 1; more; ++nth)
    for (std::size_t e = 0; e < std::size(kErrors); ++e) {
      if (!each_error && e != static_cast<std::size_t>(nth) % std::size(kErrors)) continue;
      const int error = kErrors[e];
      const std::string directory = dir / (std::to_string(nth) + "_" + std::to_string(e));
      std::filesystem::create_directory(directory);
      KilledSaver saver(directory, saver_name);
      saver.live(
          "once", [] {}, run_to_end);
      long hit = -1;
      saver.live("once", trace_me, [&](pid_t child) { return disturb_call(child, nth, error, saver, hit); });
      more = hit >= 0;
      // These are no errors: the file system continues. The C library's files do not, after EINTR.
      if (error == kOneByte || (error == EINTR && saver_name != "stdio_saver")) {
        EXPECT_EQ(saver.failed_saves(), 0) << "system call " << hit;
      }
      saver.live(
          "once", [] {}, run_to_end);
      EXPECT_EQ(saver.failed_saves(), 0) << "it does not work again by itself";
      ASSERT_FALSE(::testing::Test::HasFailure()) << "call " << nth << " of the disk, system call " << hit << ": "
                                                  << (error == 0 ? "one byte" : strerror(error));
      std::filesystem::remove_all(directory);
      ++trials;
    }
  std::printf("%d trials\n", trials);
  EXPECT_GT(trials, 40);
#endif
}

}  // namespace belay::runtime
