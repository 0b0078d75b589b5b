// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/compare_runs.h"

#include <fmt/core.h>

#include <memory>

#include "runtime/api/log.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/report/run_difference.h"

namespace belay {

std::string RunComparison::text() const {
  if (common_steps == 0) return "there is no step at which both left a checkpoint or a digest";
  if (first_different) {
    std::string differing;
    for (const std::string& name : variables) differing += (differing.empty() ? "" : ", ") + name;
    return fmt::format("{} at step {}{}",
                       last_equal ? fmt::format("they are equal up to step {} and differ", *last_equal) : "they differ",
                       *first_different, differing.empty() ? "" : ", in " + differing);
  }
  std::string equal = fmt::format("they are equal at the {} steps that both left, up to {}", common_steps, *last_equal);
  if (last_step_a == last_step_b) return equal;
  return fmt::format("{}, and one came to step {}, the other to step {}", equal, last_step_a, last_step_b);
}

RunComparison compare_runs(const std::string& a, const std::string& b) {
  const std::unique_ptr<runtime::Logger> log =
      runtime::make_stderr_logger(runtime::LogFormat::kText, LogLevel::kInfo, runtime::system_clock());
  return runtime::difference_of_runs(runtime::posix_file_system(), a, b, *log);
}

}  // namespace belay
