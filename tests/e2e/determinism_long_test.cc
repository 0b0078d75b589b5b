// SPDX-License-Identifier: Apache-2.0
// At a fixed number of threads every example trains to the same bits, run after run.
#include <cstdlib>
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

struct Example {
  const char* manifest;
  int steps;
  const char* data;  // below BELAY_DATA_DIR; null: it needs none
};

class Determinism : public RunTest, public ::testing::WithParamInterface<Example> {
 protected:
  // BELAY_DATA_DIR, else ../shared/data beside the source.
  static std::string data_directory() {
    const char* given = std::getenv("BELAY_DATA_DIR");
    return given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/data";
  }
  // The bytes of the variables after so many steps.
  std::string trained(const std::string& run, int threads) {
    const ProcessResult r =
        belay({"run", BELAY_SOURCE_DIR "/examples/" + std::string(GetParam().manifest), "--set",
               "run.dir=\"" + (temp / run) + "\"", "--set", "run.max_steps=" + std::to_string(GetParam().steps),
               "--set", "run.threads=" + std::to_string(threads)},
              {"BELAY_DATA_DIR=" + data_directory()});
    EXPECT_EQ(r.status, 0) << r.err;
    return weights(temp / run, GetParam().steps);
  }
};

TEST_P(Determinism, TwoRunsEndWithTheSameBits) {
  if (GetParam().data != nullptr && !std::filesystem::exists(data_directory() + "/" + GetParam().data))
    GTEST_SKIP() << "SKIPPED: there is no " << GetParam().data << " in BELAY_DATA_DIR (" << data_directory() << ")";
  for (const int threads : {1, 2}) {
    const std::string name = std::to_string(threads);
    const std::string first = trained("first" + name, threads), second = trained("second" + name, threads);
    ASSERT_FALSE(first.empty());
    EXPECT_TRUE(first == second) << threads << " threads";
  }
}

// Few steps, but more than one: the second one sees what the first one wrote.
INSTANTIATE_TEST_SUITE_P(
    Examples, Determinism,
    ::testing::Values(Example{"digits.toml", 30, nullptr}, Example{"digits_sequential.toml", 30, nullptr},
                      Example{"digits_autoencoder.toml", 30, nullptr}, Example{"iris.toml", 30, "uci/iris.csv"},
                      Example{"mnist_mlp.toml", 20, "mnist/train-images-idx3-ubyte.gz"},
                      Example{"mnist_cnn.toml", 5, "mnist/train-images-idx3-ubyte.gz"},
                      Example{"mnist_resnet.toml", 3, "mnist/train-images-idx3-ubyte.gz"},
                      Example{"shakespeare_lstm.toml", 3, "shakespeare/tinyshakespeare.txt"},
                      Example{"shakespeare_transformer.toml", 3, "shakespeare/tinyshakespeare.txt"}),
    [](const auto& example) {
      const std::string name = example.param.manifest;
      return name.substr(0, name.find('.'));
    });

}  // namespace
}  // namespace belay::runtime::testing
