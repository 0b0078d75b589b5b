// SPDX-License-Identifier: Apache-2.0
// `belay graph`: its output for a manifest, and that no file is left.
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using Names = std::vector<std::string>;

class GraphTest : public RunTest {
 protected:
  nlohmann::json graph(const std::vector<std::string>& options) {
    std::vector<std::string> args = {"graph", regression(), "--json"};
    args.insert(args.end(), options.begin(), options.end());
    const ProcessResult r = belay(args);
    EXPECT_EQ(r.status, 0) << r.err;
    return nlohmann::json::parse(r.out, nullptr, false);
  }
};

TEST_F(GraphTest, TellsVariablesRolesAndNodes) {
  const nlohmann::json g = graph({});
  ASSERT_TRUE(g.is_object());
  EXPECT_FALSE(g.contains("plan"));
  EXPECT_TRUE(g.at("roles").contains("loss"));
  EXPECT_TRUE(g.at("roles").contains("train_op"));
  std::int64_t trainable = 0;
  bool global_step = false;
  for (const auto& v : g.at("variables")) {
    if (v.at("trainable")) trainable += v.at("elements").get<std::int64_t>();
    global_step = global_step || v.at("name") == "global_step";
  }
  EXPECT_GT(trainable, 0);
  EXPECT_EQ(g.at("trainable_parameters"), trainable);
  EXPECT_TRUE(global_step);
  for (const auto& n : g.at("nodes"))
    for (const char* key : {"name", "op", "inputs", "after", "outputs"}) EXPECT_TRUE(n.contains(key)) << n;
  EXPECT_EQ(listing(temp.path()), Names{"train.toml"});
}

TEST_F(GraphTest, APlanHasTheTimeOfEachStepAndLeavesNothingBehind) {
  const nlohmann::json g = graph({"--plan"});
  ASSERT_TRUE(g.is_object());
  const nlohmann::json& plan = g.at("plan");
  EXPECT_EQ(plan.at("threads"), 1);
  EXPECT_GT(plan.at("traced_steps"), 0);
  bool waits = false, commits = false, product = false;
  for (const auto& stage : plan.at("stages")) {
    commits = commits || stage.at("commit").get<bool>();
    for (const auto& step : stage.at("steps")) {
      EXPECT_TRUE(step.at("microseconds").is_number()) << step;
      waits = waits || step.at("waits").get<bool>();
      for (const auto& op : step.at("ops")) product = product || op == "MatMul";
    }
  }
  EXPECT_TRUE(waits && commits && product) << plan;
  EXPECT_GT(plan.at("arena_bytes"), 0);
  EXPECT_GE(plan.at("arena_bytes"), plan.at("arena_bound"));
  EXPECT_EQ(listing(temp.path()), Names{"train.toml"});
}

TEST_F(GraphTest, ReadsAsText) {
  const ProcessResult r = belay({"graph", regression(), "--plan"});
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* heading : {"\nroles\n", "\nvariables\n", "\nnodes\n", "\nplan of a training step, 1 thread;",
                              "\n  stage 0\n", ", commit\n", " us without waits\n", "\n  arena "})
    EXPECT_THAT(r.out, ::testing::HasSubstr(heading));
}

TEST_F(GraphTest, AnInputThatEndsEarlyIsTracedAsFarAsItGoes) {
  const ProcessResult short_input =
      belay({"graph", regression("examples = 64\nbatch_size = 8\nepochs = 1\n"), "--plan", "--json"});
  ASSERT_EQ(short_input.status, 0) << short_input.err;
  const auto g = nlohmann::json::parse(short_input.out, nullptr, false);
  EXPECT_EQ(g.at("plan").at("traced_steps"), 3);
}

TEST_F(GraphTest, ABadManifestIsAUsageError) {
  const ProcessResult r = belay({"graph", regression("", "[mdoel]\n")});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, ::testing::HasSubstr("did you mean"));
  EXPECT_EQ(r.out, "");
}

}  // namespace
}  // namespace belay::runtime::testing
