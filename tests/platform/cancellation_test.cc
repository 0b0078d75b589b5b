// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/cancellation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "belay/testing/allocations.h"

BELAY_COUNT_ALLOCATIONS

namespace belay::runtime::testing {
namespace {

// However many threads wait, and even for the first one, a warm step must not allocate.
TEST(Cancellation, WaitingAllocatesNothing) {
  CancellationSource source;
  const CancelToken cancel(source, system_clock());
  std::mutex outer_mutex, inner_mutex;
  std::condition_variable outer_changed, inner_changed;
  std::unique_lock outer(outer_mutex), inner(inner_mutex);
  int outer_asked = 0, inner_asked = 0;
  const std::uint64_t before = belay::testing::allocations();
  cancel.wait(outer, outer_changed, [&] {
    if (++outer_asked == 2) cancel.wait(inner, inner_changed, [&] { return ++inner_asked == 2; });
    return outer_asked == 2;
  });
  EXPECT_EQ(belay::testing::allocations(), before);
  EXPECT_EQ(inner_asked, 2) << "two were waiting";
}

TEST(Cancellation, WakesAllWhoWaitAndNobodyWhoHasLeft) {
  CancellationSource source;
  const CancelToken cancel(source, system_clock());
  constexpr int kThreads = 4;
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    Code code = Code::kOk;
    std::thread thread;
  };
  std::vector<Waiting> all(kThreads);
  std::atomic<int> asked{0};
  for (Waiting& w : all)
    w.thread = std::thread([&] {
      try {
        std::unique_lock lock(w.mutex);
        cancel.wait(lock, w.changed, [&] { return ++asked, w.done; });
      } catch (const Error& e) {
        w.code = e.code();
      }
    });
  while (asked < 2 * kThreads) std::this_thread::yield();  // each waits: it asks before and after it is known
  const auto leave = [&](std::size_t i) {
    {
      const std::lock_guard lock(all[i].mutex);
      all[i].done = true;
    }
    all[i].changed.notify_all();
    all[i].thread.join();
  };
  leave(1);
  leave(3);
  source.cancel(Error(Code::kCancelled, "enough"));
  for (const std::size_t i : {0u, 2u}) all[i].thread.join();
  EXPECT_EQ(all[0].code, Code::kCancelled);
  EXPECT_EQ(all[1].code, Code::kOk);
  EXPECT_EQ(all[2].code, Code::kCancelled);
  EXPECT_EQ(all[3].code, Code::kOk);
}

}  // namespace
}  // namespace belay::runtime::testing
