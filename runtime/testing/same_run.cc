// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/same_run.h"

#include <memory>

#include "belay/error.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/report/run_difference.h"

namespace belay {
inline namespace v0 {
namespace testing {
namespace {

std::string part_text(const RunComparison& d) {
  if (d.common_steps == 0) return "there is no step at which both left a checkpoint or a digest";
  if (!d.first_different)
    return "one came to step " + std::to_string(d.last_step_a) + ", the other to step " + std::to_string(d.last_step_b);
  std::string text = d.last_equal ? "equal up to step " + std::to_string(*d.last_equal) + ", " : "";
  text += "different at step " + std::to_string(*d.first_different);
  for (const std::string& name : d.variables) text += (name == d.variables.front() ? " in " : ", ") + name;
  return text;
}

}  // namespace

void expect_same_run(const std::string& a, const std::string& b) {
  const std::unique_ptr<runtime::Logger> log =
      runtime::make_stderr_logger(runtime::LogFormat::kText, LogLevel::kInfo, runtime::system_clock());
  const RunComparison d = runtime::difference_of_runs(runtime::posix_file_system(), a, b, *log);
  if (d.same()) return;
  fail(Code::kDataLoss, runtime::single_quoted(a) + " and " + runtime::single_quoted(b) + " are not the same run: " +
                            part_text(d) + "; belay bisect " + a + " " + b + " finds the step and the operation");
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
