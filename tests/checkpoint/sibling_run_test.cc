// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/sibling_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/checkpoint/format/index.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

class SiblingRuns : public ::testing::Test {
 protected:
  void checkpoint(const std::string& run, std::int64_t step, const std::string& hash) {
    const fs::path place = fs::path(temp_ / run) / ("model.ckpt-" + std::to_string(step));
    fs::create_directories(place);
    CheckpointIndex index;
    index.saver = "safetensors";
    index.saver_version = "1.0.0";
    index.graph_hash = hash;
    index.global_step = step;
    index.files.push_back({"state", 1, 0});
    std::ofstream(place / "index", std::ios::binary) << format_index(index);
  }
  // "mnist 2000"; empty: none.
  std::string found(const std::string& run) {
    const auto sibling = find_sibling_run(posix_file_system(), temp_ / run, "0123abcd");
    if (!sibling) return "";
    EXPECT_EQ(fs::path(sibling->path).parent_path(), temp_.path());
    return fs::path(sibling->path).filename().string() + " " + std::to_string(sibling->step);
  }

  TempDir temp_;
};

TEST_F(SiblingRuns, T_55_TheRunWhoseNameIsNearestAndWhoseModelIsTheSame) {
  EXPECT_EQ(found("mnits"), "");
  checkpoint("mnist", 100, "0123abcd");
  checkpoint("mnist", 2000, "0123abcd");
  checkpoint("mnist", 900, "0123abcd");
  checkpoint("mnits2", 3000, "another model's");
  checkpoint("long_ago", 5000, "0123abcd");
  EXPECT_EQ(found("mnits"), "mnist 2000");
  EXPECT_EQ(found("long_agp"), "long_ago 5000");
  EXPECT_EQ(found("mnist"), "long_ago 5000") << "a run is not its own sibling";
}

TEST_F(SiblingRuns, T_55_WhatCannotBeReadIsPassedOver) {
  checkpoint("run_far_away", 7, "0123abcd");
  fs::create_directories(temp_ / "run1/model.ckpt-5");
  std::ofstream(temp_ / "run2") << "a file";
  checkpoint("run3", 5, "0123abcd");
  fs::resize_file(temp_ / "run3/model.ckpt-5/index", 20);
  fs::create_directory_symlink(temp_ / "run_far_away", temp_ / "run4");
  fs::create_directories(temp_ / "run5/model.ckpt-5");
  ASSERT_EQ(::mkfifo((temp_ / "run5/model.ckpt-5/index").c_str(), 0600), 0);
  EXPECT_EQ(found("run"), "run_far_away 7");
  EXPECT_FALSE(find_sibling_run(posix_file_system(), temp_ / "gone/run", "0123abcd"));
}

TEST_F(SiblingRuns, T_55_AHundredAreLookedAtAndNoMore) {
  for (int i = 0; i < 100; ++i) fs::create_directories(temp_ / ("run" + std::to_string(i)));
  checkpoint("something_else", 7, "0123abcd");
  EXPECT_EQ(found("run"), "");
  checkpoint("run1", 8, "0123abcd");
  EXPECT_EQ(found("run"), "run1 8");
}

}  // namespace
}  // namespace belay::runtime
