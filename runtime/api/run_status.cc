// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/run_status.h"

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/loader/file/load_error.h"

namespace belay::runtime {
namespace {

template <class Kind>
bool is_a(const Error& e) {
  return dynamic_cast<const Kind*>(&e) != nullptr;
}

RunStatus status_of_work(const Error& e) {
  if (is_a<RestoreError>(e)) return RunStatus::kNoRestore;
  return e.code() == Code::kDiverged ? RunStatus::kDiverged : RunStatus::kTrainingFailed;
}

}  // namespace

RunStatus status_of(RunPart part, const Error& e) {
  const Code code = e.code();
  const bool is_wrong_name = code == Code::kInvalidArgument || code == Code::kNotFound;
  if (is_a<LoadError>(e)) return RunStatus::kPlugin;
  switch (part) {
    case RunPart::kPlan:
      // If a run does not exist, or has not made the steps, that is the caller's mistake.
      if (!is_a<RestoreError>(e) && (is_wrong_name || code == Code::kOutOfRange)) return RunStatus::kUsage;
      return status_of_work(e);
    case RunPart::kDirectory: return is_a<RunInUse>(e) ? RunStatus::kInUse : RunStatus::kUsage;
    case RunPart::kPlugins: return code == Code::kInvalidArgument ? RunStatus::kUsage : RunStatus::kPlugin;
    case RunPart::kScaffold:
      // An input's refusal is a problem of the manifest (open_input.cc).
      return code == Code::kDataLoss || code == Code::kUnknown ? RunStatus::kTrainingFailed : RunStatus::kUsage;
    case RunPart::kTraining:
      // The error may have come through a hook, as an error of the hook.
      return is_a<RunInUse>(e) ? RunStatus::kInUse : status_of_work(e);
    case RunPart::kMode: return is_wrong_name ? RunStatus::kUsage : status_of_work(e);
    default: return status_of_work(e);
  }
}

}  // namespace belay::runtime
