// SPDX-License-Identifier: Apache-2.0
// What the tests of inputs share: what an input fails with, and where files are that are not part of the project.
#pragma once

#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace input_test {

inline std::string error_at_open(const belay_module& module, const belay::testing::OptionValues& options) {
  return belay::testing::error_of([&] { belay::testing::InputDriver(module, options).open(); });
}

// Of one that opens.
inline std::string error_at_next(const belay_module& module, const belay::testing::OptionValues& options) {
  belay::testing::InputDriver input(module, options);
  input.open();
  return belay::testing::error_of([&] { input.next(); });
}

// The folder of the environment variable, else `shared`, which is beside the sources.
inline std::string folder_of(const char* variable, const char* shared) {
  const char* given = std::getenv(variable);
  return given != nullptr && *given != 0 ? given : std::string(BELAY_SOURCE_DIR) + "/../" + shared;
}
inline std::string data_folder() { return folder_of("BELAY_DATA_DIR", "shared/data"); }
inline std::string samples_folder() { return folder_of("BELAY_SAMPLES_DIR", "shared/samples"); }

}  // namespace input_test

// These skip the test, saying so, if the file is absent: a file of a data set, and one that another program made.
#define BELAY_NEEDS_DATA(path)        \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << "NOT TESTED: there is no '" << (path) << "'; set BELAY_DATA_DIR to the folder of the data sets"
#define BELAY_NEEDS_SAMPLES(path)     \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << "NOT TESTED: there is no '" << (path) << "'; set BELAY_SAMPLES_DIR to the folder of the samples"
