// SPDX-License-Identifier: Apache-2.0
// Steps of a run again, by a program: with its own objects as hooks.
#include <belay/runtime/replay.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belay/plugin.h"
#include "tests/api/program.h"

namespace belay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The notes of a hook of the program.
struct Seen {
  std::vector<float> losses;
  std::vector<std::string> calls;
  bool gone = false;
};

class Looker final : public Hook {
 public:
  explicit Looker(Seen& seen) : seen_(seen) {}
  ~Looker() override { seen_.gone = true; }
  void begin(Graph& graph) override { loss_ = graph.fetch<float>("loss"); }
  void after_create_session(Session&) override { seen_.calls.emplace_back("after_create_session"); }
  RunArgs before_run(RunContext&) override {
    seen_.calls.emplace_back("before_run");
    return {loss_};
  }
  void after_run(RunContext&, const RunValues& values) override { seen_.losses.push_back(values[loss_]); }
  void end(Session&) override { seen_.calls.emplace_back("end"); }

 private:
  Seen& seen_;
  Fetch<float> loss_;
};

class Feeder final : public Hook {
 public:
  void begin(Graph& graph) override { loss_ = graph.find("loss"); }
  RunArgs before_run(RunContext&) override {
    RunArgs args;
    args.feed(loss_, Tensor(0.5f));
    return args;
  }

 private:
  Output loss_;
};

class ReplayApiTest : public ProgramTest {
 protected:
  // Twelve steps with checkpoints at 0, 5, 10 and 12, and the loss of each in losses.csv.
  void train(const std::string& more = "") {
    std::ofstream(temp / "train.toml") << "[run]\ndir = \"run\"\nmax_steps = 12\nthreads = 1\n"
                                          "[input.train]\nplugin = \"digits\"\nexamples = 64\nbatch_size = 8\n"
                                          "shuffle = true\n[model]\nplugin = \"linear\"\nclasses = 10\n"
                                          "[optimizer]\nname = \"adam\"\nlearning_rate = 0.01\n"
                                          "[checkpoint]\nsave_steps = 5\nmax_to_keep = 10\n"
                                          "[[hooks]]\nplugin = \"csv_logger\"\ntensors = [\"loss\"]\n"
                                          "every_n_steps = 1\n"
                                       << more;
    ManifestRunOptions o{.plugin_path = {BELAY_BINARY_DIR "/plugins"}};
    o.log = log_options();
    const RunReport report = ManifestRun(temp / "train.toml", o).run();
    ASSERT_EQ(report.status, RunStatus::kDone) << report.error << log;
    log.clear();
  }
  ReplayOptions at(std::int64_t step) {
    ReplayOptions o{.step = step, .out = temp / "again", .plugin_path = {BELAY_BINARY_DIR "/plugins"}};
    o.log = log_options();
    return o;
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(temp / "run")) {
      std::ifstream file(entry.path(), std::ios::binary);
      all[entry.path().string()] = entry.is_regular_file() ? std::string(std::istreambuf_iterator<char>(file), {}) : "";
    }
    return all;
  }
  ReplayReport again(const ReplayOptions& options) { return replay(temp / "run", options); }
};

TEST_F(ReplayApiTest, AnObjectOfTheProgramSeesTheStepsAndTheyAreProved) {
  train();
  const auto before = files();
  Seen seen;
  std::vector<std::int64_t> steps;
  ReplayOptions options = at(7);
  options.to = 8;
  options.fetches = {"loss"};
  options.batch = true;
  options.hooks = {plugin_hook("gradient_norms"), own_hook("looker", std::make_unique<Looker>(seen))};
  options.on_step = [&](std::int64_t step) {
    steps.push_back(step);
    return true;
  };
  const ReplayReport report = again(options);
  EXPECT_EQ(report.status, RunStatus::kDone) << report.error << log;
  EXPECT_EQ(report.text, "0 differing bits at step 10: model.ckpt-10 is what this came to\n");
  EXPECT_EQ(report.proof, ReplayProof::kSame);
  EXPECT_EQ(report.compared_with, "model.ckpt-10");
  EXPECT_GT(report.bits, 0u);
  EXPECT_EQ(report.differing_bits, 0u);
  EXPECT_EQ(report.checkpoint, temp / "run/model.ckpt-5");
  EXPECT_EQ(report.checkpoint_step, 5);
  EXPECT_EQ(report.attempt, 1);
  EXPECT_EQ(report.global_step, 10);
  EXPECT_EQ(report.directory, temp / "again");
  EXPECT_THAT(report.archives, ElementsAre(temp / "again/step-7.npz", temp / "again/step-8.npz"));
  EXPECT_THAT(steps, ElementsAre(6, 7, 8, 9, 10));
  EXPECT_THAT(seen.calls, ElementsAre("after_create_session", "before_run", "before_run", "end"));
  EXPECT_EQ(seen.losses.size(), 2u);
  EXPECT_TRUE(seen.gone);
  EXPECT_TRUE(files() == before);
}

