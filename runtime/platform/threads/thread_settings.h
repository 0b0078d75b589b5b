// SPDX-License-Identifier: Apache-2.0
// Restores settings of the calling thread that a plugin may change unnoticed: how OpenMP sizes its teams, and the x87
// control word. The destructor restores their old values.
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
