// SPDX-License-Identifier: Apache-2.0
// Hooks that have a part in what a run comes to: averages of the weights.
#include <signal.h>

#include <filesystem>

#include "tests/e2e/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HooksThatTrain : public HooksOfRun {
 protected:
  static constexpr const char* kKernel = "linear/kernel";
  static constexpr const char* kAverage = "weight_averaging/linear/kernel";
};

TEST_F(HooksThatTrain, WeightAveragingEndsWithTheAverages) {
  trained("");
  const std::vector<float> plain = tensor(50, kKernel);
  trained(hook("weight_averaging", "use_at_end = false"));
  EXPECT_EQ(tensor(50, kKernel), plain);
  const std::vector<float> average = tensor(50, kAverage);
  EXPECT_THAT(average, Not(IsEmpty()));
  EXPECT_NE(average, plain);
  trained(hook("weight_averaging"));
  EXPECT_EQ(tensor(50, kKernel), average);
  EXPECT_EQ(tensor(50, kAverage), plain);
}

TEST_F(HooksThatTrain, WeightAveragingGoesOnBehindAnEndAsIfThereHadBeenNone) {
  const std::string averaging = hook("weight_averaging", "method = \"swa\"\nstart_step = 7\nevery_n_steps = 5");
  trained(averaging);
  const std::vector<float> kernel = tensor(50, kKernel), other = tensor(50, kAverage);
  ASSERT_EQ(belay({"run", regression("", averaging, 30), "--from-scratch"}).status, 0);
  ASSERT_EQ(run(averaging, 50).status, 0);
  EXPECT_EQ(tensor(50, kKernel), kernel);
  EXPECT_EQ(tensor(50, kAverage), other);
}

// Between two saves it would hold the weights as they were trained.
TEST_F(HooksThatTrain, WeightAveragingLeavesTheCheckpointOfARunThatIsDoneAsItIs) {
  const std::string averaging = hook("weight_averaging");
  const std::string whole = trained(averaging);
  const ProcessResult again = run(averaging);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(lines_with(again.err, "saved "), IsEmpty()) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("the weights are now their averages")));
  EXPECT_EQ(weights(run_dir(), 50), whole);
}

TEST_F(HooksThatTrain, WeightAveragingComesToTheSameBitsAfterAKill) {
  const std::string tables =
      hook("weight_averaging", "every_n_steps = 3") + "[checkpoint]\nsave_steps = 10\nsave_secs = 0\n";
  const std::string whole = trained(tables, 200);
  std::filesystem::remove_all(run_dir());
  BelayProcess killed({"run", regression("hang_at_batch = 60\n", tables, 200)});
  ASSERT_TRUE(killed.wait_until([&] { return std::filesystem::exists(run_dir() + "/model.ckpt-40"); }));
  killed.kill(SIGKILL);
  ASSERT_EQ(killed.wait().signal, SIGKILL);
  ASSERT_EQ(run(tables, 200).status, 0);
  EXPECT_EQ(weights(run_dir(), 200), whole);
}

// A regression that learns for one step and then stays as it is: the average of many steps is far from the weights.
TEST_F(HooksThatTrain, EvaluationsAreOfTheAverages) {
  const std::string evaluation =
      "[input.eval]\nplugin = \"numbers\"\nepochs = 1\n[eval]\nevery_steps = 25\nat_start = false\n";
  const auto losses = [&](const std::string& options) {
    trained(hook("weight_averaging", options) + evaluation);
    const ProcessResult events = belay({"events", run_dir(), "--tag", "loss", "--csv"});
    std::vector<double> found;
    for (const std::string& row : lines_with(events.out, "eval,"))
      found.push_back(std::stod(row.substr(row.rfind(',', row.rfind(',') - 1) + 1)));
    return found;
  };
  const std::vector<double> averaged = losses("use_at_end = false"),
                            plain = losses("use_at_end = false\nevaluate = false");
  const std::vector<double> ended = losses("evaluate = false");
  ASSERT_GE(plain.size(), 2u);
  ASSERT_EQ(averaged.size(), plain.size());
  EXPECT_GT(averaged[0], plain[0]);
  EXPECT_GT(averaged.back(), plain.back());
  EXPECT_NEAR(ended.back(), averaged.back(),
              1e-6 * averaged.back());  // the last one is of the weights, which are the averages
}

