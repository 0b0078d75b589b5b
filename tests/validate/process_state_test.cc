// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/process_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <filesystem>
#include <thread>

namespace belay::runtime {
namespace {

using Texts = std::vector<std::string>;

TEST(ProcessState, WithoutAChangeThereIsNone) { EXPECT_EQ(ProcessState().changes(), Texts{}); }

TEST(ProcessState, NamesWhatHasChanged) {
  {
    ProcessState before;
    const mode_t mask = ::umask(0123);
    EXPECT_EQ(before.changes(), Texts{"the umask"});
    ::umask(mask);
  }
  {
    ProcessState before;
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path("/");
    EXPECT_EQ(before.changes(), Texts{"the current directory"});
    std::filesystem::current_path(here);
  }
  {
    ProcessState before;
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    const rlimit other{rlim_t{limit.rlim_cur == 0 ? 1u : 0u}, limit.rlim_max};
    if (limit.rlim_max != 0) {
      ::setrlimit(RLIMIT_CORE, &other);
      EXPECT_EQ(before.changes(), Texts{"a limit of the process (setrlimit)"});
      ::setrlimit(RLIMIT_CORE, &limit);
    }
  }
  {
    const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ProcessState before;
    ::close(file);
    EXPECT_EQ(before.changes(), Texts{"files of the host, which it closed"});
  }
  {
    ProcessState before;
    const auto handler = std::signal(SIGUSR1, SIG_IGN);
    EXPECT_EQ(before.changes(), Texts{"the handler of signal 10 (User defined signal 1)"});
    std::signal(SIGUSR1, handler);
  }
  {
    ProcessState before;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    EXPECT_EQ(before.changes(), Texts{"whether signal 12 (User defined signal 2) is blocked"});
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }
}

TEST(ProcessState, PutsTheFloatingPointModeBack) {
  ProcessState before;
  std::fesetround(FE_UPWARD);
  EXPECT_EQ(before.changes().size(), 1u);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(ProcessResources, CountsFilesAndThreads) {
  const ProcessResources before;
  EXPECT_EQ(ProcessResources().more_than(before), "");
  const int one = ::dup(0), two = ::dup(0);
  EXPECT_EQ(ProcessResources().more_than(before), "2 open files");
  ::close(two);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  std::thread waits([&] {
    char c;
    EXPECT_EQ(::read(pipe[0], &c, 1), 0);
  });
  EXPECT_EQ(ProcessResources().more_than(before), "3 open files and 1 running thread");
  ::close(pipe[1]);
  waits.join();
  ::close(pipe[0]);
  ::close(one);
}

}  // namespace
}  // namespace belay::runtime
