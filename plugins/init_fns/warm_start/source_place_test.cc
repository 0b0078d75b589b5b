// SPDX-License-Identifier: Apache-2.0
// Tests the values of `from`, and the errors for missing ones before the run. The other tests of warm_start have
// checkpoints in memory. Here each has a folder, since it must exist.
#include "source_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_warm_start;

namespace source_place_test {

namespace fs = std::filesystem;

using namespace belay::testing;

class Folders : public ::testing::Environment {
 public:
  void SetUp() override {
    folder_ = std::make_unique<TemporaryFolder>();
    fs::current_path(folder_->path());
    for (const char* name : {"runs/a/model.ckpt-100", "runs/b", "runs/c", "runs/d", "runs/e", "runs/other/model.ckpt-9",
                             "runs/old/model.ckpt-5"}) {
      fs::create_directories(name);
      folder_->write(std::string(name) + "/index", "");
    }
  }
  void TearDown() override {
    fs::current_path("/");
    folder_.reset();
  }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
};
const ::testing::Environment* const kFolders = ::testing::AddGlobalTestEnvironment(new Folders);

std::string error_from(const std::string& path) {
  return error_of([&] { InitFnDriver init(module_under_test(belay_module_warm_start), {{"from", path}}); });
}

TEST(WarmStartSource, MayBeARunDirectoryACheckpointAFileAndWhatTensorFlowCallsACheckpoint) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("run/model.ckpt-1"));
  folder.write("run/model.ckpt-1/index", "");
  folder.write("run/best", "");
  folder.write("weights.npz", "");
  folder.write("tf-7.index", "");
  fs::create_directories(folder.file("tf"));
  folder.write("tf/checkpoint", "");
  for (const char* name : {"run", "run/", "run/model.ckpt-1", "run/best", "weights.npz", "tf-7", "tf"})
    EXPECT_NO_THROW(warm_start::need_source(folder.file(name))) << name;
}

TEST(WarmStartSource, ThatIsNotThereIsFoundBeforeTheRunWithTheNearestName) {
  const TemporaryFolder folder;
  const std::string what = "; name a run directory, a checkpoint in it, or a file of tensors";
  EXPECT_EQ(error_from(""), "INVALID_ARGUMENT: from: the path is empty" + what);
  fs::create_directories(folder.file("first/logs"));
  EXPECT_EQ(error_from(folder.file("frist")),
            "NOT_FOUND: from: there is no checkpoint '" + folder.file("frist") + "' (did you mean \"first\"?)" + what);
  EXPECT_EQ(error_from(folder.file("none/run/")),
            "NOT_FOUND: from: there is no checkpoint '" + folder.file("none/run/") + "'" + what);
  EXPECT_EQ(error_from(folder.file("first")),
            "NOT_FOUND: from: the folder '" + folder.file("first") + "' holds no checkpoint" + what);
}

}  // namespace source_place_test
