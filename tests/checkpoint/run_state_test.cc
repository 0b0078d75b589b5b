// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/run_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

RunState example_state() {
  RunState state;
  state.global_step = 2000;
  state.input_positions["train"] = {3, 512};
  state.input_positions["stream"] = {0, 7, std::string("at \0\xff", 5)};
  state.hook_states["empty"] = {};
  state.hook_states["all"] = {{"flag", true},
                              {"count", std::int64_t{-7}},
                              {"rate", 0.1},
                              {"text", "a \"quoted\"\nline"},
                              {"bytes", std::string("\xff\x00\xfe", 3)},
                              {"ints", std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX}},
                              {"floats", std::vector<double>{1, -0.0, 1e300}},
                              {"texts", std::vector<std::string>{"", "\xc3\xa9", "\x80"}},
                              {"no ints", std::vector<std::int64_t>{}},
                              {"no floats", std::vector<double>{}},
                              {"no texts", std::vector<std::string>{}}};
  state.fingerprint = {2, "avx2", "1f0a", std::numeric_limits<std::uint64_t>::max()};
  return state;
}

TEST(RunStateFile, ComesBackAsItWas) {
  const RunState expected = example_state(), found = parse_run_state(format_run_state(expected));
  EXPECT_EQ(found.global_step, expected.global_step);
  EXPECT_EQ(found.input_positions.at("train").epoch, 3);
  EXPECT_EQ(found.input_positions.at("train").index, 512);
  EXPECT_EQ(found.hook_states, expected.hook_states);
  EXPECT_EQ(found.fingerprint, expected.fingerprint);
}

TEST(RunStateFile, B_05a_TheBytesOfAPositionComeBackAsTheyWere) {
  const RunState found = parse_run_state(format_run_state(example_state()));
  EXPECT_EQ(found.input_positions.at("stream").index, 7);
  EXPECT_EQ(found.input_positions.at("stream").bytes, std::string("at \0\xff", 5));
  EXPECT_EQ(found.input_positions.at("train").bytes, "");
}

TEST(RunStateFile, EveryDoubleKeepsItsBits) {
  std::vector<double> values = {0.0,
                                -0.0,
                                1.0,
                                0.1,
                                1e-320,
                                std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                -std::numeric_limits<double>::quiet_NaN(),
                                std::bit_cast<double>(0x7ff0000000000001u),
                                std::bit_cast<double>(0xfff8deadbeef1234u),
                                1e15,
                                1e16,
                                1e17,
                                123456789012345680.0};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) values.push_back(std::bit_cast<double>(random()));
  RunState state;
  state.hook_states["h"]["list"] = values;
  for (std::size_t i = 0; i < 20; ++i) state.hook_states["h"]["v" + std::to_string(i)] = values[i];
  const RunState found = parse_run_state(format_run_state(state));
  const auto& list = std::get<std::vector<double>>(found.hook_states.at("h").at("list"));
  ASSERT_EQ(list.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint64_t>(list[i]), std::bit_cast<std::uint64_t>(values[i])) << values[i];
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(std::get<double>(found.hook_states.at("h").at("v" + std::to_string(i)))),
              std::bit_cast<std::uint64_t>(values[i]));
}

TEST(RunStateFile, IsReadable) {
  RunState state;
  state.global_step = 2000;
  state.input_positions["train"] = {3, 512};
  state.hook_states["stop_at_step"] = {{"last_step", std::int64_t{2000}},
                                       {"best", std::numeric_limits<double>::infinity()}};
  state.fingerprint = {2, "avx2", "1f0a", 42};
  EXPECT_EQ(format_run_state(state), R"({
 "global_step": 2000,
 "input_positions": {
  "train": {"epoch":3,"index":512}
 },
 "hook_states": {
  "stop_at_step": {"best":["float","inf"],"last_step":["int",2000]}
 },
 "fingerprint": {"threads":2,"isa":"avx2","binary":"1f0a","seed":42}
}
)");
}

TEST(RunStateFile, APrecisionThatIsNotFloat32IsKept) {
  RunState state;
  state.fingerprint = {2, "avx2", "1f0a", 42, "bf16"};
  const std::string text = format_run_state(state);
  EXPECT_NE(text.find(R"("seed":42,"precision":"bf16"})"), text.npos) << text;
  EXPECT_EQ(parse_run_state(text).fingerprint, state.fingerprint);
}

