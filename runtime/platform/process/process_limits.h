// SPDX-License-Identifier: Apache-2.0
// The limits of this process that setrlimit sets, at construction.
#pragma once

#include <sys/resource.h>

#include <array>
#include <string>
#include <vector>

namespace belay::runtime {

class ProcessLimits {
 public:
  ProcessLimits() noexcept;
  // Returns the limits that changed: "the limit of open files (ulimit -n) was 1024 and is 0".
  std::vector<std::string> changes() const;

 private:
  std::array<rlim_t, RLIM_NLIMITS> limits_{};
};

}  // namespace belay::runtime
