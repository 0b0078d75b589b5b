// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/background_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
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

TEST(BackgroundThread, IsLessImportantThanTheProgram) {
  struct {
    int policy = -1, nice = 0;
    std::string name;
  } seen;
  BackgroundThread thread("belay-test");
  thread.start([&] {
    seen.policy = ::sched_getscheduler(0);
    seen.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof(name));
    seen.name = name;
  });
  thread.wait();
  EXPECT_EQ(seen.name, "belay-test");
  const int own = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  if (own < 19) {
    EXPECT_GT(seen.nice, own);
  }
  if (::sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "this system runs the tests under another policy";
  EXPECT_EQ(seen.policy, SCHED_BATCH);
}

}  // namespace
}  // namespace belay::runtime
