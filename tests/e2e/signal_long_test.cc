// SPDX-License-Identifier: Apache-2.0
// SIGTERM fifty times in each phase of a run, at a random moment of it: no step is lost, and the run that continues
// from there ends with the bits of one that was never stopped. BELAY_SIGNAL_SEED makes other moments.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

constexpr int kTimes = 50;
constexpr int kSteps = 30;

class SignalAtRandom : public RunTest {
 protected:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  // All that makes a resume hard: dropout, shuffling, a queue, momentum, a decaying rate. A hook dawdles in `callback`.
  std::string manifest(const std::string& dir, const std::string& callback, const std::string& more = "") {
    const std::string path = temp / (dir + ".toml");
    const std::string hook = callback.empty() ? ""
                                              : "[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"" + callback +
                                                    "\"\ndawdle_secs = " + std::to_string(kDawdleSecs) + "\n";
    write_file(path, "[run]\ndir = \"" + dir + "\"\nmax_steps = " + std::to_string(kSteps) +
                         "\nthreads = 2\nseed = 3\n[input.train]\nplugin = \"numbers\"\nexamples = 100\n"
                         "batch_size = 16\nshuffle = true\nprefetch = 4\ndelay_secs = 0.002\n"
                         "[model]\nplugin = \"mlp\"\nhidden = [9]\ndropout = 0.2\n"
                         "[optimizer]\nname = \"momentum\"\nlearning_rate = { schedule = \"exponential_decay\", "
                         "learning_rate = 0.01, decay_steps = 20, decay_rate = 0.7 }\n"
                         "[checkpoint]\nsave_steps = 7\n" +
                         hook + more);
    return path;
  }
  std::string final_weights(const std::string& dir) const { return weights(temp / dir, kSteps); }
  void sleep_at_most(double milliseconds) {
    std::this_thread::sleep_for(Milliseconds(std::uniform_real_distribution<>(0, milliseconds)(random_)));
  }
  // The step in a run's report of its end; none if it ended before it had a session.
  static std::optional<int> ended_at(const ProcessResult& r) {
    const std::vector<std::string> ended = lines_with(r.err, "info ended at step ");
    if (ended.empty()) return std::nullopt;
    return std::stoi(ended[0].substr(ended[0].find("step ") + 5));
  }

  // Starts the run, waits for `trigger` on stderr (empty: not at all) and then a random time, and ends it. Then
  // continues it.
  void stop_and_resume(const std::string& path, const std::string& trigger, double at_most_milliseconds) {
    std::filesystem::remove_all(temp / "stopped");
    BelayProcess run({"run", path});
    if (!trigger.empty()) {
      ASSERT_TRUE(run.wait_for(trigger)) << run.wait().err;
    }
    sleep_at_most(at_most_milliseconds);
    run.kill(SIGTERM);
    const ProcessResult r = run.wait();
    // A signal that came after the end of training, or after the whole run, need not be served.
    if (r.signal == 0) {
      ++too_late_;
      ASSERT_EQ(r.status, 0) << r.err;
    } else {
      ASSERT_EQ(r.signal, SIGTERM) << r.err;
    }
    const std::optional<int> step = ended_at(r);
    if (step) {
      ASSERT_FALSE(weights(temp / "stopped", *step).empty()) << "step " << *step << " was lost\n" << r.err;
    } else {
      ++before_the_session_;
      ASSERT_FALSE(std::filesystem::exists(temp / "stopped/checkpoint")) << r.err;
    }
    const ProcessResult on = belay({"run", path});
    ASSERT_EQ(on.status, 0) << on.err;
    if (step && *step < kSteps) {
      EXPECT_EQ(lines_with(on.err, "restored step " + std::to_string(*step) + " ").size(), 1u) << on.err;
    }
    ASSERT_EQ(final_weights("stopped"), whole_) << "stopped at step " << step.value_or(-1) << "\n" << r.err;
  }
  void SetUp() override {
    const ProcessResult r = belay({"run", manifest("whole", "")});
    ASSERT_EQ(r.status, 0) << r.err;
    whole_ = final_weights("whole");
    ASSERT_FALSE(whole_.empty());
    const char* seed = std::getenv("BELAY_SIGNAL_SEED");
    random_.seed(seed == nullptr ? 1 : static_cast<std::uint64_t>(std::atoll(seed)));
  }

  static constexpr double kDawdleSecs = 0.02;
  std::string whole_;
  std::mt19937_64 random_;
  int too_late_ = 0, before_the_session_ = 0;
};

TEST_F(SignalAtRandom, InStartUp) {
  const std::string path = manifest("stopped", "");
  for (int i = 0; i < kTimes && !HasFatalFailure(); ++i) stop_and_resume(path, "", 60);
  EXPECT_GT(before_the_session_, 0) << "none came while the run started";
}

TEST_F(SignalAtRandom, WhileTheSessionIsMade) {
  for (const char* callback : {"begin", "after_create_session"}) {
    const std::string path = manifest("stopped", callback);
    for (int i = 0; i < kTimes / 2 && !HasFatalFailure(); ++i)
      stop_and_resume(path, std::string("dawdles in ") + callback, 1e3 * kDawdleSecs);
  }
}

TEST_F(SignalAtRandom, InAStep) {
  for (const char* callback : {"before_run", "after_run"}) {
    const std::string path = manifest("stopped", callback);
    for (int i = 0; i < kTimes / 2 && !HasFatalFailure(); ++i)
      stop_and_resume(path, std::string("dawdles in ") + callback, 1e3 * kDawdleSecs + 60);
  }
  EXPECT_LT(too_late_, kTimes / 2);
}

TEST_F(SignalAtRandom, WhileTheRunWaitsForItsInput) {
  // The input takes nearly all of the time.
  const std::string path = manifest("stopped", "");
  for (int i = 0; i < kTimes && !HasFatalFailure(); ++i) stop_and_resume(path, "saved ", 60);
  EXPECT_LT(too_late_, kTimes / 2);
}

TEST_F(SignalAtRandom, InASave) {
  for (const char* callback : {"before_save", "after_save"}) {
    const std::string path = manifest("stopped", callback);
    for (int i = 0; i < kTimes / 2 && !HasFatalFailure(); ++i)
      stop_and_resume(path, std::string("dawdles in ") + callback, 1e3 * kDawdleSecs + 10);
  }
  EXPECT_EQ(too_late_, 0);
}

TEST_F(SignalAtRandom, WhileHooksEnd) {
  const std::string path = manifest("stopped", "end");
  for (int i = 0; i < kTimes && !HasFatalFailure(); ++i) stop_and_resume(path, "dawdles in end", 1e3 * kDawdleSecs);
}

TEST_F(SignalAtRandom, InTheEvaluation) {
  const std::string path = manifest("stopped", "",
                                    "[input.eval]\nplugin = \"numbers\"\nexamples = 320\nepochs = 1\n"
                                    "delay_secs = 0.002\n");
  for (int i = 0; i < kTimes && !HasFatalFailure(); ++i) stop_and_resume(path, "info ended at step", 40);
}

}  // namespace
}  // namespace belay::runtime::testing