// A prediction or export from a checkpoint before the end has the model that was evaluated then.
TEST_F(HooksThatTrain, PredictionsAndExportsAreOfTheAverages) {
  const std::string tables =
      "[input.eval]\nplugin = \"numbers\"\nepochs = 1\n[eval]\nevery_steps = 25\nat_start = false\n[input.predict]\n"
      "plugin = \"numbers\"\nexamples = 5\nepochs = 1\n[checkpoint]\nsave_steps = 25\nsave_secs = 0\n[[exporters]]\n"
      "plugin = \"safetensors\"\nwhen = \"latest\"\nkeep = 9\n";
  const std::string exports = run_dir() + "/export/safetensors/";
  // The first export, or the last one; folders are named by the time.
  const auto folder = [&](bool last) {
    std::vector<std::string> names = listing(exports);
    std::erase(names, "lock");
    return names.empty() ? "none" : exports + (last ? names.back() : names.front());
  };
  const auto exported = [&](bool last) { return tensor_of(contents(folder(last) + "/model.safetensors"), kKernel); };
  const auto told_of = [&](const std::string& command) {
    const ProcessResult r = belay({command, temp / "train.toml", "--checkpoint", "25"});
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  };

  trained(hook("weight_averaging", "evaluate = false\nuse_at_end = false") + tables);
  EXPECT_EQ(exported(false), tensor(25, kKernel));
  const std::string predicted = told_of("predict"), evaluated = told_of("evaluate");
  told_of("export");
  EXPECT_EQ(exported(true), tensor(25, kKernel));

  trained(hook("weight_averaging", "use_at_end = false") + tables);
  EXPECT_NE(tensor(25, kAverage), tensor(25, kKernel));
  EXPECT_EQ(exported(false), tensor(25, kAverage));
  const std::string averages = told_of("evaluate");
  EXPECT_NE(averages, evaluated);
  const std::string averaged = told_of("predict");
  EXPECT_NE(averaged, predicted);
  told_of("export");
  EXPECT_EQ(exported(true), tensor(25, kAverage));
  const auto of_export = [&](const std::string& command) {
    return belay({command, temp / "train.toml", "--checkpoint", folder(true) + "/model.safetensors"});
  };
  EXPECT_EQ(of_export("predict").out, averaged);
  // The file has no step.
  EXPECT_EQ(replaced(of_export("evaluate").out, "step 0 ", "step 25 "), averages);
}

// The last evaluation is of the averages, which then take the weights' place: other bytes of the same step.
TEST_F(HooksThatTrain, TheBestCheckpointStaysWhereTheAveragesThatWereEvaluatedTakeItsPlace) {
  const std::string tables =
      "[input.eval]\nplugin = \"numbers\"\nepochs = 1\n[eval]\nevery_steps = 25\n[checkpoint]\nkeep_best = 1\n";
  const auto best = [&] { return nlohmann::json::parse(contents(run_dir() + "/best"))["checkpoints"]; };
  const std::string averaging = hook("weight_averaging") + tables;
  const ProcessResult r = run(averaging);
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(best().size(), 1u);
  EXPECT_EQ(best()[0]["step"], 50);
  EXPECT_EQ(lines_with(r.err, "model.ckpt-50 is the best checkpoint so far").size(), 1u) << r.err;
  EXPECT_THAT(r.err, HasSubstr("best checkpoint "));
  const ProcessResult evaluated = belay({"evaluate", temp / "train.toml", "--checkpoint", "best"});
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_THAT(evaluated.out, HasSubstr("eval at step 50 "));

  // If the weights were not evaluated, it leaves the list.
  std::filesystem::remove_all(run_dir());
  const ProcessResult other = run(hook("weight_averaging", "evaluate = false") + tables);
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(best(), IsEmpty());
  const ProcessResult none = belay({"evaluate", temp / "train.toml", "--checkpoint", "best"});
  EXPECT_EQ(none.status, 2) << none.err;
  EXPECT_THAT(none.err,
              HasSubstr("has no best checkpoint: eval/loss was not evaluated, was not finite, or a hook has put"));
}

// A rate that is halved from step 20 on, by its scale and by a separate schedule.
TEST_F(HooksThatTrain, ParameterScheduleScalesTheRate) {
  const std::string halved = hook("parameter_schedule",
                                  "variable = \"learning_rate_scale\"\nsteps = [0, 20]\n"
                                  "values = [1.0, 0.5]");
  trained(halved);
  const std::vector<float> whole = tensor(50, kKernel);
  ASSERT_EQ(belay({"run", regression("", halved, 30), "--from-scratch"}).status, 0);
  ASSERT_EQ(run(halved, 50).status, 0);
  EXPECT_EQ(tensor(50, kKernel), whole);
  const std::string manifest = temp / "scheduled.toml";
  write_file(manifest,
             "[run]\ndir = \"run\"\nmax_steps = 50\nthreads = 1\n[input.train]\nplugin = \"numbers\"\n"
             "[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\n[optimizer.learning_rate]\n"
             "schedule = \"piecewise_constant\"\nboundaries = [19]\nvalues = [0.01, 0.005]\n");
  const ProcessResult r = belay({"run", manifest, "--from-scratch"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(tensor(50, kKernel), whole);
}

}  // namespace
}  // namespace belay::runtime::testing
