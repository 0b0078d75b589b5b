// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/gradient_buckets.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "tests/platform/fake_clock.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kNothing = [] {};

float* elements_of(const TensorView& values) { return static_cast<float*>(const_cast<void*>(values.data())); }

void doubled(const TensorView& values, bool) {
  for (std::size_t i = 0; i < values.size(); ++i) elements_of(values)[i] *= 2;
}

std::string said_by_wait(GradientBuckets& buckets) {
  try {
    buckets.wait();
  } catch (const Error& e) {
    return std::string(code_name(e.code())) + ": " + e.what();
  }
  return "no error";
}

TEST(GradientBuckets, HoldTheSumsBehindTheWaitInEachStep) {
  GradientBuckets buckets({{16, true}, {32, false}}, doubled, kNothing);
  for (int step = 1; step < 100; ++step) {
    for (std::size_t b = 0; b < 2; ++b) {
      buckets.memory(b)[15] = static_cast<float>(step + 100 * static_cast<int>(b));
      buckets.begin(b);
    }
    buckets.wait();
    EXPECT_EQ(buckets.memory(0)[15], 2.f * static_cast<float>(step));
    EXPECT_EQ(buckets.memory(1)[15], 2.f * static_cast<float>(step + 100));
  }
  EXPECT_EQ(buckets.memory(1)[31], 0) << "values without a writer are 0";
}

TEST(GradientBuckets, AreSummedInTheirOrderAndSayWhichAreGradients) {
  std::vector<std::string> sums;
  GradientBuckets buckets(
      {{16, false}, {32, true}, {48, true}},
      [&](const TensorView& values, bool gradients) {
        sums.push_back(std::to_string(values.size()) + (gradients ? " gradients" : ""));
      },
      kNothing);
  for (int step = 0; step < 2; ++step) {
    for (std::size_t b = 0; b < 3; ++b) buckets.begin(b);
    buckets.wait();
  }
  EXPECT_THAT(sums, ElementsAre("16", "32 gradients", "48 gradients", "16", "32 gradients", "48 gradients"));
}

// A record of a row of one element.
void put(float* to, std::int64_t id, float element) {
  std::memcpy(to, &id, sizeof(id));
  to[kFloatsOfId] = element;
}
using Row = std::pair<std::int64_t, float>;
std::vector<Row> rows_of(const RowsOfRanks& all) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < all.count; ++i) {
    std::int64_t id = 0;
    std::memcpy(&id, all.records + i * (kFloatsOfId + 1), sizeof(id));
    rows.emplace_back(id, all.records[i * (kFloatsOfId + 1) + kFloatsOfId]);
  }
  return rows;
}

// This rank is rank 0 of 2, and rank 1 has these values.
GradientBuckets::Gather with_rank_1(const std::vector<std::int64_t>& header, const std::vector<float>& records) {
  return {2, [=](const TensorView& mine, const TensorView& all) {
            const bool first = mine.dtype() == DType::kInt64;
            auto* const to = static_cast<char*>(all.mutable_data());
            std::memcpy(to, mine.data(), mine.bytes());
            std::memcpy(to + mine.bytes(), first ? static_cast<const void*>(header.data()) : records.data(),
                        mine.bytes());
          }};
}

TEST(GradientBuckets, RowsOfAllRanksAreGatheredInTheOrderOfTheRanks) {
  std::vector<float> others(6);
  put(others.data(), 7, 0.5F), put(others.data() + 3, 9, 0.25F);
  GradientBuckets buckets({{1, true, true}}, doubled, kNothing, with_rank_1({2, 4}, others));
  for (int step = 0; step < 3; ++step) {
    put(buckets.records(0, 1, 3), 5, 2.F);
    buckets.begin(0);
    buckets.wait();
    EXPECT_THAT(rows_of(buckets.rows(0)), ElementsAre(Row(5, 2.F), Row(-1, 0.F), Row(7, 0.5F), Row(9, 0.25F)));
    EXPECT_EQ(buckets.rows(0).room, 8) << "the larger room, for each rank";
  }
}

