// SPDX-License-Identifier: Apache-2.0
#include "belay/hook.h"

#include <gtest/gtest.h>

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

struct StateFixture {
  explicit StateFixture(StoredState values = {}) : state(host, std::move(values)) {}
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
  EXPECT_EQ(error_of([&] { f.reader.text("list"); }), "DATA_LOSS: the stored state's 'list' is not a text");
  EXPECT_EQ(error_of([&] { f.reader.numbers("list"); }), "DATA_LOSS: the stored state's 'list' is not a list");
}

}  // namespace
