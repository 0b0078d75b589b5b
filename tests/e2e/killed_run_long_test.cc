// SPDX-License-Identifier: Apache-2.0
// A thousand kills of runs that save, twenty of each example, and fifty steps to continue from.
#include <cstdlib>
#include <numeric>

#include "tests/e2e/killed_run_fixture.h"
#include "tests/e2e/written_data.h"

namespace belay::runtime::testing {
namespace {

class KilledRunLong : public KilledRunTest {};

// F1
TEST_F(KilledRunLong, AThousandTimesGoesOnFromAWholeCheckpointEachTime) {
  for (const char* save : {"sync", "async"}) {
    EXPECT_GE(kill_while_saving(save, 500), 150) << save;
    std::filesystem::remove_all(run_dir());
  }
}

TEST_F(KilledRunLong, WhicheverOfFiftyStepsARunGoesOnFromItEndsWithTheSameBits) {
  Arguments args = hard_to_resume("run", "async");
  args.insert(args.end(), {"--set", "checkpoint.save_steps=1", "--set", "checkpoint.max_to_keep=0"});
  ASSERT_EQ(belay(args).status, 0);
  const std::string whole = weights(run_dir(), 60), kept = temp / "kept";
  ASSERT_FALSE(whole.empty());
  std::filesystem::rename(run_dir(), kept);
  std::vector<int> steps(59);
  std::iota(steps.begin(), steps.end(), 1);
  std::shuffle(steps.begin(), steps.end(), random_);
  steps.resize(50);
  for (const int step : steps) {
    const std::string name = "/model.ckpt-" + std::to_string(step);
    std::filesystem::create_directory(run_dir());
    std::filesystem::copy(kept + name, run_dir() + name, std::filesystem::copy_options::recursive);
    const ProcessResult r = belay(args);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(lines_with(r.err, "restored step " + std::to_string(step) + " ").size(), 1u) << r.err;
    EXPECT_TRUE(weights(run_dir(), 60) == whole) << "from step " << step;
    std::filesystem::remove_all(run_dir());
  }
}

struct KilledExample {
  const char* manifest;
  int steps;
  const char* data;  // below BELAY_DATA_DIR or BELAY_SAMPLES_DIR; null: it needs none
};

class KilledExamples : public KilledRunTest, public ::testing::WithParamInterface<KilledExample> {
 protected:
  // The folder in the variable, else the folder next to the source.
  static std::string folder(const char* variable, const char* beside) {
    const char* given = std::getenv(variable);
    return given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/" + std::string(beside);
  }
  // The arrays that the manifest's own comment makes.
  void append_arrays(Arguments& args) const {
    const std::string x = temp / "x.npy", y = temp / "y.npy";
    write_arrays(data_ + "/uci/wine_data.csv", x, y);
    for (const char* input : {"train", "eval"}) {
      args.insert(args.end(), {"--set", "input." + std::string(input) + ".features=" + x});
      args.insert(args.end(), {"--set", "input." + std::string(input) + ".labels=" + y});
    }
  }
  const std::string data_ = folder("BELAY_DATA_DIR", "data"), samples_ = folder("BELAY_SAMPLES_DIR", "samples");
};

TEST_P(KilledExamples, TwentyTimesEndWithTheBitsOfOneThatWasNot) {
  const KilledExample& example = GetParam();
  if (example.data != nullptr && !std::filesystem::exists(data_ + "/" + example.data) &&
      !std::filesystem::exists(samples_ + "/" + example.data))
    GTEST_SKIP() << "SKIPPED: there is no " << example.data << " in BELAY_DATA_DIR (" << data_
                 << ") or BELAY_SAMPLES_DIR (" << samples_ << ")";
  const std::vector<std::string> variables = {"BELAY_DATA_DIR=" + data_, "BELAY_SAMPLES_DIR=" + samples_};
  std::string whole;
  for (const char* save : {"sync", "async"}) {
    Arguments args = {"run",   BELAY_SOURCE_DIR "/examples/" + std::string(example.manifest),
                      "--set", "run.dir=\"" + run_dir() + "\"",
                      "--set", "run.max_steps=" + std::to_string(example.steps),
                      "--set", "run.threads=2",
                      "--set", "checkpoint.save=\"" + std::string(save) + "\"",
                      "--set", "checkpoint.save_steps=1"};
    if (std::string(example.manifest) == "wine_npy.toml") append_arrays(args);
    const double secs = seconds_of([&] {
      const ProcessResult r = belay(args, variables);
      ASSERT_EQ(r.status, 0) << r.err;
    });
    const std::string ended = weights(run_dir(), example.steps);
    ASSERT_FALSE(ended.empty());
    EXPECT_TRUE(whole.empty() || whole == ended) << "how it is saved changes the numbers";
    whole = ended;
    std::filesystem::remove_all(run_dir());
    EXPECT_TRUE(killed(args, run_dir(), example.steps, 20, secs, variables) == whole) << save;
    std::filesystem::remove_all(run_dir());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Examples, KilledExamples,
    ::testing::Values(KilledExample{"digits.toml", 40, nullptr}, KilledExample{"digits_sequential.toml", 40, nullptr},
                      KilledExample{"digits_autoencoder.toml", 40, nullptr},
                      KilledExample{"iris.toml", 60, "uci/iris.csv"},
                      KilledExample{"petal_width.toml", 60, "uci/iris.csv"},
                      KilledExample{"wine_npy.toml", 60, "uci/wine_data.csv"},
                      KilledExample{"penguins.toml", 60, "tfrecord/penguin_train_data_tfrecord-00000-of-00001.gz"},
                      KilledExample{"mnist_mlp.toml", 20, "mnist/train-images-idx3-ubyte.gz"},
                      KilledExample{"mnist_cnn.toml", 5, "mnist/train-images-idx3-ubyte.gz"},
                      KilledExample{"mnist_resnet.toml", 4, "mnist/train-images-idx3-ubyte.gz"},
                      KilledExample{"shakespeare_lstm.toml", 4, "shakespeare/tinyshakespeare.txt"},
                      KilledExample{"shakespeare_transformer.toml", 4, "shakespeare/tinyshakespeare.txt"}),
    [](const auto& example) {
      const std::string name = example.param.manifest;
      return name.substr(0, name.find('.'));
    });

}  // namespace
}  // namespace belay::runtime::testing
