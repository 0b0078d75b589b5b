// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/results/checkpoint_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckpointReport, TheListShowsTheCodeOfAProblemBeforeItsText) {
  StoredList list;
  list.all.push_back({.name = "model.ckpt-2", .path = "run/model.ckpt-2", .is_checkpoint = true});
  list.all[0].problem = "'run/model.ckpt-2': [B4018] model.bin is missing";
  std::ostringstream text, json;
  print_list(list, 0, false, text);
  EXPECT_THAT(text.str(), HasSubstr("  no: B4018: 'run/model.ckpt-2': model.bin is missing\n"));
  print_list(list, 0, true, json);
  EXPECT_EQ(nlohmann::json::parse(json.str())[0]["code"], "B4018");
}

TEST(CheckpointReport, TheVerifiedShowTheCodeOfAProblemBeforeItsText) {
  VerifiedStored damaged{"run/model.ckpt-2"};
  damaged.problem = "'run/model.ckpt-2': index: [B4010] its CRC32C is 1, but the stored one is 2";
  std::ostringstream text, json;
  print_verified({damaged}, false, text);
  EXPECT_THAT(text.str(),
              HasSubstr("  damaged  B4010: 'run/model.ckpt-2': index: its CRC32C is 1, but the stored one is 2\n"));
  EXPECT_THAT(text.str(), Not(HasSubstr("[B")));
  print_verified({damaged}, true, json);
  EXPECT_EQ(nlohmann::json::parse(json.str())[0]["code"], "B4010");
}

}  // namespace
}  // namespace belay::runtime
