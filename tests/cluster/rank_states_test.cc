// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_states.h"

#include <gmock/gmock.h>

#include <cstring>

#include "runtime/checkpoint/format/state_data.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

HookStates counted(std::int64_t count) {
  StateTensor tensor = allocated(DType::kInt64, {2});
  const std::int64_t elements[] = {count, -count};
  std::memcpy(tensor.memory.get(), elements, sizeof(elements));
  HookState state{{{"count", count}, {"name", std::string("a\xff")}, {"tensor", tensor}}, "1.2"};
  state.entries["empty"] = allocated(DType::kFloat32, {0, 3});
  return {{"counted", state}};
}

TEST(RankStates, PackedOnesAreReadBackWithTheirTensors) {
  EXPECT_EQ(unpacked(packed(counted(7))), counted(7));
  EXPECT_EQ(unpacked(packed({})), HookStates());
  EXPECT_NE(unpacked(packed(counted(7))), counted(8));
}

TEST(RankStates, ThoseOfARankAreByItsNumberAndThoseOfOneThatIsNoMoreStay) {
  HookStates states = counted(1);
  for (const std::size_t rank : {1, 2, 3})
    add_states_of_rank(states, rank, packed(counted(static_cast<std::int64_t>(10 * rank))));
  EXPECT_THAT(states, UnorderedElementsAre(Key("counted"), Key("counted@1"), Key("counted@2"), Key("counted@3")));
  const std::vector<std::string> texts = take_states_of_ranks(states, 3);
  EXPECT_THAT(states, UnorderedElementsAre(Key("counted"), Key("counted@3")));
  EXPECT_THAT(texts, ElementsAre("", packed(counted(10)), packed(counted(20))));
  EXPECT_EQ(unpacked(texts[2]), counted(20));
}

TEST(RankStates, OneThatIsCutOffIsAnError) {
  const std::string text = packed(counted(7));
  EXPECT_THROW(unpacked(text.substr(0, text.size() - 1)), Error);
}

}  // namespace
}  // namespace belay::runtime
