// SPDX-License-Identifier: Apache-2.0
// A training and, beside it, the evaluation of its checkpoints: two processes of the real program on one run directory.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

class TwoProcesses : public RunTest {
 protected:
  static constexpr int kSteps = 60;

  // 60 steps in the third of a second or more, a checkpoint every ten.
  std::string manifest(const std::string& dir, const std::string& more = "") const {
    const std::string path = temp / (dir + ".toml");
    write_file(path, "[run]\ndir = \"" + dir + "\"\nmax_steps = " + std::to_string(kSteps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"numbers\"\nshuffle = true\ndelay_secs = 0.005\n"
                         "[input.eval]\nplugin = \"numbers\"\nexamples = 160\nepochs = 1\n"
                         "[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n"
                         "[checkpoint]\nsave_steps = 10\nmax_to_keep = 2\n[eval]\ntimeout_secs = 300\n" +
                         more);
    return path;
  }
  static std::vector<std::string> training(const std::string& manifest) { return {"run", manifest}; }
  static std::vector<std::string> evaluation(const std::string& manifest) {
    return {"run", manifest, "--set", "run.mode=continuous_eval"};
  }
  static std::string last_line(const std::string& text) {
    std::istringstream lines(text);
    std::string last;
    for (std::string line; std::getline(lines, line);) last = line;
    return last;
  }

  // Both are killed `kills` times in all, each at a random moment, and started again.
  void run_with_kills(const std::string& manifest, int kills, ProcessResult& trained, ProcessResult& evaluated) {
    auto trainer = std::make_unique<BelayProcess>(training(manifest));
    auto evaluator = std::make_unique<BelayProcess>(evaluation(manifest));
    for (int i = 0; i < kills; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 200'000)(random_)));
      const bool kills_trainer = std::bernoulli_distribution(0.5)(random_);
      auto& one = kills_trainer ? trainer : evaluator;
      one->kill(SIGKILL);
      const ProcessResult r = one->wait();
      ASSERT_TRUE(r.signal == SIGKILL || r.status == 0) << r.err;  // it may have been done
      one = std::make_unique<BelayProcess>(kills_trainer ? training(manifest) : evaluation(manifest));
    }
    trained = trainer->wait();
    evaluated = evaluator->wait();
  }

  void expect_the_same_end(int rounds, int kills) {
    const ProcessResult undisturbed = belay(training(manifest("undisturbed")));
    ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
    const std::string expected = last_line(undisturbed.out);
    ASSERT_TRUE(expected.starts_with("eval at step 60 on 160 examples: loss = ")) << expected;
    for (int round = 0; round < rounds; ++round) {
      const std::string dir = "killed_" + std::to_string(round);
      ProcessResult trained, evaluated;
      run_with_kills(manifest(dir), kills, trained, evaluated);
      if (HasFatalFailure()) return;
      ASSERT_EQ(trained.status, 0) << trained.err;
      ASSERT_EQ(evaluated.status, 0) << evaluated.err;
      EXPECT_EQ(last_line(trained.out), expected) << "round " << round;
      EXPECT_EQ(last_line(evaluated.out), expected) << "round " << round << "\n" << evaluated.err;
      EXPECT_EQ(weights(temp / dir, kSteps), weights(temp / "undisturbed", kSteps)) << "round " << round;
    }
  }

 private:
  static std::uint32_t seed() {
    const char* given = std::getenv("BELAY_SIGNAL_SEED");
    return given == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(given));
  }
  std::mt19937 random_{seed()};
};

}  // namespace belay::runtime::testing
