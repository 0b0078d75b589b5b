// A manifest and a run directory of a test's own.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/belay_process.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {

class RunTest : public ::testing::Test {
 protected:
  // A regression on the input `numbers`, trained in no time; `more` is appended (tables only).
  std::string regression(const std::string& input = "", const std::string& more = "", int max_steps = 50) {
    const std::string path = temp / "train.toml";
    write_file(path, "[run]\ndir = \"run\"\nmax_steps = " + std::to_string(max_steps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"numbers\"\n" + input +
                         "\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n" + more);
    return path;
  }
  std::string run_dir() const { return temp / "run"; }
  // The bytes of a checkpoint's variables.
  std::string weights(const std::string& dir, int step) const {
    return contents(dir + "/model.ckpt-" + std::to_string(step) + "/model.safetensors");
  }

  TempDir temp;
};

}  // namespace belay::runtime::testing
