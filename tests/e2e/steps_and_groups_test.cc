// SPDX-License-Identifier: Apache-2.0
// [optimizer] accumulate and groups through the real program: what they come to, and killed at any moment.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StepsAndGroupsTest : public RunTest {
 protected:
  struct Settings {
    std::string optimizer;
    int batch = 16;
    int steps = 60;
    int save_steps = 10;
    double dropout = 0;
    std::string more = "";
  };
  std::string manifest(const std::string& name, const Settings& s) {
    const std::string path = temp / (name + ".toml");
    write_file(path, "[run]\ndir = \"" + name + "\"\nmax_steps = " + std::to_string(s.steps) +
                         "\nthreads = 2\nseed = 7\n[input.train]\nplugin = \"digits\"\nexamples = 320\nshuffle = true\n"
                         "batch_size = " +
                         std::to_string(s.batch) +
                         "\n[model]\nplugin = \"mlp\"\nhidden = [33, 17]\ndropout = " + std::to_string(s.dropout) +
                         "\n[checkpoint]\nsave_steps = " + std::to_string(s.save_steps) + "\nmax_to_keep = 0\n" +
                         s.more + "[optimizer]\nname = \"adam\"\nlearning_rate = 0.01\n" + s.optimizer);
    return path;
  }
  // A run to the end; its folder.
  std::string finished(const std::string& name, const Settings& s) {
    const ProcessResult r = belay({"run", manifest(name, s)});
    EXPECT_EQ(r.status, 0) << r.err;
    return temp / name;
  }
  // The same run, killed after the checkpoints of these steps.
  std::string killed(const std::string& name, const Settings& s, const std::vector<int>& at) {
    const std::string path = manifest(name, s);
    for (const int step : at) {
      BelayProcess run({"run", path});
      run.wait_until([&] { return std::filesystem::exists(temp / (name + "/model.ckpt-" + std::to_string(step))); });
      run.kill(SIGKILL);
      run.wait();
    }
    return finished(name, s);
  }
  // All numbers of a checkpoint of float32 variables after its head.
  std::vector<float> numbers(const std::string& dir, int step) {
    const std::string file = weights(dir, step);
    std::uint64_t head = 0;
    if (file.size() < sizeof head) return {};
    std::memcpy(&head, file.data(), sizeof head);
    std::vector<float> values((file.size() - sizeof head - head) / sizeof(float));
    std::memcpy(values.data(), file.data() + sizeof head + head, values.size() * sizeof(float));
    return values;
  }
  std::string refused(const std::string& optimizer) {
    const ProcessResult r = belay({"check", manifest("wrong", {.optimizer = optimizer})});
    EXPECT_EQ(r.status, 2) << r.err;
    return replaced(r.err, temp.path(), "DIR");
  }
};

// The bound of the manual, set before the first run; the global step among them is an integer, the same bits in both.
TEST_F(StepsAndGroupsTest, StepsOf4BatchesOf16AreThoseOfBatchesOf64) {
  const auto sgd = [&](const std::string& folder, const std::string& accumulate, int batch) {
    const std::string path = manifest(folder, {.optimizer = accumulate, .batch = batch, .steps = 10});
    const ProcessResult r = belay({"run", path, "--set", "optimizer.name=sgd", "--set", "optimizer.learning_rate=0.1"});
    EXPECT_EQ(r.status, 0) << r.err;
    return numbers(temp / folder, 10);
  };
  const std::vector<float> one = sgd("one", "", 64), four = sgd("four", "accumulate = 4\n", 16);
  ASSERT_GT(one.size(), 1000u);
  ASSERT_EQ(four.size(), one.size());
  double largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) largest = std::max(largest, std::abs(double{one[i]} - double{four[i]}));
  EXPECT_LT(largest, 1e-5);
  EXPECT_NE(numbers(temp / "one", 10), sgd("sixteen", "", 16)) << "a smaller batch is another training";
}

TEST_F(StepsAndGroupsTest, StepsOfSeveralBatchesEndWithTheSameBitsWhereverTheyAreKilled) {
  const Settings s{.optimizer = "accumulate = 3\nclip_norm = 1.0\n", .dropout = 0.3};
  const std::string whole = weights(finished("whole", s), 60);
  ASSERT_FALSE(whole.empty());
  EXPECT_TRUE(weights(killed("killed", s, {10, 30, 40}), 60) == whole);
}

