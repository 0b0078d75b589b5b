// SPDX-License-Identifier: Apache-2.0
// The library of sample.cc: a plugin of each kind.
#pragma once

#include <string>

namespace belay::runtime {

inline const std::string& sample_file() {
  static const std::string path = BELAY_LOADER_SAMPLE;
  return path;
}

}  // namespace belay::runtime
