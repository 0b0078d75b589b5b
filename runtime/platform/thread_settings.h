// SPDX-License-Identifier: Apache-2.0
// What a plugin may change of the thread that calls it, and that thread does not see: how OpenMP sizes its teams, and
// the x87 control word. While one lives, it may; then the settings are what they were.
#pragma once

#include <cstdint>

namespace belay::runtime {

class ThreadSettings {
 public:
  ThreadSettings() noexcept;
  ~ThreadSettings();
  ThreadSettings(const ThreadSettings&) = delete;
  ThreadSettings& operator=(const ThreadSettings&) = delete;

 private:
  const int threads_, dynamic_, levels_;
  const std::uint16_t x87_;
};

}  // namespace belay::runtime
