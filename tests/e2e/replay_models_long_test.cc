// SPDX-License-Identifier: Apache-2.0
// Steps of every sort of model again, of runs that were killed twice, with two threads that decode: the same bits.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "tests/e2e/run_fixture.h"
#include "tests/e2e/written_data.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

struct ReplayedModel {
  const char* name;
  const char* input;  // the section's body
  const char* model;
  const char* optimizer;
};

constexpr const char* kImages =
    "plugin = \"idx\"\nimages = \"images.idx\"\nlabels = \"labels.idx\"\nbatch_size = 16\nshuffle = true\n"
    "flatten = false\ndecode_threads = 2\n";
constexpr const char* kText =
    "plugin = \"text\"\nfiles = [\"text.txt\"]\nsequence_length = 16\nstride = 4\nbatch_size = 8\nshuffle = true\n";

class ReplayOfModels : public RunTest, public ::testing::WithParamInterface<ReplayedModel> {
 protected:
  static constexpr int kSave = 20;

  std::string manifest() const {
    const std::string path = temp / "train.toml";
    write_file(path, std::string("[run]\ndir = \"run\"\nmax_steps = 1000000\nthreads = 2\n[input.train]\n") +
                         GetParam().input + "[model]\n" + GetParam().model + "[optimizer]\n" + GetParam().optimizer +
                         "[checkpoint]\nsave_steps = " + std::to_string(kSave) + "\nmax_to_keep = 100000\n");
    return path;
  }
  int newest() const {
    int step = 0;
    for (const std::string& name : listing(run_dir()))
      if (name.starts_with("model.ckpt-")) step = std::max(step, std::stoi(name.substr(11)));
    return step;
  }
  // The step of a checkpoint of this attempt, which was killed after it.
  int killed_behind(int step) const {
    BelayProcess run({"run", manifest()});
    EXPECT_TRUE(run.wait_until([&] { return newest() > step; }));
    run.kill(SIGKILL);
    EXPECT_EQ(run.wait().signal, SIGKILL);
    return newest();
  }
  static std::map<std::string, std::string> files_of(const std::string& dir) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir))
      files[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
    return files;
  }
};

TEST_P(ReplayOfModels, AStepOfEachAttemptIsProved) {
  write_text(temp.path());
  write_images(temp.path());
  const int first = killed_behind(kSave), second = killed_behind(first + kSave);
  const int last = newest() + 3 * kSave;
  const ProcessResult end = belay({"run", manifest(), "--set", "run.max_steps=" + std::to_string(last)});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto before = files_of(run_dir());
  for (const int behind : {first, second, last}) {
    const std::string step = std::to_string(behind - 7);
    const std::string again = temp / ("again-" + step);
    const ProcessResult r = belay({"replay", run_dir(), "--step", step, "--hook", "gradient_norms", "--batch",
                                   "--fetch", "loss", "--out", again});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "0 differing bits at step " + std::to_string(behind) + ": model.ckpt-" + std::to_string(behind) +
                         " is what this came to\n")
        << r.err;
    EXPECT_THAT(r.err, Not(HasSubstr("warning"))) << r.err;
    EXPECT_TRUE(fs::exists(again + "/step-" + step + ".npz"));
    const ProcessResult norms = belay({"events", again, "--tag", "gradient_norm", "--csv"});
    EXPECT_THAT(lines_with(norms.out, "gradient_norm/"), Not(::testing::IsEmpty())) << norms.err;
  }
  EXPECT_TRUE(files_of(run_dir()) == before);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ReplayOfModels,
    ::testing::Values(
        ReplayedModel{"cnn", kImages,
                      "plugin = \"cnn\"\nfilters = [4, 8]\nkernel_size = 3\npool = 2\ndense = [32]\ndropout = 0.4\n",
                      "name = \"adam\"\nlearning_rate = 0.001\n"},
        ReplayedModel{"resnet", kImages, "plugin = \"resnet\"\nblocks = [1, 1]\nfilters = 4\n",
                      "name = \"momentum\"\nlearning_rate = 0.01\n"},
        ReplayedModel{"lstm", kText, "plugin = \"lstm\"\nembedding = 8\nhidden = 16\n",
                      "name = \"adam\"\nlearning_rate = 0.01\n"},
        ReplayedModel{"transformer", kText,
                      "plugin = \"transformer\"\nlayers = 1\nheads = 2\nwidth = 16\nfeed_forward = 32\n",
                      "name = \"adam\"\nlearning_rate = 0.003\nclip_norm = 1.0\n"}),
    [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace belay::runtime::testing