// Who watches sees steps, and changes no bit of them.
TEST_F(StepsAndGroupsTest, HooksOfStepsOfSeveralBatchesSeeStepsAndChangeNothing) {
  const Settings bare{.optimizer = "accumulate = 4\n", .steps = 20};
  Settings watched = bare;
  watched.more =
      "[session]\nsave_summaries_steps = 1\n[[hooks]]\nplugin = \"logging_tensor\"\n"
      "tensors = [\"loss\", \"accuracy\", \"probabilities\"]\nevery_n_iter = 5\n"
      "[eval]\nevery_steps = 10\n[input.eval]\nplugin = \"digits\"\nexamples = 50\nepochs = 1\n";
  const std::string alone = weights(finished("alone", bare), 20);
  const ProcessResult r = belay({"run", manifest("watched", watched)});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(weights(temp / "watched", 20) == alone);
  EXPECT_THAT(r.out, HasSubstr("eval at step 20"));
}

TEST_F(StepsAndGroupsTest, AThawedNetEndsWithTheSameBitsKilledOnEitherSideOfItsStep) {
  const Settings s{.optimizer = "groups = [{ vars = \"hidden_1/*\", from_step = 500, learning_rate_scale = 0.5 }]\n",
                   .steps = 550,
                   .save_steps = 50,
                   .dropout = 0.3};
  const std::string whole = weights(finished("whole", s), 550);
  ASSERT_FALSE(whole.empty());
  EXPECT_TRUE(weights(killed("killed", s, {200, 450, 500}), 550) == whole);
  Settings never = s;
  never.optimizer = "";
  EXPECT_FALSE(weights(finished("never", never), 550) == whole);
}

TEST_F(StepsAndGroupsTest, ThePlanOfAStepHasNoGradientOfWhatIsFrozen) {
  const auto plan = [&](const std::string& groups) {
    const ProcessResult r = belay({"graph", manifest("plan", {.optimizer = groups}), "--plan"});
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out.substr(std::min(r.out.find("plan of a training step"), r.out.size()));
  };
  const std::string all = plan(""), frozen = plan("groups = [{ vars = \"hidden_1/*\", learning_rate_scale = 0 }]\n"),
                    later = plan("groups = [{ vars = \"hidden_1/*\", from_step = 500 }]\n");
  // Kernel and bias of three layers; hidden_1 is the first, so its gradients are the last.
  const std::string two = "ApplyAdam + ApplyAdam", first_layers = "gradients/BiasAdd_grad_2/BiasAddGrad";
  EXPECT_THAT(all, AllOf(HasSubstr(two + " + " + two + " + " + two), HasSubstr(first_layers)));
  for (const std::string& text : {frozen, later}) {
    EXPECT_THAT(text, AllOf(HasSubstr(two + " + " + two), Not(HasSubstr(two + " + " + two + " + ApplyAdam"))));
    EXPECT_THAT(text, Not(HasSubstr(first_layers)));
  }
}

TEST_F(StepsAndGroupsTest, WhatIsWrongWithAGroupHasItsPlaceAndTheFix) {
  const std::string none = refused("groups = [{ vars = \"conv*\", learning_rate_scale = 0.1 }]\n");
  EXPECT_THAT(none,
              HasSubstr("wrong.toml:21:20: error[B5031]: optimizer.groups.0 (vars = \"conv*\") matches no trainable "
                        "variable"));
  EXPECT_THAT(none, HasSubstr("help: they are hidden_1/kernel, hidden_1/bias, "));
  const std::string two = refused("groups = [{ vars = \"hidden_1/*\" }, { vars = \"*/bias\" }]\n");
  EXPECT_THAT(two,
              HasSubstr("wrong.toml:21:45: error[B5031]: optimizer.groups.1 (vars = \"*/bias\") matches the variable "
                        "\"hidden_1/bias\", which optimizer.groups.0"));
  EXPECT_THAT(two, HasSubstr("help: a variable is in one group: make one of the patterns narrower"));
  EXPECT_THAT(refused("groups = [{ vars = \"*\", weight_decay = 0.1 }]\n"),
              HasSubstr("\"weight_decay\" is not an option of optimizer \"adam\""));
  EXPECT_THAT(refused("groups = [{ learning_rate_scale = 0.1 }]\n"), HasSubstr("a group of variables needs vars"));
  EXPECT_THAT(refused("groups = [{ vars = \"*\", learning_rate_scale = 0, from_step = 3 }]\n"),
              HasSubstr("learning_rate_scale = 0 freezes this one for ever"));
  EXPECT_THAT(refused("groups = \"hidden_1/*\"\n"), HasSubstr("optimizer.groups must be a list of tables"));
  EXPECT_THAT(refused("accumulate = 0\n"), HasSubstr("optimizer.accumulate must be from 1 to 1048576"));
}

}  // namespace
}  // namespace belay::runtime::testing
