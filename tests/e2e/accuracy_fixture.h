// SPDX-License-Identifier: Apache-2.0
// Runs an example with the real program, and reads the numbers that it prints.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

class Accuracy : public ::testing::Test {
 protected:
  // BELAY_DATA_DIR, else ../shared/data beside the source; empty where there is none.
  static std::string data_directory() { return directory("BELAY_DATA_DIR", BELAY_SOURCE_DIR "/../shared/data"); }
  // The same for BELAY_SAMPLES_DIR and ../shared/samples.
  static std::string samples_directory() {
    return directory("BELAY_SAMPLES_DIR", BELAY_SOURCE_DIR "/../shared/samples");
  }
  // The number after `name = ` in the line that an evaluation prints.
  static double metric(const std::string& out, const std::string& name) {
    const std::size_t at = out.find(name + " = ");
    return at == std::string::npos ? -1e9 : std::stod(out.substr(at + name.size() + 3));
  }
  ProcessResult run(const std::string& example, std::vector<std::string> sets = {}) {
    std::vector<std::string> args = {"run", BELAY_SOURCE_DIR "/examples/" + example, "--set",
                                     "run.dir=\"" + (temp / "run") + "\""};
    for (std::string& s : sets) {
      args.emplace_back("--set");
      args.push_back(std::move(s));
    }
    return belay(args, data_variables());
  }
  static std::vector<std::string> data_variables() {
    return {"BELAY_DATA_DIR=" + data_directory(), "BELAY_SAMPLES_DIR=" + samples_directory()};
  }
  TempDir temp;

 private:
  static std::string directory(const char* variable, const std::string& otherwise) {
    const char* given = std::getenv(variable);
    const std::string path = given != nullptr ? given : otherwise;
    return std::filesystem::is_directory(path) ? std::filesystem::canonical(path).string() : "";
  }
};

}  // namespace belay::runtime::testing

#define NEEDS_DATA(file)                                              \
  if (!std::filesystem::exists(data_directory() + "/" file))          \
  GTEST_SKIP() << "SKIPPED: there is no " file " in BELAY_DATA_DIR (" \
               << (data_directory().empty() ? "not there" : data_directory()) << ")"
