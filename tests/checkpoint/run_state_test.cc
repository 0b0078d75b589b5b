// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/checkpoint/format/state_data.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

RunState example_state() {
  RunState state;
  state.global_step = 2000;
  state.input_positions["train"] = {3, 512};
  state.input_positions["stream"] = {0, 7, std::string("at \0\xff", 5)};
  state.hook_states["empty"] = {};
  state.hook_states["all"].entries = {{"flag", true},
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
  state.hook_states["h"].entries["list"] = values;
  for (std::size_t i = 0; i < 20; ++i) state.hook_states["h"].entries["v" + std::to_string(i)] = values[i];
  const RunState found = parse_run_state(format_run_state(state));
  const auto& list = std::get<std::vector<double>>(found.hook_states.at("h").entries.at("list"));
  ASSERT_EQ(list.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint64_t>(list[i]), std::bit_cast<std::uint64_t>(values[i])) << values[i];
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(
        std::bit_cast<std::uint64_t>(std::get<double>(found.hook_states.at("h").entries.at("v" + std::to_string(i)))),
        std::bit_cast<std::uint64_t>(values[i]));
}

TEST(RunStateFile, IsReadable) {
  RunState state;
  state.global_step = 2000;
  state.input_positions["train"] = {3, 512};
  state.hook_states["stop_at_step"].entries = {{"last_step", std::int64_t{2000}},
                                               {"best", std::numeric_limits<double>::infinity()}};
  state.fingerprint = {2, "avx2", "1f0a", 42};
  state.hook_states["stop_at_step"].written_by = "1.2";
  EXPECT_EQ(format_run_state(state), R"({
 "format": 2,
 "global_step": 2000,
 "input_positions": {
  "train": {"epoch":3,"index":512}
 },
 "hook_states": {
  "stop_at_step": {"best":["float","inf"],"last_step":["int",2000]}
 },
 "written_by": {"stop_at_step":"1.2"},
 "fingerprint": {"threads":2,"isa":"avx2","binary":"1f0a","seed":42}
}
)");
}

// Format 2 without a digest, as an older belay writes it; format 3 with one, which such a belay refuses by its number.
TEST(RunStateFile, B_08h_ADigestMakesItFormat3AndAStateWithoutOneStaysFormat2) {
  const RunState state;
  EXPECT_EQ(format_run_state(state).substr(0, 14), "{\n \"format\": 2");
  EXPECT_EQ(digest_in_run_state(format_run_state(state)), "");
  const std::string digest = "00112233445566778899aabbccddeeff";
  const std::string text = format_run_state(state, digest);
  EXPECT_EQ(text.substr(0, 14), "{\n \"format\": 3");
  EXPECT_EQ(digest_in_run_state(text), digest);
  EXPECT_EQ(format_run_state(parse_run_state(text), digest), text);
  std::string damaged = text;
  damaged.replace(damaged.find("0011"), 4, "00XX");
  EXPECT_EQ(error_of([&] { parse_run_state(damaged); }),
            "DATA_LOSS: [B4012] digest is \"00XX2233445566778899aabbccddeeff\", must be 32 digits of base 16");
  damaged = text;
  damaged[13] = '2';
  EXPECT_THAT(error_of([&] { parse_run_state(damaged); }), ::testing::HasSubstr("digest"));
}

TEST(RunStateFile, APrecisionThatIsNotFloat32IsKept) {
  RunState state;
  state.fingerprint = {2, "avx2", "1f0a", 42, "bf16"};
  const std::string text = format_run_state(state);
  EXPECT_NE(text.find(R"("seed":42,"precision":"bf16"})"), text.npos) << text;
  EXPECT_EQ(parse_run_state(text).fingerprint, state.fingerprint);
}

