// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_positions.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "belay/example_order.h"

namespace belay::runtime {
namespace {

constexpr const char* kInput = "train";

class Shards {
 public:
  Shards(std::int64_t examples, std::int64_t batch, int n) {
    for (int r = 0; r < n; ++r) {
      OpenArgs args;
      args.shard = r, args.shards = n, args.seed = 7;
      all_.emplace_back(ExampleOrder::Options{examples, batch, true, 0}, args);
    }
  }
  void seek(const std::vector<Position>& at) {
    for (std::size_t r = 0; r < all_.size(); ++r) all_[r].seek(at[r]);
  }
  // A step of all that are in this epoch; what they read.
  std::multiset<std::int64_t> step(std::int64_t epoch) {
    std::multiset<std::int64_t> read;
    for (ExampleOrder& order : all_) {
      if (order.position().epoch != epoch) continue;
      const std::vector<std::int64_t>& batch = order.batch();
      read.insert(batch.begin(), batch.end());
      order.advance();
    }
    return read;
  }
  std::multiset<std::int64_t> rest(std::int64_t epoch) {
    std::multiset<std::int64_t> read;
    for (std::multiset<std::int64_t> step; !(step = this->step(epoch)).empty();) read.insert(step.begin(), step.end());
    return read;
  }
  std::vector<Position> positions() const {
    std::vector<Position> at;
    for (const ExampleOrder& order : all_) at.push_back(order.position());
    return at;
  }

 private:
  std::vector<ExampleOrder> all_;
};

// Whatever the numbers are, and wherever they stop.
TEST(RankPositions, EachExampleOfAnEpochIsReadOnceThoughOtherProcessesGoOn) {
  for (const std::int64_t examples : {97, 96, 76})
    for (int before = 1; before <= 4; ++before)
      for (int now = 1; now <= 5; ++now)
        for (int steps = 0; steps < 8; ++steps) {
          Shards first(examples, 5, before), second(examples, 5, now);
          std::multiset<std::int64_t> read;
          for (int i = 0; i < steps; ++i) read.merge(first.step(0));
          const InputPositions stored = with_positions({}, kInput, first.positions());
          const RankPositions found = positions_on(stored, kInput, now);
          second.seek(found.of_rank);
          const std::int64_t epoch = read.size() == static_cast<std::size_t>(examples) ? 1 : 0;
          if (epoch == 1) read.clear();
          read.merge(second.rest(epoch));
          ASSERT_EQ(read.size(), static_cast<std::size_t>(examples)) << before << " " << now << " " << steps;
          ASSERT_EQ(std::set<std::int64_t>(read.begin(), read.end()).size(), read.size());
          EXPECT_EQ(found.said.empty(), before == now);
        }
}

TEST(RankPositions, ThoseOfAsManyAreTakenAsTheyAre) {
  const InputPositions stored{{"train", {1, 2, "a"}}, {"train@1", {3, 4, "b"}}, {"other", {5, 6, ""}}};
  const RankPositions found = positions_on(stored, kInput, 2);
  EXPECT_EQ(found.said, "");
  EXPECT_EQ(found.of_rank[0].bytes, "a");
  EXPECT_EQ(found.of_rank[1].index, 4);
  EXPECT_EQ(processes_of(stored, kInput), 2);
}

TEST(RankPositions, AnInputThatNeedsMoreThanNumbersBeginsAnew) {
  const RankPositions found = positions_on({{"train", {1, 2, "a"}}}, kInput, 2);
  EXPECT_EQ(found.of_rank[0].epoch, 0);
  EXPECT_EQ(found.of_rank[1].index, 0);
  EXPECT_NE(found.said.find("the input begins anew"), std::string::npos);
}

TEST(RankPositions, OnlyThoseOfTheInputAreReplaced) {
  const InputPositions stored{{"train", {1, 2, ""}}, {"train@1", {3, 4, ""}}, {"training", {5, 6, ""}}};
  const InputPositions now = with_positions(stored, kInput, {{7, 8, ""}});
  EXPECT_EQ(now.size(), 2U);
  EXPECT_EQ(now.at("train").epoch, 7);
  EXPECT_EQ(now.at("training").epoch, 5);
}

TEST(RankPositions, WithoutAnyAllBeginAtTheStart) {
  const RankPositions found = positions_on({}, kInput, 3);
  EXPECT_EQ(found.of_rank.size(), 3U);
  EXPECT_EQ(found.said, "");
}

}  // namespace
}  // namespace belay::runtime
