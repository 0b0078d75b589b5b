// SPDX-License-Identifier: Apache-2.0
#include <belay/decode_pool.h>
#include <belay/detail/parse_options.h>
#include <belay/example_order.h>
#include <belay/example_split.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using belay::ExampleOrder;
using belay::OpenArgs;
using belay::Position;
using belay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Delivered {
  std::vector<std::int64_t> examples;
  Position after;
};
bool operator==(const Delivered& a, const Delivered& b) {
  return a.examples == b.examples && a.after.epoch == b.after.epoch && a.after.index == b.after.index;
}

std::vector<Delivered> rest_of(ExampleOrder& order) {
  std::vector<Delivered> all;
  while (!order.batch().empty()) {
    Delivered d{order.batch(), {}};
    d.after = order.advance();
    all.push_back(d);
  }
  return all;
}

TEST(ExampleOrder, GoesThroughTheExamplesInOrder) {
  ExampleOrder order({5, 2, false, 2}, OpenArgs{});
  EXPECT_EQ(order.size(), 5);
  const std::vector<Delivered> expected = {{{0, 1}, {0, 2}}, {{2, 3}, {0, 4}}, {{4}, {1, 0}},
                                           {{0, 1}, {1, 2}}, {{2, 3}, {1, 4}}, {{4}, {2, 0}}};
  EXPECT_EQ(rest_of(order), expected);
  EXPECT_THAT(order.batch(), IsEmpty());
  EXPECT_THAT(order.batch(), IsEmpty());
}

TEST(ExampleOrder, WithoutEpochsItNeverEnds) {
  ExampleOrder order({3, 8, false, 0}, OpenArgs{});
  for (std::int64_t epoch = 0; epoch < 100; ++epoch) {
    EXPECT_THAT(order.batch(), ElementsAre(0, 1, 2));
    EXPECT_EQ(order.advance().epoch, epoch + 1);
  }
}

// UBSan's finding: the end of such a batch is no number.
TEST(ExampleOrder, ABatchMayBeLargerThanAnyEpoch) {
  ExampleOrder order({5, std::numeric_limits<std::int64_t>::max(), false, 0}, OpenArgs{});
  order.seek({0, 3});
  EXPECT_THAT(order.batch(), ElementsAre(3, 4));
  EXPECT_EQ(order.advance().epoch, 1);
}

TEST(ExampleOrder, TheLastEpochThatHasANumberIsFollowedByItself) {
  ExampleOrder order({5, 5, false, 0}, OpenArgs{});
  order.seek({std::numeric_limits<std::int64_t>::max(), 0});
  EXPECT_THAT(order.batch(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(order.advance().epoch, std::numeric_limits<std::int64_t>::max());
}

TEST(ExampleOrder, DoesNotMoveWithoutAdvance) {
  ExampleOrder order({5, 2, true, 0}, OpenArgs{});
  const std::vector<std::int64_t> first = order.batch();
  EXPECT_EQ(order.batch(), first);
  EXPECT_EQ(order.position().index, 0);
}

TEST(ExampleOrder, ShufflesEveryEpochAnew) {
  ExampleOrder order({50, 50, true, 0}, OpenArgs{0, 1, 7});
  const std::vector<std::int64_t> first = order.batch();
  order.advance();
  EXPECT_NE(order.batch(), first);
  EXPECT_THAT(order.batch(), ::testing::UnorderedElementsAreArray(first));
}

TEST(ExampleOrder, ShardsAreDisjointAndCompleteInEveryEpoch) {
  for (const bool shuffle : {false, true}) {
    for (const std::int64_t shards : {1, 2, 3, 7, 23}) {
      std::vector<std::multiset<std::int64_t>> epochs(3);
      for (std::int64_t shard = 0; shard < shards; ++shard) {
        ExampleOrder order({23, 4, shuffle, 3}, OpenArgs{shard, shards, 5});
        EXPECT_EQ(order.size(), 23 / shards + (shard < 23 % shards ? 1 : 0));
        while (!order.batch().empty()) {
          const auto epoch = static_cast<std::size_t>(order.position().epoch);
          epochs[epoch].insert(order.batch().begin(), order.batch().end());
          order.advance();
        }
      }
      std::multiset<std::int64_t> every;
      for (std::int64_t i = 0; i < 23; ++i) every.insert(i);
      for (const auto& epoch : epochs) EXPECT_EQ(epoch, every);
    }
  }
}

TEST(ExampleOrder, AShardTakesEveryNthOfTheCommonOrder) {
  ExampleOrder whole({10, 10, true, 1}, OpenArgs{0, 1, 5}), second({10, 10, true, 1}, OpenArgs{1, 3, 5});
  const auto& order = whole.batch();
  EXPECT_THAT(second.batch(), ElementsAre(order[1], order[4], order[7]));
}

TEST(ExampleOrder, SeekGoesOnAsIfNothingHadHappened) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t examples = 1 + static_cast<std::int64_t>(random() % 40);
    const auto shards =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::min<std::int64_t>(examples, 4)));
    const OpenArgs args{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shards)), shards, random()};
    const ExampleOrder::Options options{examples, 1 + static_cast<std::int64_t>(random() % 12), random() % 2 == 0, 3};
    ExampleOrder order(options, args);
    const std::vector<Delivered> whole = rest_of(order);
    const std::size_t done = random() % (whole.size() + 1);
    const Position at = done == 0 ? Position{} : whole[done - 1].after;
    ExampleOrder fresh(options, args);
    fresh.seek(at);
    order.seek(at);
    const std::vector<Delivered> rest(whole.begin() + static_cast<std::ptrdiff_t>(done), whole.end());
    EXPECT_EQ(rest_of(fresh), rest);
    EXPECT_EQ(rest_of(order), rest);
  }
}

