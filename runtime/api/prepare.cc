// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/prepare.h"

#include "runtime/api/run_report.h"
#include "runtime/checkpoint/run_lock.h"

namespace belay::runtime {
namespace {

RunStatus status_of_plugin(const Error& e) {
  return e.code() == Code::kInvalidArgument ? RunStatus::kUsage : RunStatus::kPlugin;
}

// An input that is not there or empty is the manifest's mistake; one that breaks while it is read has begun to train.
RunStatus status_of_scaffold(const Error& e) {
  return e.code() == Code::kDataLoss || e.code() == Code::kUnknown ? RunStatus::kTrainingFailed : RunStatus::kUsage;
}

}  // namespace

RunStatus status_of_directory(const Error& error) {
  return dynamic_cast<const RunInUse*>(&error) != nullptr ? RunStatus::kInUse : RunStatus::kUsage;
}

std::optional<RunFailure> prepare(ManifestRun& run, Diagnostics& problems) {
  std::optional<RunFailure> failure = failure_of([&] { run.load_plugins(problems); }, status_of_plugin);
  if (!failure && problems.empty()) run.compare_fingerprint(problems);
  if (!failure && problems.empty()) failure = failure_of([&] { run.build_scaffold(problems); }, status_of_scaffold);
  if (!failure && problems.empty()) failure = failure_of([&] { run.begin_hooks(problems); }, run_status);
  return failure;
}

}  // namespace belay::runtime