TEST_F(ReplayApiTest, AHookThatFeedsIsRefusedByNameUnlessWhatIf) {
  train();
  ReplayOptions options = at(7);
  options.hooks = {own_hook("feeder", [] { return std::make_unique<Feeder>(); })};
  const ReplayReport refused = again(options);
  EXPECT_EQ(refused.status, RunStatus::kTrainingFailed);
  EXPECT_THAT(refused.error,
              AllOf(HasSubstr("hook \"feeder\""), HasSubstr("in before_run at step 7: [B5072] it feeds '"),
                    HasSubstr("loss"), HasSubstr(", and may only watch; "), HasSubstr("--what-if")));
  EXPECT_EQ(refused.text, "");
  EXPECT_THAT(log, HasSubstr("it feeds '"));
  options.what_if = true;
  options.out = temp / "what_if";
  const ReplayReport other = again(options);
  EXPECT_EQ(other.status, RunStatus::kDone) << other.error;
  EXPECT_THAT(other.text, StartsWith("--what-if: from step 7 on this is another run than "));
}

TEST_F(ReplayApiTest, WhatIsAskedWronglyIsInTheReport) {
  train();
  EXPECT_THAT(again(at(0)).error, HasSubstr("[B5004] step is 0, must be at least 1"));
  ReplayOptions options = at(7);
  options.to = 6;
  EXPECT_THAT(again(options).error, HasSubstr("[B5004] to is 6, must not be smaller than step = 7"));
  options.to = 0;
  options.hooks = {OwnHook()};
  EXPECT_THAT(again(options).error, HasSubstr("hooks[0] is no hook"));
  options.hooks.clear();
  options.first_non_finite = true;
  options.batch = true;
  EXPECT_THAT(again(options).error, HasSubstr("leave hooks, fetches, batch, to and what_if out"));
  const ReplayReport behind = again(at(13));
  EXPECT_EQ(behind.status, RunStatus::kUsage);
  EXPECT_THAT(behind.error, HasSubstr("[B5011] the run has made 12 steps, and step 13 is after them"));
  options = at(7);
  options.hooks = {plugin_hook("gradient_norm")};
  const ReplayReport unknown = again(options);
  EXPECT_EQ(unknown.status, RunStatus::kPlugin);
  EXPECT_THAT(unknown.error, HasSubstr("gradient_norms"));
  options.hooks = {own_hook("replay", [] { return std::make_unique<Feeder>(); }),
                   own_hook("replay", [] { return std::make_unique<Feeder>(); })};
  EXPECT_THAT(again(options).error, HasSubstr("two hooks are named \"replay\""));
  EXPECT_EQ(replay(temp / "none", at(7)).status, RunStatus::kUsage);
  EXPECT_FALSE(fs::exists(temp / "again"));
}

TEST_F(ReplayApiTest, TheProgramMayEndItAndThenNothingIsProved) {
  train();
  ReplayOptions options = at(7);
  options.on_step = [](std::int64_t step) { return step < 8; };
  const ReplayReport report = again(options);
  EXPECT_EQ(report.status, RunStatus::kTrainingFailed);
  EXPECT_EQ(report.proof, ReplayProof::kNotReached);
  EXPECT_EQ(report.text, "ended at step 8, before step 10 (the program ended it): nothing is proved\n");
}

TEST_F(ReplayApiTest, TheFirstTensorThatIsNotFiniteIsInTheReport) {
  train();
  ReplayOptions options = at(0);
  options.first_non_finite = true;
  const ReplayReport finite = again(options);
  EXPECT_EQ(finite.status, RunStatus::kTrainingFailed) << finite.error;
  EXPECT_FALSE(finite.non_finite);
  EXPECT_THAT(finite.text, HasSubstr(" is finite: the loss, and every variable after it"));

  // A rate at which the weights are infinite after a few steps.
  std::ofstream(temp / "lost.toml") << "[run]\ndir = \"lost\"\nmax_steps = 12\nthreads = 1\n"
                                       "[input.train]\nplugin = \"digits\"\nexamples = 64\nbatch_size = 8\n"
                                       "[model]\nplugin = \"linear\"\nclasses = 10\n"
                                       "[optimizer]\nname = \"sgd\"\nlearning_rate = 1e38\n";
  ManifestRunOptions o{.plugin_path = {BELAY_BINARY_DIR "/plugins"}};
  o.log = log_options();
  ASSERT_EQ(ManifestRun(temp / "lost.toml", o).run().status, RunStatus::kDiverged) << log;
  options.out = temp / "found";
  const ReplayReport lost = replay(temp / "lost", options);
  EXPECT_EQ(lost.status, RunStatus::kDone) << lost.error << log;
  ASSERT_TRUE(lost.non_finite) << lost.text;
  EXPECT_THAT(lost.text, StartsWith("step " + std::to_string(lost.non_finite->step) +
                                    ": the first that is not finite is '" + lost.non_finite->tensor + "'"));
  EXPECT_GT(lost.non_finite->count, 0u);
  EXPECT_FALSE(lost.non_finite->inputs.empty());
  ASSERT_EQ(lost.archives.size(), 1u);
  EXPECT_TRUE(fs::exists(lost.archives[0]));
}

}  // namespace
}  // namespace belay
