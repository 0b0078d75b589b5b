// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

#include <sys/ptrace.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

// Lets the traced child stop itself, then counts its system calls and kills it before the nth; its last wait status.
int kill_at_call(pid_t child, int nth, KilledSaver& saver) {
  int status = 0;
  waitpid(child, &status, 0);  // stopped by exec
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  saver.await_restored();
  waitpid(child, &status, 0);
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

// Of a life "once": lets it go on where it stops itself, to its end.
int run_to_end(pid_t child) {
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  return status;
}

bool tracing_is_allowed() {
  const pid_t child = fork();
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

void kill_at_random_moments(const std::string& saver_name, int times, unsigned seed) {
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
  for (int i = 0; i < times && !::testing::Test::HasFatalFailure(); ++i)
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
  std::printf("killed %d times; last step announced %lld\n", times, static_cast<long long>(saver.last_saved()));
  EXPECT_GT(saver.last_saved(), 1);  // the life that was not killed announced 0 and 1
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

}  // namespace belay::runtime
