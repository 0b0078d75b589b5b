// SPDX-License-Identifier: Apache-2.0
// Steps of the examples again, on their own data: a run of mnist_mlp as it is, and each example after two kills, with
// two threads that decode if its input has some.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/accuracy_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReplayOfExample : public Accuracy {
 protected:
  using Arguments = std::vector<std::string>;

  std::string dir() const { return temp / "run"; }
  // `belay run` of an example.
  Arguments of(const std::string& example, int steps, int save, bool decodes) const {
    Arguments arguments{"run", BELAY_SOURCE_DIR "/examples/" + example};
    const auto set = [&](const std::string& key) { arguments.insert(arguments.end(), {"--set", key}); };
    set("run.dir=\"" + dir() + "\"");
    set("run.max_steps=" + std::to_string(steps));
    set("checkpoint.save_steps=" + std::to_string(save));
    set("checkpoint.max_to_keep=100000");
    if (decodes) set("input.train.decode_threads=2");
    return arguments;
  }
  int newest() const {
    int step = 0;
    if (fs::is_directory(dir()))
      for (const auto& entry : fs::directory_iterator(dir()))
        if (const std::string name = entry.path().filename(); name.starts_with("model.ckpt-"))
          step = std::max(step, std::stoi(name.substr(11)));
    return step;
  }
  // The step of the newest checkpoint of a run that was killed once it had one after `step`.
  int killed_behind(int step, const Arguments& arguments) const {
    BelayProcess run(arguments, data_variables());
    EXPECT_TRUE(run.wait_until([&] { return newest() > step; }));
    run.kill(SIGKILL);
    EXPECT_EQ(run.wait().signal, SIGKILL);
    return newest();
  }
  // A hash of each file.
  std::map<std::string, std::size_t> files() const {
    std::map<std::string, std::size_t> hashes;
    for (const auto& entry : fs::recursive_directory_iterator(dir()))
      if (entry.is_regular_file())
        hashes[entry.path().string()] = std::hash<std::string>()(contents(entry.path().string()));
    return hashes;
  }
  // The names of the gradients' norms that the replay of a step wrote, which are of that step alone.
  static std::vector<std::string> norms(const std::string& again, const std::string& step) {
    const ProcessResult r = belay({"events", again, "--tag", "gradient_norm", "--csv"});
    std::vector<std::string> names;
    for (const std::string& line : lines_with(r.out, "gradient_norm/")) {
      EXPECT_THAT(line, HasSubstr(",scalar," + step + ","));
      const std::size_t at = line.find("gradient_norm/");
      names.push_back(line.substr(at + 14, line.find(',', at) - at - 14));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // The replay of a step, from the checkpoint at `from` to the one at `to`.
  std::string expect_again(int step, int from, int to) const {
    const std::string number = std::to_string(step), again = temp / ("again-" + number);
    const auto before = files();
    const ProcessResult r = belay(
        {"replay", dir(), "--step", number, "--hook", "gradient_norms", "--batch", "--fetch", "loss", "--out", again},
        data_variables());
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "0 differing bits at step " + std::to_string(to) + ": model.ckpt-" + std::to_string(to) +
                         " is what this came to\n")
        << r.err;
    EXPECT_THAT(r.err, HasSubstr("restored step " + std::to_string(from) + " from "));
    EXPECT_TRUE(files() == before);
    const ProcessResult shown = belay({"checkpoint", "show", again + "/step-" + number + ".npz"});
    EXPECT_THAT(shown.out, AllOf(HasSubstr("\n  loss"), HasSubstr("batch/"))) << shown.err;
    return again;
  }
};

TEST_F(ReplayOfExample, MnistHasTheNormsAndTheBatchOfStep1337Afterwards) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  const ProcessResult r = belay(of("mnist_mlp.toml", 2000, 500, false), data_variables());
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string again = expect_again(1337, 1000, 1500);
  EXPECT_THAT(norms(again, "1337"), ElementsAre("hidden_1/bias", "hidden_1/kernel", "logits/bias", "logits/kernel"));
}

TEST_F(ReplayOfExample, TheSameBehindTwoKillsWithTwoThreadsThatDecode) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  const Arguments run = of("mnist_mlp.toml", 2000, 500, true);
  const int first = killed_behind(499, run);
  ASSERT_LT(killed_behind(first, run), 2000);
  const ProcessResult r = belay(run, data_variables());
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string again = expect_again(1337, 1000, 1500);
  EXPECT_THAT(norms(again, "1337"), ElementsAre("hidden_1/bias", "hidden_1/kernel", "logits/bias", "logits/kernel"));
}

struct ReplayedExample {
  const char* manifest;
  const char* data;  // below BELAY_DATA_DIR
  bool decodes;      // its input has threads that decode
};

class ReplayOfExamples : public ReplayOfExample, public ::testing::WithParamInterface<ReplayedExample> {};

TEST_P(ReplayOfExamples, AStepOfEachAttemptIsProvedBehindTwoKills) {
  if (!fs::exists(data_directory() + "/" + GetParam().data))
    GTEST_SKIP() << "SKIPPED: there is no " << GetParam().data << " in BELAY_DATA_DIR ("
                 << (data_directory().empty() ? "not there" : data_directory()) << ")";
  constexpr int kSave = 4;
  const Arguments run = of(GetParam().manifest, 1000000, kSave, GetParam().decodes);
  const int first = killed_behind(kSave, run), second = killed_behind(first + kSave, run);
  const int last = newest() + 2 * kSave;
  const ProcessResult end = belay(of(GetParam().manifest, last, kSave, GetParam().decodes), data_variables());
  ASSERT_EQ(end.status, 0) << end.err;
  for (const int behind : {first, second, last}) {
    const int step = behind - 1;
    const std::string again = expect_again(step, behind - kSave, behind);
    EXPECT_THAT(norms(again, std::to_string(step)), Not(::testing::IsEmpty()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Examples, ReplayOfExamples,
    ::testing::Values(ReplayedExample{"mnist_cnn.toml", "mnist/train-images-idx3-ubyte.gz", true},
                      ReplayedExample{"mnist_resnet.toml", "mnist/train-images-idx3-ubyte.gz", true},
                      ReplayedExample{"shakespeare_lstm.toml", "shakespeare/tinyshakespeare.txt", false},
                      ReplayedExample{"shakespeare_transformer.toml", "shakespeare/tinyshakespeare.txt", false}),
    [](const auto& example) {
      const std::string name = example.param.manifest;
      return name.substr(0, name.find('.'));
    });

}  // namespace
}  // namespace belay::runtime::testing
