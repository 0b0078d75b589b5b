// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/compare_runs.h"

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
    return (last_equal ? "they are equal up to step " + std::to_string(*last_equal) + " and differ" : "they differ") +
           " at step " + std::to_string(*first_different) + (differing.empty() ? "" : ", in " + differing);
  }
  std::string equal = "they are equal at the " + std::to_string(common_steps) + " steps that both left, up to " +
                      std::to_string(*last_equal);
  if (last_step_a == last_step_b) return equal;
  return equal + ", and one came to step " + std::to_string(last_step_a) + ", the other to step " +
         std::to_string(last_step_b);
}

RunComparison compare_runs(const std::string& a, const std::string& b) {
  const std::unique_ptr<runtime::Logger> log =
      runtime::make_stderr_logger(runtime::LogFormat::kText, LogLevel::kInfo, runtime::system_clock());
  return runtime::difference_of_runs(runtime::posix_file_system(), a, b, *log);
}

}  // namespace belay
