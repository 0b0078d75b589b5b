// SPDX-License-Identifier: Apache-2.0
// A manifest and a run directory of a test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

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

  // All output of a run on stderr, without the times of its lines and with DIR for the test's folder.
  std::string told(const ProcessResult& r) const { return replaced(without_times(r.err), temp.path(), "DIR"); }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  }
  // Names in a folder, sorted; of an event file only the fixed part of its name. A folder that is not there holds none.
  static std::vector<std::string> listing(const std::string& dir) {
    std::vector<std::string> names;
    if (!std::filesystem::is_directory(dir)) return names;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      const std::string name = entry.path().filename().string();
      names.push_back(name.rfind(kEventFile, 0) == 0 ? kEventFile : name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static constexpr const char* kEventFile = "events.out.tfevents";

  TempDir temp;
};

}  // namespace belay::runtime::testing
