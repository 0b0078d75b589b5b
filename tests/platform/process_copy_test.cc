// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/process_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace belay::runtime {
namespace {

// Returns the result of f in a child of a child that owns itself, as a host does. The outer one keeps the mark from
// this program.
int in_copy(const std::function<pid_t()>& copy, const std::function<int()>& f) {
  const pid_t host = ::fork();
  if (host == 0) {
    own_process();
    const pid_t child = copy();
    if (child == 0) ::_exit(f());
    int status = 0;
    ::waitpid(child, &status, 0);
    ::_exit(is_process_copy() ? 99 : WEXITSTATUS(status));
  }
  int status = 0;
  ::waitpid(host, &status, 0);
  return WEXITSTATUS(status);
}

const std::function<pid_t()> kFork = [] { return ::fork(); };
const std::function<pid_t()> kClone = [] { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); };

TEST(ProcessCopy, T_26d_ACopyKnowsThatItIsOneHoweverItWasMade) {
  EXPECT_FALSE(is_process_copy());
  for (const auto& copy : {kFork, kClone}) EXPECT_EQ(in_copy(copy, [] { return is_process_copy() ? 1 : 0; }), 1);
}

TEST(ProcessCopy, OneThatTheHostItselfMadeIsNone) {
  EXPECT_EQ(in_copy(kFork,
                    [] {
                      own_process();
                      return is_process_copy() ? 1 : 0;
                    }),
            0);
}

TEST(ProcessCopy, ForkClosesWhatOnlyTheHostMayHold) {
  const int kept = ::open("/dev/null", O_RDONLY), closed = ::open("/dev/null", O_RDONLY);
  const auto open_files = [&] {
    return (::fcntl(kept, F_GETFD) >= 0 ? 1 : 0) + (::fcntl(closed, F_GETFD) >= 0 ? 2 : 0);
  };
  {
    const NotInCopies only(closed);
    EXPECT_EQ(in_copy(kFork, open_files), 1);
  }
  EXPECT_EQ(in_copy(kFork, open_files), 3);
  ::close(kept);
  ::close(closed);
}

TEST(ProcessCopy, AProgramThatDoesNotAskForItHasNone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(is_process_copy() ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace belay::runtime
