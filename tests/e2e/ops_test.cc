// SPDX-License-Identifier: Apache-2.0
// Operations of plugins in whole runs: those beside a model, those that [[ops]] brings.
#include <signal.h>

#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

class OpsTest : public RunTest {
 protected:
  static constexpr int kSteps = 120;
  std::string manifest(const std::string& name, const std::string& model = "",
                       const std::string& ops = "[[ops]]\nplugin = \"mish\"\n") {
    const std::string path = temp / (name + ".toml");
    write_file(path, "[run]\ndir = \"" + name + "\"\nmax_steps = " + std::to_string(kSteps) + "\nthreads = 2\n" + ops +
                         "[input.train]\nplugin = \"numbers\"\nexamples = 100\nbatch_size = 16\nshuffle = true\n"
                         "[model]\nplugin = \"jittery\"\n" +
                         model +
                         "[optimizer]\nname = \"momentum\"\nlearning_rate = 0.001\n[checkpoint]\nsave_steps = 10\n");
    return path;
  }
  std::string final_weights(const std::string& name) { return weights(temp / name, kSteps); }
  // The lines of errors, without their times.
  std::vector<std::string> errors(const ProcessResult& r) { return lines_with(told(r), "error["); }
};

TEST_F(OpsTest, ARunTrainsWithThemAndResumesExactly) {
  const ProcessResult whole = belay({"run", manifest("whole")});
  ASSERT_EQ(whole.status, 0) << whole.err;
  ASSERT_FALSE(final_weights("whole").empty());
  const std::string killed = manifest("killed");
  BelayProcess run({"run", killed});
  if (run.wait_until([&] { return std::filesystem::exists(temp / "killed/model.ckpt-20"); })) run.kill(SIGKILL);
  EXPECT_EQ(run.wait().signal, SIGKILL);
  const ProcessResult second = belay({"run", killed});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(lines_with(second.err, "restored step ").size(), 1u) << second.err;
  EXPECT_EQ(final_weights("killed"), final_weights("whole"));
}

TEST_F(OpsTest, ARecoveryFromAFailureOfOneLeadsToTheSameBits) {
  ASSERT_EQ(belay({"run", manifest("whole")}).status, 0);
  const ProcessResult r = belay({"run", manifest("aborted", "fail_at = 37\nhow = \"aborted\"\n")});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "recovery 1: ").size(), 1u) << r.err;
  EXPECT_EQ(final_weights("aborted"), final_weights("whole"));
}

TEST_F(OpsTest, AFailureNamesNodePluginAndStep) {
  const struct {
    std::string how, said;
  } cases[] = {
      {"error", "the factors are gone"},
      {"throw", "boom"},
  };
  for (const auto& c : cases) {
    std::filesystem::remove_all(temp / "failing");
    const ProcessResult r = belay({"run", manifest("failing", "fail_at = 7\nhow = \"" + c.how + "\"\n")});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(errors(r),
                ::testing::ElementsAre(
                    "error[B2046]: training ended with an error: node 'jitter' (Jitter): op \"jitter\" (jittery.so "
                    "1.0.0) in run at step 8: " +
                    c.said));
  }
}

TEST_F(OpsTest, AnOperationThatNobodyBringsIsAnErrorBeforeTheRun) {
  const ProcessResult r = belay({"run", manifest("none", "", "")});
  EXPECT_NE(r.status, 0);
  EXPECT_EQ(lines_with(r.err, "node 'activation': no operation is called 'Mish'").size(), 1u) << r.err;
  EXPECT_FALSE(std::filesystem::exists(temp / "none"));
}

TEST_F(OpsTest, MistakesInTheManifestAreTold) {
  const struct {
    std::string ops, said;
  } cases[] = {
      {"[[ops]]\nplugin = \"mihs\"\n", "did you mean \"mish\"?"},
      {"[[ops]]\nplugin = \"mish\"\nbeta = 1\n", "\"beta\" cannot be set for an operation"},
      {"[ops]\nplugin = \"mish\"\n", "ops must be a list of tables, found a table"},
      {"[[ops]]\nplugin = \"linear\"\n", "op \"linear\" is not found"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = belay({"check", manifest("wrong", "", c.ops)});
    EXPECT_NE(r.status, 0) << c.ops;
    EXPECT_EQ(lines_with(r.err, c.said).size(), 1u) << c.ops << r.err;
  }
}

TEST_F(OpsTest, ADryRunListsThem) {
  const ProcessResult r = belay({"run", manifest("dry"), "--dry-run"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::string ops;
  for (const std::string& line : lines_with(r.out + r.err, "op  ")) ops += line + "\n";
  EXPECT_EQ(ops, "op  Jitter\nop  Mish\nop  MishGrad\n");
}

}  // namespace
}  // namespace belay::runtime::testing