TEST(ExampleOrder, APositionBetweenBatchesIsExact) {
  ExampleOrder order({5, 2, false, 1}, OpenArgs{});
  order.seek({0, 1});
  EXPECT_THAT(order.batch(), ElementsAre(1, 2));
}

TEST(ExampleOrder, TheEndOfAnEpochIsTheStartOfTheNext) {
  ExampleOrder order({5, 2, false, 2}, OpenArgs{});
  order.seek({0, 5});
  EXPECT_EQ(order.position().epoch, 1);
  EXPECT_THAT(order.batch(), ElementsAre(0, 1));
  order.seek({1, 5});
  EXPECT_THAT(order.batch(), IsEmpty());
  order.seek({7, 0});
  EXPECT_THAT(order.batch(), IsEmpty());
}

struct SharedOptions : belay::SplitOptions, belay::BatchOptions, belay::DecodeOptions {
  std::int64_t examples = 5;
};
constexpr auto kShared = belay::about(
    "points", "Points of a plane", belay::option("examples", &SharedOptions::examples, "examples in an epoch"),
    belay::split_options<SharedOptions>(), belay::batch_options<SharedOptions>("another order of the points"),
    belay::decode_option<SharedOptions>());

TEST(BatchOptions, AreNamedInAboutInTheOrderOfItsArguments) {
  std::vector<std::string> names;
  std::apply([&](const auto&... option) { (names.emplace_back(option.name), ...); }, kShared.options);
  EXPECT_THAT(names, ElementsAre("examples", "split", "eval_fraction", "split_seed", "test_fraction", "folds", "fold",
                                 "every", "at", "batch_size", "shuffle", "epochs", "decode_threads"));
}

TEST(BatchOptions, SetTheMembersThatTheOptionsInherit) {
  const std::int64_t size = 2, epochs = 2, threads = 3;
  const belay_str eval = belay::detail::str("eval");
  const belay_named_value given[] = {
      {belay::detail::str("batch_size"), {BELAY_VALUE_INT, 0, 1, &size}},
      {belay::detail::str("epochs"), {BELAY_VALUE_INT, 0, 1, &epochs}},
      {belay::detail::str("split"), {BELAY_VALUE_TEXT, 0, 1, &eval}},
      {belay::detail::str("decode_threads"), {BELAY_VALUE_INT, 0, 1, &threads}},
  };
  belay::detail::OptionStorage storage;
  const auto options = belay::detail::parse_options<SharedOptions>(kShared, "input", given, 4, storage);
  EXPECT_EQ(options.split, "eval");
  EXPECT_EQ(options.decode_threads, 3);
  ExampleOrder shared(options.examples, options, OpenArgs{}), listed({5, 2, false, 2}, OpenArgs{});
  EXPECT_EQ(rest_of(shared), rest_of(listed));
}

TEST(ExampleOrder, WrongArgumentsAreNamed) {
  EXPECT_EQ(error_of([] {
              ExampleOrder({5, 2, false, 0}, OpenArgs{3, 3, 0});
            }),
            "INVALID_ARGUMENT: there is no shard 3 of 3; shards count from 0");
  EXPECT_EQ(error_of([] {
              ExampleOrder({5, 2, false, 0}, OpenArgs{5, 8, 0});
            }),
            "FAILED_PRECONDITION: shard 5 of 8 gets none of the 5 examples; use fewer shards");
  ExampleOrder order({5, 2, false, 0}, OpenArgs{1, 2, 0});
  for (const Position& p : {Position{-1, 0}, Position{2, -1}, Position{2, 3}})
    EXPECT_EQ(error_of([&] { order.seek(p); }),
              "INVALID_ARGUMENT: there is no position " + std::to_string(p.index) + " in epoch " +
                  std::to_string(p.epoch) +
                  ": this shard has 2 examples in an epoch; it was stored with other data or another number of shards");
}

}  // namespace