TEST(RunStateFile, T_51_OneDnnFloatingPointCLibraryAndPluginsAreKept) {
  RunState state;
  state.fingerprint = {
      2, "avx2", "1f0a", 42, "float32", "2.6.3 avx2", "denormals flushed", {{"model:mlp", "0c"}}, "glibc 2.36"};
  const std::string text = format_run_state(state);
  EXPECT_NE(text.find(R"("seed":42,"onednn":"2.6.3 avx2","floating_point":"denormals flushed",)"
                      R"("c_library":"glibc 2.36","plugins":{"model:mlp":"0c"}})"),
            text.npos)
      << text;
  EXPECT_EQ(parse_run_state(text).fingerprint, state.fingerprint);
}

TEST(RunStateFile, B_08a_ATensorIsDescribedByItsPlaceInStateData) {
  RunState state;
  for (const char* key : {"a", "b"}) {
    StateTensor t = allocated(DType::kFloat32, {2, 3});
    std::memset(t.memory.get(), 0, 24);
    state.hook_states["h"].entries[key] = t;
  }
  state.hook_states["i"].entries["none"] = allocated(DType::kBool, {0});
  const std::string text = format_run_state(state);
  const std::string crc = crc_text(crc32c(std::string(24, '\0')));
  EXPECT_NE(
      text.find("\n  \"h\": {\"a\":[\"tensor\",{\"dtype\":\"float32\",\"shape\":[2,3],\"offset\":0,\"crc32c\":\"" +
                crc + "\"}],\"b\":[\"tensor\",{\"dtype\":\"float32\",\"shape\":[2,3],\"offset\":24,\"crc32c\":\"" +
                crc + "\"}]},\n  \"i\": {\"none\":[\"tensor\",{\"dtype\":\"bool\",\"shape\":[0],\"offset\":48,"),
      text.npos)
      << text;
  EXPECT_EQ(parse_run_state(text).hook_states, state.hook_states);
}

TEST(RunStateFile, B_08c_AFileWithoutAFormatIsReadAndALaterOneRefusedByNumber) {
  const std::string first = R"("global_step": 1, "input_positions": {}, "hook_states": {"h": {"k": ["int", 3]}}, )"
                            R"("fingerprint": {"threads": 1, "isa": "", "binary": "", "seed": 1}})";
  const RunState read = parse_run_state("{" + first);
  EXPECT_EQ(std::get<std::int64_t>(read.hook_states.at("h").entries.at("k")), 3);
  EXPECT_EQ(read.hook_states.at("h").written_by, "");
  const std::string later = error_of([&] { parse_run_state(R"({"format": 7, "anything": [], )" + first); });
  EXPECT_THAT(later,
              ::testing::StartsWith("FAILED_PRECONDITION: [B4004] it is of format 7, which a later belay wrote; "));
  EXPECT_THAT(later, ::testing::EndsWith(", which reads formats 1 to 3: use a newer belay"));
  EXPECT_EQ(error_of([&] { parse_run_state(R"({"format": 1, )" + first); }),
            "DATA_LOSS: [B4012] format is no number that belay has written");
  EXPECT_EQ(error_of([&] { parse_run_state(R"({"format": "2", )" + first); }),
            "DATA_LOSS: [B4012] format is no number that belay has written");
  EXPECT_EQ(error_of([&] { parse_run_state(R"({"format": 2, "written_by": {"x": "1"}, )" + first); }),
            "DATA_LOSS: [B4012] written_by.x is of no hook in hook_states");
}

