// SPDX-License-Identifier: Apache-2.0
#include "belay/hook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/fake_state.h"

namespace {

using belay::testing::error_of;
using belay::testing::FakeHost;
using belay::testing::FakeState;
using belay::testing::StoredState;
using belay::testing::StoredValue;

struct StateFixture {
  explicit StateFixture(StoredState values = {}, std::string written_by = {})
      : state(host, std::move(values), std::move(written_by)) {}
  FakeHost host;
  struct Offer {
    explicit Offer(FakeHost& h) { FakeState::offer(h); }
  } offer{host};
  belay::Host services{host.api(), host.raw()};
  FakeState state;
  belay::StateWriter writer{&services.services().state, state.raw()};
  belay::StateReader reader{&services.services().state, state.raw()};
};

TEST(HookState, EveryTypeComesBack) {
  StateFixture f;
  f.writer.put("flag", true);
  f.writer.put("int", 7);
  f.writer.put("long", std::numeric_limits<std::int64_t>::min());
  f.writer.put("number", 0.1);
  f.writer.put("text", "a\"b");
  f.writer.put("numbers", std::vector<double>{0.5, std::numeric_limits<double>::infinity()});
  f.writer.put("integers", std::vector<std::int64_t>{1, -1});
  f.writer.put("none", std::vector<double>{});
  EXPECT_TRUE(f.reader.flag("flag"));
  EXPECT_EQ(f.reader.integer("int"), 7);
  EXPECT_EQ(f.reader.integer("long"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(f.reader.number("number"), 0.1);
  EXPECT_EQ(f.reader.number("int"), 7.0);
  EXPECT_EQ(f.reader.text("text"), "a\"b");
  EXPECT_EQ(f.reader.numbers("numbers"), (std::vector<double>{0.5, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(f.reader.integers("integers"), (std::vector<std::int64_t>{1, -1}));
  EXPECT_TRUE(f.reader.numbers("none").empty());
}

TEST(HookState, AnAbsentKeyKeepsTheFreshValue) {
  const StateFixture f;
  EXPECT_FALSE(f.reader.has("x"));
  EXPECT_TRUE(f.reader.flag("x", true));
  EXPECT_EQ(f.reader.integer("x", 3), 3);
  EXPECT_EQ(f.reader.number("x", 0.5), 0.5);
  EXPECT_EQ(f.reader.text("x", "fresh"), "fresh");
  EXPECT_TRUE(f.reader.integers("x").empty());
}

TEST(HookState, TheLastPutCounts) {
  StateFixture f;
  f.writer.put("x", 1);
  f.writer.put("x", "two");
  EXPECT_EQ(f.state.values(), (StoredState{{"x", "two"}}));
}

TEST(HookState, AnotherTypeIsDataLoss) {
  const StateFixture f({{"text", "x"}, {"list", std::vector<int>{1}}});
  EXPECT_EQ(error_of([&] { f.reader.integer("text"); }), "DATA_LOSS: the stored state's 'text' is not an integer");
  EXPECT_EQ(error_of([&] { f.reader.number("list"); }), "DATA_LOSS: the stored state's 'list' is not a number");
  EXPECT_EQ(error_of([&] { f.reader.text("list"); }), "DATA_LOSS: the stored state's 'list' is not a string");
  EXPECT_EQ(error_of([&] { f.reader.numbers("list"); }), "DATA_LOSS: the stored state's 'list' is not a list");
}

TEST(HookState, B_08a_ATensorIsFilledInPlaceAndComesBack) {
  StateFixture f;
  const belay::TensorView memory = f.writer.tensor("window", belay::DType::kFloat32, {2, 2});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0u);
  std::fill_n(memory.data<float>(), 4, 0.5f);
  EXPECT_EQ(f.writer.tensor("window", belay::DType::kFloat32, {2, 2}).data(), memory.data());
  f.writer.tensor("none", belay::DType::kInt64, {0, 7});
  *f.writer.tensor("scalar", belay::DType::kBool, {}).data<bool>() = true;
  const StoredState saved = f.state.values();
  EXPECT_EQ(saved, (StoredState{{"none", belay::Tensor(belay::DType::kInt64, {0, 7})},
                                {"scalar", belay::Tensor(true)},
                                {"window", belay::Tensor({2, 2}, {0.5f, 0.5f, 0.5f, 0.5f})}}));

  const StateFixture later(saved, "1.2");
  const belay::TensorView read = later.reader.tensor("window");
  EXPECT_EQ(StoredValue(read), saved.at("window"));
  EXPECT_TRUE(read.read_only());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.data()) % 64, 0u);
  EXPECT_EQ(later.reader.tensor("none").dims(), (belay::Dims{0, 7}));
  EXPECT_TRUE(later.reader.tensor("scalar").scalar<bool>());
  EXPECT_FALSE(later.reader.tensor("absent").has_value());
}

// A callback that a hook leaves out shows as a difference.
TEST(HookState, B_08a_ElementsThatAreNotFilledDifferFromSaveToSave) {
  StateFixture first, second;
  first.writer.tensor("window", belay::DType::kUInt8, {3});
  second.writer.tensor("window", belay::DType::kUInt8, {3});
  EXPECT_NE(first.state.values(), second.state.values());
}

TEST(HookState, B_08a_AKeyHasAValueOrATensorAndStringsAreNoTensor) {
  StateFixture f;
  f.writer.put("value", 1);
  f.writer.tensor("tensor", belay::DType::kInt32, {2});
  EXPECT_EQ(error_of([&] { f.writer.tensor("value", belay::DType::kInt32, {2}); }),
            "INVALID_ARGUMENT: state 'value' has a value in this save; a key has one of the two");
  EXPECT_EQ(error_of([&] { f.writer.put("tensor", 1); }),
            "INVALID_ARGUMENT: state 'tensor' has a tensor in this save; a key has one of the two");
  EXPECT_EQ(error_of([&] { f.writer.tensor("tensor", belay::DType::kInt32, {3}); }),
            "INVALID_ARGUMENT: state 'tensor' has a tensor of another form in this save");
  EXPECT_EQ(error_of([&] { f.writer.tensor("texts", belay::DType::kString, {2}); }),
            "INVALID_ARGUMENT: state 'texts': a tensor of strings is not kept; put a list of strings");
  EXPECT_EQ(error_of([&] { f.writer.tensor("less", belay::DType::kInt32, {-2}); }),
            "INVALID_ARGUMENT: state 'less' has no size: [?]");
}

TEST(HookState, B_08b_KeysComeInOrderWithTheVersionThatWroteThem) {
  const StateFixture f({{"b", 1}, {"c", belay::Tensor(1.f)}, {"a", "x"}}, "1.2");
  EXPECT_EQ(f.reader.keys(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(f.reader.written_by(), "1.2");
  const StateFixture none;
  EXPECT_TRUE(none.reader.keys().empty());
  EXPECT_EQ(none.reader.written_by(), "");
}

TEST(HookState, B_08a_AValueThatIsNoTensorIsDataLossWhereATensorIsAskedFor) {
  const StateFixture f({{"value", 1}, {"tensor", belay::Tensor(1.f)}});
  EXPECT_EQ(error_of([&] { f.reader.tensor("value"); }), "DATA_LOSS: the stored state's 'value' is not a tensor");
  EXPECT_EQ(error_of([&] { f.reader.number("tensor"); }), "DATA_LOSS: the stored state's 'tensor' is not a number");
  EXPECT_TRUE(f.reader.has("tensor"));
}

}  // namespace
