// SPDX-License-Identifier: Apache-2.0
// restore_best where a run is stopped from outside: what goes on from there is the run that was never disturbed.
#include <signal.h>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kLastStep = 200;

// The worst accuracy counts as the best, so that is an early one: the last weights are not the best.
class RestoreBestInARun : public RunTest {
 protected:
  RestoreBestInARun() {
    write_file(manifest_,
               "[run]\nmax_steps = " + std::to_string(kLastStep) +
                   "\nthreads = 1\n[input.train]\nplugin = \"digits\"\nexamples = 500\nbatch_size = 50\nshuffle = "
                   "true\n[input.eval]\nplugin = \"digits\"\nsplit = \"eval\"\nexamples = 100\nepochs = 1\n[model]\n"
                   "plugin = \"mlp\"\nhidden = [16]\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.01\n"
                   "[eval]\nevery_steps = 20\n[checkpoint]\nkeep_best = 2\nbest_metric = \"eval/accuracy\"\n"
                   "best_mode = \"min\"\n[[hooks]]\nplugin = \"trouble\"\n[[hooks]]\nplugin = \"restore_best\"\n");
  }
  static std::string in(const std::string& dir) { return "run.dir=\"" + dir + "\""; }
  // So slow that it does not come to its end meanwhile.
  std::vector<std::string> slowly(const std::string& dir) const {
    return {"run",   manifest_,
            "--set", in(dir),
            "--set", "hooks.0.dawdle_in=after_run",
            "--set", "hooks.0.dawdle_secs=0.02",
            "--set", "hooks.0.dawdle_each=true"};
  }
  ProcessResult whole(const std::string& dir) const { return belay({"run", manifest_, "--set", in(dir)}); }
  void expect_the_undisturbed_run(const std::string& dir) const {
    const ProcessResult undisturbed = whole(temp / "undisturbed");
    ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
    ASSERT_THAT(told(undisturbed), HasSubstr("restore_best: the weights are now those of step "));
    const ProcessResult rest = whole(dir);
    ASSERT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(weights(dir, kLastStep), weights(temp / "undisturbed", kLastStep));
    EXPECT_EQ(contents(dir + "/best"), contents(temp / "undisturbed/best"));
    EXPECT_EQ(rest.out, undisturbed.out);
  }
  static constexpr const char* kStay = "restore_best: the weights stay those of step ";

 private:
  const std::string manifest_ = temp / "train.toml";
};

TEST_F(RestoreBestInARun, StoppedBySigtermItGoesOnAsIfItHadNotBeen) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string dir = temp / ("stopped" + std::to_string(signal));
    BelayProcess run(slowly(dir));
    ASSERT_TRUE(run.wait_for("eval: step 40:"));
    run.kill(signal);
    const ProcessResult r = run.wait();
    ASSERT_EQ(r.signal, signal) << r.err;
    EXPECT_THAT(r.err, HasSubstr(kStay));
    expect_the_undisturbed_run(dir);
  }
}

TEST_F(RestoreBestInARun, EndedByMaxTimeItGoesOnAsIfItHadNotBeen) {
  const std::string dir = temp / "ended";
  // The first time that is long enough for an evaluation, on a machine that may be slow.
  for (int seconds = 1; lines_with(contents(dir + "/metrics.jsonl"), "eval").empty(); seconds *= 2) {
    ASSERT_LE(seconds, 64);
    std::vector<std::string> args = slowly(dir);
    args.push_back("--max-time=" + std::to_string(seconds) + "s");
    const ProcessResult r = belay(args);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("--max-time is over"));
  }
  expect_the_undisturbed_run(dir);
}

}  // namespace
}  // namespace belay::runtime::testing