// The counted size of an entry is never less than its size in the file.
TEST(RunStateFile, B_08d_TheCostOfAnEntryIsNotLessThanItsText) {
  RunState state = example_state();
  state.hook_states["all"].entries["\x01\x02"] = std::vector<double>(100, 0.1);
  state.hook_states["all"].entries["tensor"] = allocated(DType::kFloat32, {1, 0, 9'000'000'000'000'000'000});
  for (const auto& [key, value] : state.hook_states.at("all").entries) {
    RunState with, without;
    with.hook_states["h"].entries["x"] = true;
    without = with;
    with.hook_states["h"].entries[key] = value;
    EXPECT_GE(cost_of(key, value).bytes, format_run_state(with).size() - format_run_state(without).size()) << key;
  }
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
      {with(R"({"h": {"k": ["matrix", 1]}})"), "hook_states.h.k is of the unknown type \"matrix\""},
      {with(R"({"h": {"k": ["tensor", 1]}})"), "hook_states.h.k is no object"},
      {with(R"({"h": {"k": ["tensor", {"dtype": "float32", "shape": [2], "offset": 0}]}})"),
       "hook_states.h.k.crc32c is missing"},
      {with(R"({"h": {"k": ["tensor", {"dtype": "string", "shape": [2], "offset": 0, "crc32c": "00000000"}]}})"),
       "hook_states.h.k.dtype is \"string\", which belay does not store"},
      {with(R"({"h": {"k": ["tensor", {"dtype": "float32", "shape": [-2], "offset": 0, "crc32c": "00000000"}]}})"),
       "hook_states.h.k.shape holds what is no dimension"},
      {with(R"({"h": {"k": ["tensor", {"dtype": "float32", "shape": [2], "offset": 4, "crc32c": "00000000"}]}})"),
       "hook_states.h.k.offset is 4, the tensors before it end at 0"},
      {with(
           R"({"h": {"k": ["tensor", {"dtype": "uint8", "shape": [9223372036854775807], "offset": 0, "crc32c": "00000000"}], "l": ["tensor", {"dtype": "uint8", "shape": [9223372036854775807], "offset": 9223372036854775807, "crc32c": "00000000"}], "m": ["tensor", {"dtype": "uint8", "shape": [2], "offset": 18446744073709551614, "crc32c": "00000000"}]}})"),
       "hook_states.h.m has a size that overflows"},
      {with(R"({"h": {"k": ["int", 1.5]}})"), "hook_states.h.k is no int"},
      {with(R"({"h": {"k": ["int", 9223372036854775808]}})"), "hook_states.h.k is no int"},
      {with(R"({"h": {"k": ["bool", 1]}})"), "hook_states.h.k is no bool"},
      {with(R"({"h": {"k": ["float", 1]}})"), "hook_states.h.k is no float"},
      {with(R"({"h": {"k": ["float", "nan"]}})"), "hook_states.h.k is no float"},
      {with(R"({"h": {"k": ["float", "nan:3ff0000000000000"]}})"), "hook_states.h.k is no float"},
      {with(R"({"h": {"k": ["float_list", [1.5, null]]}})"), "hook_states.h.k[1] is no float"},
      {with(R"({"h": {"k": ["text", 1]}})"), "hook_states.h.k is no object"},
      {with(R"({"h": {"k": ["text", {"hex": "0g"}]}})"), "hook_states.h.k is no string"},
      {with(R"({"h": {"k": ["text", {"hex": "000"}]}})"), "hook_states.h.k is no string"},
      {with(R"({"h": {"k": ["int_list", 3]}})"), "hook_states.h.k is no list"},
      {R"({"global_step": -1, "input_positions": {}, "hook_states": {}, "fingerprint": {"threads": 1, "isa": "", "binary": "", "seed": 1}})",
       "global_step is no integer that is zero or more"},
      {R"({"global_step": 1, "input_positions": {"t": {"epoch": 1}}, "hook_states": {}, "fingerprint": {"threads": 1, "isa": "", "binary": "", "seed": 1}})",
       "input_positions.t.index is missing"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] { parse_run_state(c.text); }), "DATA_LOSS: [B4012] " + c.expected) << c.text;
}

// Four times as many states take about four times as long, not sixteen times: of many hooks, and of one with many keys.
TEST(RunStateFile, T_62a_ManyStatesAreWrittenAndReadInLinearTime) {
  const auto seconds = [](int hooks, int keys) {
    RunState state;
    for (int h = 0; h < hooks; ++h)
      for (int k = 0; k < keys; ++k)
        state.hook_states["hook_" + std::to_string(h)].entries["key_" + std::to_string(k)] = true;
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
  state.hook_states["h"].entries["\xff"] = true;
  EXPECT_EQ(error_of([&] { format_run_state(state); }),
            "INVALID_ARGUMENT: [B4005] a name or key in the hooks' states is not UTF-8");
}

}  // namespace
}  // namespace belay::runtime
