// SPDX-License-Identifier: Apache-2.0
// The limits of this process that setrlimit sets, at the moment of construction.
#pragma once

#include <sys/resource.h>

#include <array>
#include <string>
#include <vector>

namespace belay::runtime {

class ProcessLimits {
 public:
  ProcessLimits() noexcept;
  // Those that are other ones now: "the limit of open files (ulimit -n) was 1024 and is 0".
  std::vector<std::string> changes() const;

 private:
  std::array<rlim_t, RLIM_NLIMITS> limits_{};
};

}  // namespace belay::runtime
