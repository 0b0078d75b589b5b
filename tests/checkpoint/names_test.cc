// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/names.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(CheckpointNames, SAVER_11_StepAndNameAreEachOthersInverse) {
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{7}, std::int64_t{2000}, INT64_MAX})
    EXPECT_EQ(step_of_checkpoint(checkpoint_name(step)), step);
  EXPECT_EQ(checkpoint_name(2000), "model.ckpt-2000");
}

TEST(CheckpointNames, NothingElseIsACheckpointsName) {
  for (const char* name : {"", "model.ckpt", "model.ckpt-", "model.ckpt--1", "model.ckpt-01", "model.ckpt-1x",
                           "model.ckpt-1.index", "model.ckpt- 1", "model.ckpt-+1", "xmodel.ckpt-1",
                           "model.ckpt-9223372036854775808", "model.ckpt-1.tmp-0123456789abcdef", "model.ckpt-1\n"})
    EXPECT_EQ(step_of_checkpoint(name), std::nullopt) << name;
}

TEST(CheckpointNames, TemporaryAndReplacedNamesTellTheirCheckpoint) {
  EXPECT_EQ(checkpoint_of_temporary(temporary_name("model.ckpt-5")), "model.ckpt-5");
  EXPECT_EQ(checkpoint_of_replaced(replaced_name("model.ckpt-5")), "model.ckpt-5");
  EXPECT_EQ(checkpoint_of_temporary(replaced_name("model.ckpt-5")), std::nullopt);
  EXPECT_NE(temporary_name("model.ckpt-5"), temporary_name("model.ckpt-5"));
}

TEST(CheckpointNames, AUsersNamesAreNeverTemporary) {
  for (const char* name : {"model.ckpt-5.tmp-", "model.ckpt-5.tmp-mine", "model.ckpt-5.tmp-0123456789abcdef0",
                           "notes.tmp-0123456789abcdef", "model.ckpt-5.tmp-0123456789ABCDEF", "model.ckpt-5.tmp"})
    EXPECT_EQ(checkpoint_of_temporary(name), std::nullopt) << name;
}

TEST(CheckpointNames, EntryNamesStayInTheirDirectory) {
  for (const char* name : {"a", "model.safetensors", "..a", "a..", " ", "\xc3\xa9"})
    EXPECT_TRUE(is_entry_name(name)) << name;
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("/"),
        std::string("a\0b", 3), std::string("a\nb"), std::string("a\x7f"), std::string(256, 'a')})
    EXPECT_FALSE(is_entry_name(name)) << name;
}

}  // namespace
}  // namespace belay::runtime