TEST(GradientBuckets, NoRankNeedsToHaveARow) {
  GradientBuckets buckets({{1, true, true}}, doubled, kNothing, with_rank_1({0, 4}, {}));
  buckets.records(0, 0, 4);
  buckets.begin(0);
  buckets.wait();
  EXPECT_EQ(buckets.rows(0).count, 0);
  EXPECT_EQ(buckets.rows(0).room, 8);
}

TEST(GradientBuckets, ACountOfRowsThatCannotBeIsRefused) {
  GradientBuckets buckets({{1, true, true}}, doubled, kNothing, with_rank_1({5, 4}, {}));
  buckets.records(0, 0, 4);
  buckets.begin(0);
  EXPECT_EQ(said_by_wait(buckets), "DATA_LOSS: [B5105] rank 1 has 5 rows in room for 4, which cannot be");
}

// The first sum ends only when the other buckets have been begun.
TEST(GradientBuckets, BeginDoesNotWaitForASumThatIsUnderWay) {
  std::promise<void> begun;
  std::shared_future<void> all_begun = begun.get_future().share();
  GradientBuckets buckets(
      {{16, true}, {16, true}}, [&](const TensorView&, bool) { all_begun.wait(); }, kNothing);
  buckets.begin(0);
  buckets.begin(1);
  begun.set_value();
  buckets.wait();
}

TEST(GradientBuckets, AnErrorArrivesInTheWaitAndNothingIsSummedBehindIt) {
  int sums = 0;
  GradientBuckets buckets(
      {{16, true}, {16, true}, {16, true}},
      [&](const TensorView&, bool) {
        if (++sums == 2) fail(Code::kAborted, "rank 1 has ended or left");
      },
      kNothing);
  for (std::size_t b = 0; b < 3; ++b) buckets.begin(b);
  EXPECT_EQ(said_by_wait(buckets), "ABORTED: rank 1 has ended or left");
  EXPECT_EQ(sums, 2);
  for (std::size_t b = 0; b < 3; ++b) buckets.begin(b);
  EXPECT_EQ(said_by_wait(buckets), "ABORTED: rank 1 has ended or left");
  EXPECT_EQ(sums, 2);
}

// As a step does that fails between two buckets, and another one after it.
TEST(GradientBuckets, ABucketThatIsBegunOutOfTurnIsRefused) {
  GradientBuckets buckets({{16, true}, {16, true}}, doubled, kNothing);
  buckets.begin(0);
  try {
    buckets.begin(0);
    FAIL() << "it was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kFailedPrecondition);
    EXPECT_THAT(e.what(), HasSubstr("an earlier step has ended in the middle of its exchange"));
  }
}

TEST(GradientBuckets, TheEndInterruptsASumThatIsUnderWay) {
  std::promise<void> interrupt, under_way;
  std::shared_future<void> interrupted = interrupt.get_future().share();
  {
    GradientBuckets buckets(
        {{16, true}, {16, true}},
        [&](const TensorView&, bool) {
          under_way.set_value();
          interrupted.wait();
          fail(Code::kCancelled, "interrupted");
        },
        [&] { interrupt.set_value(); });
    buckets.begin(0);
    buckets.begin(1);
    under_way.get_future().wait();
  }
  EXPECT_EQ(interrupted.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST(GradientBuckets, AnIdleOneInterruptsNothing) {
  int interrupts = 0;
  {
    GradientBuckets buckets({{16, true}}, doubled, [&] { ++interrupts; });
    buckets.begin(0);
    buckets.wait();
  }
  EXPECT_EQ(interrupts, 0);
}

TEST(GradientBuckets, TheTimesOfASumAreThoseOfTheClock) {
  FakeClock clock;
  GradientBuckets buckets(
      {{16, true}}, [&](const TensorView&, bool) { clock.advance(3 * FakeClock::kMillisecond); }, kNothing);
  buckets.time_by(&clock);
  buckets.begin(0);
  buckets.wait();
  const auto [start_ns, end_ns] = buckets.times(0);
  EXPECT_EQ(end_ns - start_ns, 3'000'000);
}

}  // namespace
}  // namespace belay::runtime::testing
