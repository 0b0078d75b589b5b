// SPDX-License-Identifier: Apache-2.0
#include <belay/decode_pool.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <vector>

namespace {

using belay::DecodePool;
using belay::testing::error_of;

TEST(DecodePool, DecodesEveryRowOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    DecodePool pool(threads);
    for (const std::int64_t rows : {0, 1, 2, 5, 8, 100}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(rows));
      pool.for_each_row(rows, [&](std::int64_t row) { ++done[static_cast<std::size_t>(row)]; });
      for (const auto& n : done) EXPECT_EQ(n, 1) << threads << " threads, " << rows << " rows";
    }
  }
}

TEST(DecodePool, UsesAsManyThreadsAsItWasTold) {
  DecodePool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  pool.for_each_row(3, [&](std::int64_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 1u);
}

TEST(DecodePool, AThreadDecodesItsRowsInOrder) {
  DecodePool pool(4);
  std::vector<std::thread::id> by(40);
  pool.for_each_row(40, [&](std::int64_t row) { by[static_cast<std::size_t>(row)] = std::this_thread::get_id(); });
  for (std::size_t row = 0; row < 40; ++row) EXPECT_EQ(by[row], by[row / 10 * 10]);
}

TEST(DecodePool, TheExceptionOfTheLowestRowComesOut) {
  for (const int threads : {1, 2, 5, 16}) {
    DecodePool pool(threads);
    for (int again = 0; again < 20; ++again) {
      EXPECT_EQ(error_of([&] {
                  pool.for_each_row(64, [](std::int64_t row) {
                    if (row % 20 == 7) belay::fail(belay::Code::kDataLoss, "row " + std::to_string(row));
                  });
                }),
                "DATA_LOSS: row 7");
    }
    int rows = 0;
    pool.for_each_row(1, [&](std::int64_t) { ++rows; });
    EXPECT_EQ(rows, 1) << "usable after an error";
    pool.for_each_row(64, [](std::int64_t) {});
  }
}

TEST(DecodePool, ManyShortJobsDoNotLoseARow) {
  DecodePool pool(4);
  std::atomic<std::int64_t> sum{0};
  for (int job = 0; job < 5000; ++job) pool.for_each_row(4, [&](std::int64_t row) { sum += row; });
  EXPECT_EQ(sum, 5000 * 6);
}

TEST(DecodePool, StartsNoThreadWithoutNeed) {
  DecodePool one(1), unused(64);
  EXPECT_EQ(unused.running_threads(), 0u);
  one.for_each_row(100, [](std::int64_t) {});
  EXPECT_EQ(one.running_threads(), 0u);
  unused.for_each_row(1, [](std::int64_t) {});
  EXPECT_EQ(unused.running_threads(), 0u);
  unused.for_each_row(2, [](std::int64_t) {});
  EXPECT_EQ(unused.running_threads(), 63u);
}

}  // namespace
