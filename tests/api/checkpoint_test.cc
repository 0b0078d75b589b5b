// SPDX-License-Identifier: Apache-2.0
#include <belay/runtime/checkpoint.h>

#include <filesystem>
#include <fstream>

#include "tests/api/program.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class CheckpointReaderTest : public ProgramTest {};

TEST_F(CheckpointReaderTest, ReadsWhatATrainingHasSaved) {
  EXPECT_EQ(latest_checkpoint(temp / "run"), "");
  train_to("run", 3);
  EXPECT_EQ(latest_checkpoint(temp / "run"), temp / "run/model.ckpt-3");

  for (const std::string& path : {temp / "run", temp / "run/model.ckpt-3"}) {
    const CheckpointReader trained(path, default_plugins());
    EXPECT_EQ(trained.path(), temp / "run/model.ckpt-3");
    EXPECT_EQ(trained.global_step(), 3);
    ASSERT_NE(trained.find("weight"), nullptr);
    EXPECT_EQ(trained.find("weight")->dtype, DType::kFloat32);
    EXPECT_EQ(trained.find("nothing"), nullptr);
    EXPECT_GT(trained.read("weight").data<float>()[0], 0.0f);
    EXPECT_EQ(trained.read("global_step").data<std::int64_t>()[0], 3);
    EXPECT_THAT(error_of([&] { trained.read("weigth"); }), HasSubstr("did you mean \"weight\"?"));
  }
}

TEST_F(CheckpointReaderTest, NamesWhatIsNotThereAndWhatIsDamaged) {
  EXPECT_THAT(error_of([&] { CheckpointReader(temp / "none", default_plugins()); }), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(error_of([&] { CheckpointReader(temp / "none", {}); }), HasSubstr("safetensors"));
  train_to("run", 3);
  std::ofstream(temp / "run/model.ckpt-3/index", std::ios::app) << "x";
  EXPECT_THAT(error_of([&] { CheckpointReader(temp / "run/model.ckpt-3", default_plugins()); }),
              HasSubstr("DATA_LOSS"));
}

}  // namespace
}  // namespace belay
