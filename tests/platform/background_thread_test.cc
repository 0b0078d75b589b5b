// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/background_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace belay::runtime {
namespace {

TEST(BackgroundThread, DoesOneJobAfterTheOtherOnOneThread) {
  BackgroundThread thread("test");
  thread.wait();  // there is nothing to wait for
  std::vector<std::thread::id> ids;
  std::vector<int> done;
  for (int i = 0; i < 3; ++i)
    thread.start([&, i] {
      ids.push_back(std::this_thread::get_id());
      done.push_back(i);
    });
  thread.wait();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2}));
  EXPECT_NE(ids[0], std::this_thread::get_id());
  EXPECT_EQ(ids[0], ids[2]);
}

TEST(BackgroundThread, ItsEndWaitsForAllJobs) {
  bool done = false;
  {
    BackgroundThread thread("test");
    thread.start([&] {
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
    });
    thread.start([&] { done = true; });
  }
  EXPECT_TRUE(done);
}

TEST(BackgroundThread, IsLessImportantThanTheProgramAndTakesNoSignal) {
  struct {
    int policy = -1, nice = 0;
    bool term = false;
    std::string name;
  } seen;
  BackgroundThread thread("belay-test");
  thread.start([&] {
    seen.policy = ::sched_getscheduler(0);
    seen.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    seen.term = sigismember(&mask, SIGTERM) == 1;
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof(name));
    seen.name = name;
  });
  thread.wait();
  EXPECT_TRUE(seen.term);
  EXPECT_EQ(seen.name, "belay-test");
  const int own = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  if (own < 19) {
    EXPECT_GT(seen.nice, own);
  }
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0) << "the program's thread keeps its mask";
  if (::sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "this system runs the tests under another policy";
  EXPECT_EQ(seen.policy, SCHED_BATCH);
}

}  // namespace
}  // namespace belay::runtime
