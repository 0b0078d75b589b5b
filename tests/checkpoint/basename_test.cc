// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/basename.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Basenames : public RunDirectoryTest {
 protected:
  std::string save(const std::string& basename, std::int64_t step) {
    CheckpointSeries series(files_, *run_, clock_, log_, {.basename = basename});
    series.recover();
    return series.save(StepContent(step).content(), saver_.use());
  }
  std::string refused(const std::string& basename) {
    try {
      check_basename(*run_, basename);
    } catch (const Error& e) {
      return std::string(code_name(e.code())) + ": " + e.what();
    }
    return "";
  }
};

TEST_F(Basenames, CKST_02_CheckpointsMayBeCalledAsTheStateFileIs) {
  EXPECT_EQ(save("checkpoint", 1), dir_ / "checkpoint-1");
  EXPECT_EQ(latest_checkpoint(*run_, log_), dir_ / "checkpoint-1");
  EXPECT_EQ(basename_in(*run_), "checkpoint");
  EXPECT_TRUE(std::filesystem::is_regular_file(dir_ / "checkpoint"));
  std::filesystem::remove(dir_ / "checkpoint");  // the directory is searched then
  EXPECT_EQ(latest_checkpoint(*run_, log_), dir_ / "checkpoint-1");
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(Basenames, TheStateFileDecidesBetweenSeveral) {
  save("a", 1);
  save("b", 2);
  EXPECT_THAT(basenames_in(*run_), ElementsAre("b", "a"));
  EXPECT_EQ(basename_in(*run_), "b");
  EXPECT_EQ(latest_checkpoint(*run_, log_), dir_ / "b-2");
}

TEST_F(Basenames, ARunOfOneNameSeesNoneOfAnother) {
  save("a", 1);
  save("a", 2);
  std::filesystem::copy(dir_ / "a-2", dir_ / "b-7");
  CheckpointSeries series(files_, *run_, clock_, log_, {.basename = "a", .max_to_keep = 1});
  series.recover();
  EXPECT_THAT(series.names(), ElementsAre("a-1", "a-2"));
  series.save(StepContent(3).content(), saver_.use());
  series.retain();
  EXPECT_TRUE(std::filesystem::exists(dir_ / "b-7"));
  EXPECT_THAT(series.names(), ElementsAre("a-3"));
}

TEST_F(Basenames, OnlyADirectoryWithAnIndexIsACheckpointOfAnotherName) {
  std::filesystem::create_directories(dir_ / "before-1/model.ckpt-5");
  std::filesystem::create_directory(dir_ / "data-3");
  write_file(dir_ / "events-1", "");
  EXPECT_THAT(basenames_in(*run_), IsEmpty());
  EXPECT_EQ(basename_in(*run_), kDefaultBasename);
  std::filesystem::create_directory(dir_ / "model.ckpt-3");  // damaged, which shows when it is read
  EXPECT_THAT(basenames_in(*run_), ElementsAre("model.ckpt"));
}

TEST_F(Basenames, ARunDoesNotBeginBesideCheckpointsOfAnotherName) {
  EXPECT_EQ(refused("mnist"), "");
  save("model.ckpt", 5);
  EXPECT_EQ(refused("model.ckpt"), "");
  EXPECT_EQ(refused("mnist"), "FAILED_PRECONDITION: [B4014] '" + dir_.path() +
                                  "' holds checkpoints called 'model.ckpt-STEP', and this run's are called "
                                  "'mnist-STEP'");
  EXPECT_EQ(refused("a/b"), "INVALID_ARGUMENT: [B4013] the basename 'a/b' cannot be a checkpoint's name");
}

TEST_F(Basenames, WhatAKilledRunLeftIsRemovedUnderAnyName) {
  std::filesystem::create_directory(dir_ / temporary_name("my-run-7"));
  std::filesystem::create_directory(dir_ / replaced_name("my-run-6"));
  remove_leftovers(*run_, log_);  // without an index, what was put aside was half removed
  EXPECT_THAT(run_->entries(), ElementsAre());
}

TEST_F(Basenames, TheListOfTheBestHasIt) {
  BestList list{"eval/loss", Better::kSmaller, {{5, 0.5}, {3, 0.75}}, "my-run"};
  const std::string text = format_best_list(list);
  EXPECT_THAT(text, ::testing::HasSubstr("\"path\":\"my-run-3\""));
  EXPECT_EQ(parse_best_list(text), list);
  std::string mixed = text;
  mixed.replace(mixed.find("my-run-3"), 8, "mi-run-3");
  EXPECT_THROW(parse_best_list(mixed), Error);
}

TEST(CheckpointBasename, IsOnePartOfAPath) {
  for (const std::string name : {"model.ckpt", "a", "a-1", "checkpoint", ".hidden", "\xc3\xa9"})
    EXPECT_TRUE(is_checkpoint_basename(name)) << name;
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("before"), std::string("a\nb"),
                                  std::string(201, 'a'), std::string("a\0b", 3)})
    EXPECT_FALSE(is_checkpoint_basename(name)) << name;
  const auto name = parse_checkpoint_name("a-1-20");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->basename, "a-1");
  EXPECT_EQ(name->step, 20);
  for (const char* none : {"a", "-5", "a-", "a-05", "a--", "a-5x"}) EXPECT_FALSE(parse_checkpoint_name(none)) << none;
}

}  // namespace
}  // namespace belay::runtime
