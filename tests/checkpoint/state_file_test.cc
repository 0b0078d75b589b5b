// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/state_file.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

TEST(StateFile, IsTheTextThatOthersWrite) {
  const CheckpointState state{"model.ckpt-2000",
                              {{"model.ckpt-1000", 1704067200.25}, {"model.ckpt-2000", 1704067260.5}}};
  EXPECT_EQ(format_checkpoint_state(state),
            "model_checkpoint_path: \"model.ckpt-2000\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-1000\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-2000\"\n"
            "all_model_checkpoint_timestamps: 1704067200.25\n"
            "all_model_checkpoint_timestamps: 1704067260.5\n");
  EXPECT_EQ(parse_checkpoint_state(format_checkpoint_state(state)), state);
}

TEST(StateFile, AHandWrittenOneIsEnough) {
  const CheckpointState expected{"model.ckpt-5", {{"model.ckpt-5", 0}}};
  EXPECT_EQ(parse_checkpoint_state("  \n model_checkpoint_path : 'model.ckpt-5'  # back to the good one\n"), expected);
}

TEST(StateFile, UnknownFieldsAndMissingTimesAreSkipped) {
  const CheckpointState expected{"b", {{"a", 0}, {"b", 0}}, 1};
  EXPECT_EQ(parse_checkpoint_state("model_checkpoint_path: \"b\" all_model_checkpoint_paths: \"a\" "
                                   "all_model_checkpoint_paths: \"b\" all_model_checkpoint_timestamps: 5 "
                                   "last_preserved_timestamp: 1 mine { x: 1 y: [2, 3] }"),
            expected);
}

TEST(StateFile, WhatIsNoneSaysWhere) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"", "[B4011] it names no current checkpoint (model_checkpoint_path)"},
      {"all_model_checkpoint_paths: \"a\"", "[B4011] it names no current checkpoint (model_checkpoint_path)"},
      {"model_checkpoint_path: \"\"", "[B4011] it names no current checkpoint (model_checkpoint_path)"},
      {"model_checkpoint_path: \"a\"\nmodel_checkpoint_path: \"b\"",
       "[B4012] line 2, column 22: Non-repeated field \"model_checkpoint_path\" is specified multiple times."},
      {"model_checkpoint_path: \"a\"\nall_model_checkpoint_paths: 7",
       "[B4012] line 2, column 29: Expected string, got: 7"},
      {std::string("\0\1\2", 3), "[B4012] line 1, column 1: Invalid control characters encountered in text."},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of([&] { parse_checkpoint_state(c.text); }), "DATA_LOSS: " + c.expected);
}

TEST(StateFile, DeepNestingIsRefused) {
  std::string deep = "model_checkpoint_path: \"a\" ";
  for (int i = 0; i < 100'000; ++i) deep += "x { ";
  EXPECT_EQ(error_of([&] { parse_checkpoint_state(deep); }).substr(0, 10), "DATA_LOSS:");
}

}  // namespace
}  // namespace belay::runtime
