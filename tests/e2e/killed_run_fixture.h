// SPDX-License-Identifier: Apache-2.0
// Runs that are killed (SIGKILL) at random moments and started again, until they are at their end.
#pragma once

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

class KilledRunTest : public RunTest {
 protected:
  using Arguments = std::vector<std::string>;
  using Clock = std::chrono::steady_clock;
  static constexpr int kPeriod = 2;  // steps from one checkpoint to the next

  // Saves nearly all of the time, and never ends.
  Arguments saving_for_ever(const std::string& save) {
    return {"run", regression("",
                              "[checkpoint]\nsave = \"" + save + "\"\nsave_steps = " + std::to_string(kPeriod) +
                                  "\nmax_to_keep = 2\n[[hooks]]\nplugin = \"trouble\"\n",
                              1'000'000'000)};
  }
  // All that makes a resume hard: dropout, shuffling, a queue, momentum, a decaying rate.
  Arguments hard_to_resume(const std::string& dir, const std::string& save) {
    const std::string path = temp / (dir + ".toml");
    write_file(path, "[run]\ndir = \"" + dir +
                         "\"\nmax_steps = 60\nthreads = 2\nseed = 3\n[input.train]\nplugin = \"numbers\"\n"
                         "examples = 100\nbatch_size = 16\nshuffle = true\nprefetch = 4\ndelay_secs = 0.002\n"
                         "[model]\nplugin = \"mlp\"\nhidden = [9]\ndropout = 0.2\n[optimizer]\nname = \"momentum\"\n"
                         "learning_rate = { schedule = \"exponential_decay\", learning_rate = 0.01, decay_steps = 20, "
                         "decay_rate = 0.7 }\n[checkpoint]\nsave_steps = 3\nsave = \"" +
                         save + "\"\n");
    return {"run", path};
  }

  // Kills a run that never ends this many times. Each start continues from a whole checkpoint, at most one period older
  // than the newest that was to be saved. Returns how many kills came between a save's first write and its last rename.
  int kill_while_saving(const std::string& save, int times) {
    const Arguments args = saving_for_ever(save);
    int saved = -1, in_save = 0;
    for (int i = 0; i < times; ++i) {
      BelayProcess run(args);
      // Every eighth time in the start, every eighth one soon after a save, else in one.
      const int when = i % 8;
      if (when != 0) {
        EXPECT_TRUE(run.wait_for("/model.ckpt-" + std::to_string(std::max(saved, 0) + 2 * kPeriod) + "\n"));
      }
      if (when > 1)
        await_a_moment_of_a_save();
      else
        wait_at_most(run, when == 0 ? 0.06 : 0.02);
      run.kill(SIGKILL);
      const ProcessResult r = run.wait();
      EXPECT_EQ(r.signal, SIGKILL) << r.err;
      check_start(r.err, saved, save == "sync" ? 1 : 2);
      for (const std::string& line : lines_with(r.err, "info saved ")) saved = std::max(saved, step_in(line));
      in_save += is_in_save() ? 1 : 0;
      if (HasFailure()) break;
    }
    std::printf(
        "killed %d times, %d of them between a save's first write and its last rename; the last step saved is "
        "%d\n",
        times, in_save, saved);
    return in_save;
  }

  // Kills one run this many times, all the way: the k-th time at a random moment after a checkpoint of k/times of the
  // steps. A run that ends before that is killed when it is started again. Returns its last variables.
  std::string killed(const Arguments& args, const std::string& dir, int steps, int times, double whole_secs,
                     const std::vector<std::string>& variables = {}) {
    int kills = 0;
    for (int starts = 0; kills < times && starts < 10 * times && !HasFailure(); ++starts) {
      BelayProcess run(args, variables);
      run.wait_until([&] { return newest_step(dir) >= steps * kills / times; });
      wait_at_most(run, whole_secs / times);
      run.kill(SIGKILL);
      const ProcessResult r = run.wait();
      EXPECT_TRUE(r.signal == SIGKILL || r.status == 0) << r.err;
      kills += r.signal == SIGKILL ? 1 : 0;
    }
    EXPECT_EQ(kills, times);
    const ProcessResult last = belay(args, variables);
    EXPECT_EQ(last.status, 0) << last.err;
    return weights(dir, steps);
  }
  // The seconds that a run takes.
  template <class Run>
  static double seconds_of(Run&& run) {
    const auto begin = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::mt19937 random_{1};

 private:
  void wait_at_most(BelayProcess& run, double secs) {
    const double wait = std::uniform_real_distribution<>(0, secs)(random_);
    const auto until = Clock::now() + std::chrono::duration<double>(wait);
    run.wait_until([&] { return Clock::now() >= until; });
  }
  static int step_in(const std::string& line) {
    const std::string mark = "model.ckpt-";
    const std::size_t at = line.find(mark);
    return at == std::string::npos ? -1 : std::stoi(line.substr(at + mark.size()));
  }
  // The step of the newest existing checkpoint; 0 if there is none.
  static int newest_step(const std::string& dir) {
    int newest = 0;
    for (const std::string& name : listing(dir))
      if (name.find('.', name.find("-")) == std::string::npos) newest = std::max(newest, step_in(name));
    return newest;
  }
  // The step that the attempt before was at, by its mark; -1: it has none, or it was before the first step.
  static int step_of_attempt_before(const std::string& err) {
    const std::vector<std::string> said = lines_with(err, "ended without a word");
    const std::size_t at = said.empty() ? std::string::npos : said[0].find("at step ");
    return at == std::string::npos ? -1 : std::stoi(said[0].substr(at + 8));
  }
  void check_start(const std::string& err, int saved, int periods) const {
    const std::vector<std::string> restored = lines_with(err, "info restored step ");
    if (restored.empty()) {
      // It was killed before it came to that, or there was nothing.
      EXPECT_TRUE(saved < 0 || lines_with(err, "info saved ").empty()) << err;
      return;
    }
    const int step = step_in(restored[0]);
    EXPECT_GE(step, saved) << "a step that was announced as saved is lost: " << err;
    // A step more: the mark counts the one that was under way.
    EXPECT_LE(step_of_attempt_before(err), step + periods * kPeriod + 1) << err;
    EXPECT_EQ(lines_with(err, "damaged").size(), 0u) << err;
  }
  // Whether the run directory has files that a save leaves between its first write and its last rename. Files that
  // retention is removing are older than the newest checkpoint.
  bool is_in_save() const {
    int newest = -1, unfinished = -1;
    for (const std::string& name : listing(run_dir())) {
      if (name == "checkpoint.tmp" || name.find(".old-") != std::string::npos) return true;
      int& step = name.find(".tmp-") == std::string::npos ? newest : unfinished;
      step = std::max(step, step_in(name));
    }
    return unfinished > newest;
  }
  // At most a second.
  void await_save(bool begun) const {
    const auto until = Clock::now() + std::chrono::seconds(1);
    while (is_in_save() != begun && Clock::now() < until) continue;
  }
  // A moment of the save after a measured one, at most as late as that one took. Nothing is read from the run during
  // that: a reader of its output wakes up when a save has just been announced.
  void await_a_moment_of_a_save() {
    await_save(false);
    await_save(true);
    const auto begin = Clock::now();
    await_save(false);
    const std::chrono::duration<double> took = Clock::now() - begin;
    await_save(true);
    const auto until =
        Clock::now() + std::chrono::duration<double>(std::uniform_real_distribution<>(0, took.count())(random_));
    while (Clock::now() < until) continue;
  }
};

}  // namespace belay::runtime::testing
