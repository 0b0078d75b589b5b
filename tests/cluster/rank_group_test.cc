// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/plugin.h"
#include "belay/testing/error_of.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/library/registry.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace {

using belay::Collective;
using belay::TensorView;

// A group of one whose answers are what a test sets.
class Answers final : public belay::Cluster {
 public:
  static constexpr auto about = belay::about("answers", "Answers what it is told");
  belay::ClusterPlace open(const belay::ClusterArgs&) override { return place; }
  void close() override {
    ++closed;
    if (stays) belay::fail(belay::Code::kUnavailable, "the others do not let go");
  }
  void barrier(const Collective&) override {}
  void broadcast(const Collective&, const TensorView& tensor) override {
    if (number && tensor.bytes() == sizeof(*number)) *static_cast<std::int64_t*>(tensor.mutable_data()) = *number;
  }
  void all_reduce(const Collective&, const TensorView&) override {}
  void all_gather(const Collective&, const TensorView&, const TensorView& all) override {
    if (code) belay::fail(*code, "the others are away");
    for (std::size_t i = 0; number && i < all.bytes() / sizeof(*number); ++i)
      static_cast<std::int64_t*>(all.mutable_data())[i] = *number;
  }
  void send(const Collective&, const TensorView&) override {}
  void receive(const Collective&, const TensorView&) override {}
  belay::Subgroup split(const Collective&, int) override { return {}; }

  static inline belay::ClusterPlace place;
  static inline std::optional<std::int64_t> number;
  static inline std::optional<belay::Code> code;  // that all_gather fails with
  static inline int closed = 0;
  static inline bool stays = false;  // it cannot be closed
};

}  // namespace

BELAY_MODULE("1.0.0", Answers)

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::HasSubstr;

class RankGroupTest : public ::testing::Test {
 protected:
  RankGroupTest() {
    registry.add_linked(&belay_module_v0);
    const RegisteredPlugin* plugin = registry.find(PluginKind::kCluster, "answers");
    ResolvedPlugin use;
    use.info = plugin->info;
    use.instance_name = "answers";
    cluster = &instances.create(*plugin, use, services, monitor);
    Answers::place = {0, 1, 0, 4};
    Answers::number.reset();
    Answers::code.reset();
    Answers::closed = 0;
    Answers::stays = false;
  }
  static RankGroup::Meeting meeting() {
    return {.rank = 0,
            .size = 1,
            .local_rank = 0,
            .directory = "",
            .name = "m",
            .wait_secs = 1,
            .timeout_secs = 1,
            .generation = 4};
  }
  std::string error_of_open() {
    RankGroup group(*cluster);
    return error_of([&] { group.open(meeting()); });
  }

  RecordingLogger logger;
  FakeClock clock;
  HostServices services{logger, clock, "", 1};
  CallMonitor monitor;
  Registry registry;
  PluginInstances instances;
  PluginInstance* cluster = nullptr;
};

const std::string kLabel = "cluster \"answers\" (linked in, 1.0.0) in ";

TEST_F(RankGroupTest, T_145_ThePlaceThatAClusterReturnsIsCheckedAndTheGroupClosed) {
  Answers::place = {0, 1, 0, 3};
  EXPECT_EQ(error_of_open(), "INVALID_ARGUMENT: " + kLabel +
                                 "open: [B5105] it returned generation = 3, and was opened for generation 4");
  EXPECT_EQ(Answers::closed, 1);
  Answers::place = {0, 1, -2, 4};
  EXPECT_EQ(error_of_open(), "INVALID_ARGUMENT: " + kLabel +
                                 "open: [B5105] it returned local_rank = -2 of 1 processes; 0: it is not known");
  Answers::place = {5, 1, 0, 4};
  EXPECT_THAT(error_of_open(), HasSubstr("is rank 5 of 1, and was started as rank 0 of 1"));
  EXPECT_EQ(Answers::closed, 3);
}

TEST_F(RankGroupTest, T_145_ACloseThatFailsIsAWarning) {
  Answers::stays = true;
  RankGroup group(*cluster);
  group.open(meeting());
  group.close();
  EXPECT_THAT(logger.lines, ::testing::ElementsAre("warning answers: " + kLabel + "close: the others do not let go"));
}

TEST_F(RankGroupTest, T_145_WhatAClusterMovesForTheHostIsCheckedBeforeItIsUsed) {
  RankGroup group(*cluster);
  group.open(meeting());
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{1} << 60}) {
    Answers::number = wrong;
    EXPECT_THAT(
        error_of([&] { group.all_gather({7}); }),
        HasSubstr("DATA_LOSS: " + kLabel + "all_gather: [B5105] it returned other numbers in this rank's part"));
    EXPECT_THAT(error_of([&] { group.gather_texts("four"); }), HasSubstr(kLabel + "all_gather: [B5105] it returned"));
    EXPECT_EQ(error_of([&] { group.broadcast(std::string("four"), 0); }),
              "DATA_LOSS: " + kLabel + "broadcast: [B5105] it returned " + std::to_string(wrong) +
                  " as the length of a text, which cannot be");
  }
}

TEST_F(RankGroupTest, T_141_ACallOfAClusterEndsNoRunAndMayLoseTheSession) {
  RankGroup group(*cluster);
  group.open(meeting());
  const auto error_with = [&](belay::Code code) {
    Answers::code = code;
    return error_of([&] { group.all_gather({7}); });
  };
  for (const belay::Code code : {belay::Code::kOutOfRange, belay::Code::kStop})
    EXPECT_THAT(error_with(code),
                ::testing::StartsWith("FAILED_PRECONDITION: " + kLabel + "all_gather: the others are away ("));
  EXPECT_EQ(error_with(belay::Code::kUnavailable), "UNAVAILABLE: " + kLabel + "all_gather: the others are away");
}

}  // namespace
}  // namespace belay::runtime
