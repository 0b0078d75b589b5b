// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedules as plugins of the real program: those of Belay, and one of a stranger.
#include <cstdlib>

#include "tests/docs/page.h"
#include "tests/e2e/accuracy_fixture.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

struct DataSets : Accuracy {
  using Accuracy::data_directory, Accuracy::data_variables;
};

class OptimizersTest : public RunTest {
 protected:
  std::string manifest(const std::string& optimizer) {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 30\nthreads = 1\n[input.train]\nplugin = \"digits\"\n"
               "examples = 200\n[model]\nplugin = \"linear\"\n[optimizer]\n" +
                   optimizer);
    return path;
  }
  // The errors, with DIR for the test's folder.
  std::string refused(const std::string& optimizer, int status) {
    const ProcessResult r = belay({"check", manifest(optimizer)});
    EXPECT_EQ(r.status, status) << r.err;
    EXPECT_FALSE(std::filesystem::exists(temp / "run"));
    return replaced(r.err, temp.path(), "DIR");
  }
  // The library of the page's example.
  std::string compile_shown(const std::string& page, const std::string& name) {
    const std::string source = temp / (name + ".cc"), library = temp / (name + ".so");
    write_file(source, fenced_blocks(read_source(page), "cpp").at(0));
    const std::string command = BELAY_CXX_COMPILER
                                " -std=c++17 -O1 -shared -fPIC -pthread -Wl,--version-script=" BELAY_SOURCE_DIR
                                "/sdk/cmake/plugin.version -I" BELAY_SOURCE_DIR "/sdk/include " +
                                source + " -o " + library;
    EXPECT_EQ(std::system(command.c_str()), 0);
    return library;
  }
  // Returns the printed accuracy of the run's last evaluation; 0 if it failed or printed none.
  double accuracy_of(const std::vector<std::string>& run, const std::vector<std::string>& variables = {}) {
    const ProcessResult r = belay(run, variables);
    EXPECT_EQ(r.status, 0) << r.err;
    const std::string key = "accuracy = ";
    const std::size_t at = r.out.rfind(key);
    EXPECT_NE(at, r.out.npos) << r.out;
    return at == r.out.npos ? 0 : std::stod(r.out.substr(at + key.size()));
  }
};

TEST_F(OptimizersTest, B_18a_OptimizerAndScheduleAreFoundByNameOrByFile) {
  compile_shown("docs/plugins/optimizer.md", "lion");
  compile_shown("docs/plugins/schedule.md", "saw_tooth");
  const std::string by_file = manifest(
      "file = \"lion.so\"\nbeta1 = 0.8\nlearning_rate = { file = \"saw_tooth.so\", learning_rate = 0.001, period = 10 "
      "}\n");
  const ProcessResult check = belay({"check", by_file});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.out + check.err, HasSubstr("optimizer  lion, schedule saw_tooth\n"));
  const ProcessResult first = belay({"run", by_file});
  ASSERT_EQ(first.status, 0) << first.err;
  const std::string weights_by_file = weights(run_dir(), 30);
  ASSERT_FALSE(weights_by_file.empty());
  EXPECT_THAT(weights_by_file, HasSubstr("linear/kernel/Lion"));

  const std::string by_name = manifest(
      "name = \"lion\"\nbeta1 = 0.8\nlearning_rate = { schedule = \"saw_tooth\", learning_rate = 0.001, "
      "period = 10 }\n[plugins]\npath = [\".\"]\n");
  const ProcessResult second = belay({"run", by_name, "--set", "run.dir=by_name"});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_TRUE(weights(temp / "by_name", 30) == weights_by_file);
}

