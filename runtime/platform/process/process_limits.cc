// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/process_limits.h"

#include <fmt/core.h>

#include <cstddef>

namespace belay::runtime {
namespace {

std::string limit_name(std::size_t resource) {
  switch (resource) {
    case RLIMIT_AS: return "memory (ulimit -v)";
    case RLIMIT_CPU: return "processor time (ulimit -t)";
    case RLIMIT_FSIZE: return "the size of a file (ulimit -f)";
    case RLIMIT_NOFILE: return "open files (ulimit -n)";
    case RLIMIT_NPROC: return "processes and threads (ulimit -u)";
    default: return fmt::format("resource {}", resource);
  }
}

std::string limit_value(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit); }

}  // namespace

ProcessLimits::ProcessLimits() noexcept {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(i), &limit) == 0) limits_[i] = limit.rlim_cur;
  }
}

std::vector<std::string> ProcessLimits::changes() const {
  const ProcessLimits now;
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < limits_.size(); ++i)
    if (now.limits_[i] != limits_[i])
      changed.push_back("the limit of " + limit_name(i) + " was " + limit_value(limits_[i]) + " and is " +
                        limit_value(now.limits_[i]));
  return changed;
}

}  // namespace belay::runtime
