// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/evaluate_repeatedly.h"

#include <fmt/core.h>

#include "runtime/checkpoint/directory/new_checkpoints.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

NewCheckpointsOptions waiting(const EvaluateRepeatedlyOptions& o) {
  return {.min_interval_secs = o.eval_interval_secs,
          .timeout_secs = o.timeout_secs,
          .on_timeout = o.on_timeout,
          .finished = o.finished,
          .keep_going = o.keep_going};
}

}  // namespace

std::int64_t evaluate_repeatedly(const Platform& platform, const std::string& directory,
                                 const EvaluateRepeatedlyOptions& options,
                                 const std::function<bool(const std::string& checkpoint)>& evaluate) {
  if (options.max_number_of_evaluations && *options.max_number_of_evaluations <= 0)
    fail(Code::kInvalidArgument,
         fmt::format("[B5052] max_number_of_evaluations must be above 0, got {}", *options.max_number_of_evaluations));
  NewCheckpoints checkpoints(platform.files, platform.clock, platform.log, directory, waiting(options));
  std::int64_t made = 0;
  if (!checkpoints.wait(options.start_delay_secs)) return made;
  while (const auto path = checkpoints.next()) {
    bool goes_on = true;
    try {
      goes_on = evaluate(*path);
      ++made;
    } catch (const Error& e) {
      if (e.code() == Code::kCancelled || platform.files.exists(*path)) throw;
      platform.log.info("", escaped(*path) + " was removed while it was read: it is skipped");
    }
    if (!goes_on || made == options.max_number_of_evaluations) break;
  }
  return made;
}

}  // namespace belay::runtime
