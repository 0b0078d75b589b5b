// SPDX-License-Identifier: Apache-2.0
// Where tests find the data sets that are not part of the project.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

// The folder of the environment variable BELAY_DATA_DIR, else ../shared/data beside the sources.
inline std::string data_folder() {
  const char* given = std::getenv("BELAY_DATA_DIR");
  return given != nullptr && *given != 0 ? given : std::string(BELAY_SOURCE_DIR) + "/../shared/data";
}

// Skips the test, saying so, where the file is absent.
#define BELAY_NEEDS_DATA(path)        \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << "NOT TESTED: there is no '" << (path) << "'; set BELAY_DATA_DIR to the folder of the data sets"