TEST_F(OptimizersTest, B_18b_AWrongNameOrOptionHasItsLineAndTheNearestOne) {
  EXPECT_THAT(refused("name = \"adma\"\n", 3),
              HasSubstr("train.toml:11:8: error[B2025]: not_found: optimizer \"adma\" is not found in "));
  EXPECT_THAT(refused("name = \"adma\"\n", 3), HasSubstr("\n  name = \"adma\"\n         ^~~~~~\n"));
  EXPECT_THAT(refused("name = \"adma\"\n", 3), HasSubstr("did you mean \"adam\"?"));
  EXPECT_THAT(refused("learning_rate = { schedule = \"cosine_decai\" }\n", 3),
              HasSubstr("did you mean \"cosine_decay\"?"));
  EXPECT_EQ(
      refused("name = \"momentum\"\nmomentm = 0.9\n", 2),
      "DIR/train.toml:12:1: error[B2030]: \"momentm\" is not an option of optimizer \"momentum\"\n  momentm = 0.9\n"
      "  ^~~~~~~\n  help: did you mean \"momentum\"? options: momentum, use_nesterov\n");
  EXPECT_EQ(refused("laerning_rate = 0.9\n", 2),
            "DIR/train.toml:11:1: error[B2030]: \"laerning_rate\" is not an option of optimizer \"sgd\"\n"
            "  laerning_rate = 0.9\n  ^~~~~~~~~~~~~\n  help: did you mean \"learning_rate\"? it has no options\n");
  EXPECT_EQ(refused("name = \"adam\"\nbeta1 = 1\n", 2),
            "DIR/train.toml:12:9: error[B2033]: \"beta1\" is 1, must be at most 0.9999999999999999\n  beta1 = 1\n      "
            "    ^\n"
            "  help: beta1: share of the first moment that a step keeps, below 1\n");
  EXPECT_EQ(refused("learning_rate = { schedule = \"cosine_decay\", alhpa = 0.5 }\n", 2),
            "DIR/train.toml:11:46: error[B2030]: \"alhpa\" is not an option of schedule \"cosine_decay\"\n"
            "  learning_rate = { schedule = \"cosine_decay\", alhpa = 0.5 }\n"
            "                                               ^~~~~\n"
            "  help: did you mean \"alpha\"? options: decay_steps, alpha\n");
  const std::string rates = refused("learning_rate = { schedule = \"piecewise_constant\", values = [1, 2] }\n", 2);
  EXPECT_THAT(rates, HasSubstr("DIR/train.toml:11:61: error[B2045]: cannot create schedule \"piecewise_constant\""));
  EXPECT_THAT(rates, HasSubstr("values has 2 numbers and boundaries 0; there must be one value more than boundaries"));
}

// An evaluation needs no optimizer: a checkpoint can be used where the one that trained it is not there.
TEST_F(OptimizersTest, B_18h_AnEvaluationNeedsNoOptimizer) {
  const std::string path = manifest("name = \"adam\"\n[input.eval]\nplugin = \"digits\"\nexamples = 50\nepochs = 1\n");
  ASSERT_EQ(belay({"run", path}).status, 0);
  const ProcessResult r = belay({"evaluate", path, "--set", "optimizer.name=gone"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("eval at step 30"));
}

// As in docs/plugins/optimizer.md: its manifest differs by the optimizer's lines alone.
TEST_F(OptimizersTest, B_18i_AStrangersOptimizerTrainsDigits) {
  const std::string library = compile_shown("docs/plugins/optimizer.md", "lion");
  EXPECT_GT(accuracy_of({"run", BELAY_SOURCE_DIR "/examples/digits.toml", "--set", "run.dir=" + (temp / "digits"),
                         "--set", "optimizer.file=" + library, "--set", "optimizer.name=lion", "--set",
                         "optimizer.learning_rate=0.001"}),
            0.96);
}

TEST_F(OptimizersTest, B_18i_AStrangersOptimizerTrainsMnist) {
  if (!std::filesystem::exists(DataSets::data_directory() + "/mnist"))
    GTEST_SKIP() << "NOT TESTED: there is no mnist; set BELAY_DATA_DIR to the folder of the data sets";
  const std::string library = compile_shown("docs/plugins/optimizer.md", "lion");
  EXPECT_GT(accuracy_of({"run", BELAY_SOURCE_DIR "/examples/mnist_mlp.toml", "--set", "run.dir=" + (temp / "mnist"),
                         "--set", "run.max_steps=2000", "--set", "optimizer.file=" + library, "--set",
                         "optimizer.name=lion", "--set", "optimizer.learning_rate=0.0001"},
                        DataSets::data_variables()),
            0.96);
}

}  // namespace
}  // namespace belay::runtime::testing
