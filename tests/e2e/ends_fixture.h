// SPDX-License-Identifier: Apache-2.0
// Runs with plugins from tests/bad_plugins/ends, each of which does in one of its callbacks what it is asked to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

inline const std::string kEndsPlugins = BELAY_BINARY_DIR "/tests/bad_plugins/ends/plugins";
inline const std::string kWithoutAWord = "ended without a word";

class PluginEnds : public RunTest {
 protected:
  // With each plugin of ends.so; `more` are more tables.
  std::string manifest(const std::string& more = "") {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"runs/one\"\nmax_steps = 12\nthreads = 1\n[plugins]\npath = [\"" + kEndsPlugins +
                   "\"]\n[input.train]\nplugin = \"ends_input\"\n[model]\nplugin = \"ends_model\"\n[optimizer]\n" +
                   optimizer +
                   "[scaffold]\nsaver = { plugin = \"ends_saver\" }\n"
                   "init_fn = [{ plugin = \"ends_init_fn\" }]\n[checkpoint]\nsave_steps = 4\n[[hooks]]\nplugin = "
                   "\"ends\"\n[[ops]]\nplugin = \"ends_op\"\n" +
                   tables + more);
    return path;
  }
  std::string dir() const { return temp / "runs/one"; }
  ProcessResult run(const std::string& in, const std::string& how, const std::string& at = "1",
                    std::vector<std::string> variables = {}) {
    variables.insert(variables.end(), environment.begin(), environment.end());
    variables.insert(variables.end(), {"ENDS_IN=" + in, "ENDS_HOW=" + how, "ENDS_AT=" + at, "ENDS_RUN=" + dir()});
    return belay({"run", manifest()}, variables);
  }
  // The next start, with nothing that ends it: it has the lock, and comes to its end. Returns its warnings.
  std::string warnings_of_next_start() {
    const ProcessResult next = belay({"run", manifest()}, environment);
    EXPECT_EQ(next.status, 0) << next.err;
    EXPECT_THAT(lines_with(next.err, "info ended at step 12"), ::testing::SizeIs(1)) << next.err;
    EXPECT_FALSE(std::filesystem::exists(dir() + "/attempt"));
    std::string warnings;
    for (const std::string& line : lines_with(next.err, kWithoutAWord)) warnings += line + "\n";
    return warnings;
  }
  void start_over() { std::filesystem::remove_all(temp / "runs"); }

  // Each manifest has these lines and tables, and each run has this environment.
  std::string optimizer = "name = \"sgd\"\nlearning_rate = 0.01\n", tables;
  std::vector<std::string> environment;
};

}  // namespace belay::runtime::testing