TEST(RunStateFile, T_51_OneDnnFloatingPointAndPluginsAreKept) {
  RunState state;
  state.fingerprint = {2, "avx2", "1f0a", 42, "float32", "2.6.3 avx2", "denormals flushed", {{"model:mlp", "0c"}}};
  const std::string text = format_run_state(state);
  EXPECT_NE(text.find(R"("seed":42,"onednn":"2.6.3 avx2","floating_point":"denormals flushed",)"
                      R"("plugins":{"model:mlp":"0c"}})"),
            text.npos)
      << text;
  EXPECT_EQ(parse_run_state(text).fingerprint, state.fingerprint);
}

TEST(RunStateFile, EachDamageHasItsMessage) {
  const auto with = [](const std::string& hooks) {
    return R"({"global_step": 1, "input_positions": {}, "hook_states": )" + hooks +
           R"(, "fingerprint": {"threads": 1, "isa": "", "binary": "", "seed": 1}})";
  };
  const struct {
    std::string text, expected;
  } cases[] = {
      {"", "it is no JSON at byte 0"},
      {"{}", "global_step is missing"},
      {with("[]"), "hook_states is no object"},
      {with(R"({"h": 1})"), "hook_states.h is no object"},
      {with(R"({"h": {"k": 1}})"), "hook_states.h.k is no pair of type and value"},
      {with(R"({"h": {"k": ["int"]}})"), "hook_states.h.k is no pair of type and value"},
      {with(R"({"h": {"k": ["tensor", 1]}})"), "hook_states.h.k is of the unknown type \"tensor\""},
      {with(R"({"h": {"k": ["int", 1.5]}})"), "hook_states.h.k is no int"},
      {with(R"({"h": {"k": ["int", 9223372036854775808]}})"), "hook_states.h.k is no int"},
      {with(R"({"h": {"k": ["bool", 1]}})"), "hook_states.h.k is no bool"},
      {with(R"({"h": {"k": ["float", 1]}})"), "hook_states.h.k is no float"},
      {with(R"({"h": {"k": ["float", "nan"]}})"), "hook_states.h.k is no float"},
      {with(R"({"h": {"k": ["float", "nan:3ff0000000000000"]}})"), "hook_states.h.k is no float"},
      {with(R"({"h": {"k": ["float_list", [1.5, null]]}})"), "hook_states.h.k[1] is no float"},
      {with(R"({"h": {"k": ["text", 1]}})"), "hook_states.h.k is no object"},
      {with(R"({"h": {"k": ["text", {"hex": "0g"}]}})"), "hook_states.h.k is no text"},
      {with(R"({"h": {"k": ["text", {"hex": "000"}]}})"), "hook_states.h.k is no text"},
      {with(R"({"h": {"k": ["int_list", 3]}})"), "hook_states.h.k is no list"},
      {R"({"global_step": -1, "input_positions": {}, "hook_states": {}, "fingerprint": {"threads": 1, "isa": "", "binary": "", "seed": 1}})",
       "global_step is no integer that is zero or more"},
      {R"({"global_step": 1, "input_positions": {"t": {"epoch": 1}}, "hook_states": {}, "fingerprint": {"threads": 1, "isa": "", "binary": "", "seed": 1}})",
       "input_positions.t.index is missing"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] { parse_run_state(c.text); }), "DATA_LOSS: " + c.expected) << c.text;
}

// Four times as many states take about four times as long, not sixteen times: of many hooks, and of one with many keys.
TEST(RunStateFile, T_62a_ManyStatesAreWrittenAndReadInLinearTime) {
  const auto seconds = [](int hooks, int keys) {
    RunState state;
    for (int h = 0; h < hooks; ++h)
      for (int k = 0; k < keys; ++k) state.hook_states["hook_" + std::to_string(h)]["key_" + std::to_string(k)] = true;
    double best = HUGE_VAL;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      const RunState read = parse_run_state(format_run_state(state));
      best = std::min(best, static_cast<double>(std::clock() - start));
      EXPECT_EQ(read.hook_states, state.hook_states);
    }
    return best;
  };
  EXPECT_LT(seconds(50'000, 1), 9 * seconds(12'500, 1));
  EXPECT_LT(seconds(1, 80'000), 9 * seconds(1, 20'000));
}

TEST(RunStateFile, AKeyThatIsNoUtf8IsNotWritten) {
  RunState state;
  state.hook_states["h"]["\xff"] = true;
  EXPECT_EQ(error_of([&] { format_run_state(state); }),
            "INVALID_ARGUMENT: a name or key in the hooks' states is not UTF-8");
}

}  // namespace
}  // namespace belay::runtime
