// SPDX-License-Identifier: Apache-2.0
// A thousand kills of runs that save, and twenty of each example.
#include <cstdlib>

#include "tests/e2e/killed_run_fixture.h"

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

struct KilledExample {
  const char* manifest;
  int steps;
  const char* data;  // below BELAY_DATA_DIR or BELAY_SAMPLES_DIR; null: it needs none
};

class KilledExamples : public KilledRunTest, public ::testing::WithParamInterface<KilledExample> {
 protected:
  // What the variable says, else the folder beside the source.
  static std::string folder(const char* variable, const char* beside) {
    const char* given = std::getenv(variable);
    return given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/" + std::string(beside);
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
    const Arguments args = {"run",   BELAY_SOURCE_DIR "/examples/" + std::string(example.manifest),
                            "--set", "run.dir=\"" + run_dir() + "\"",
                            "--set", "run.max_steps=" + std::to_string(example.steps),
                            "--set", "run.threads=2",
                            "--set", "checkpoint.save=\"" + std::string(save) + "\"",
                            "--set", "checkpoint.save_steps=1"};
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
