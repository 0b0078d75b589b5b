// SPDX-License-Identifier: Apache-2.0
// Where tests find files that others made, which are not part of the project.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

// The folder of the environment variable BELAY_SAMPLES_DIR, else ../shared/samples beside the sources.
inline std::string samples_folder() {
  const char* given = std::getenv("BELAY_SAMPLES_DIR");
  return given != nullptr && *given != 0 ? given : std::string(BELAY_SOURCE_DIR) + "/../shared/samples";
}

// Skips the test, saying so, where the file is absent.
#define BELAY_NEEDS_SAMPLES(path)     \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << "NOT TESTED: there is no '" << (path) << "'; set BELAY_SAMPLES_DIR to the folder of the samples"
