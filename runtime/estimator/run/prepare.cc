// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/prepare.h"

namespace belay::runtime {
namespace {

// Does everything before the first write, except the directory and the comparison.
RunStatus build(PreparedRun& run, Diagnostics& problems, const PrepareCalls& calls) {
  RunStatus status = calls.stage(RunPart::kPlugins, [&] { load_plugins(run, problems); });
  if (status != RunStatus::kDone) return status;
  calls.phase_over();
  compare_fingerprint(run, problems);
  status = calls.stage(RunPart::kScaffold, [&] { build_scaffold(run, problems); });
  if (status != RunStatus::kDone) return status;
  calls.phase_over();
  return calls.stage(RunPart::kHooks, [&] { begin_hooks(run, problems); });
}

}  // namespace

// The run owns the directory, and shows it there, from before the first plugin is loaded.
RunStatus prepare(PreparedRun& run, Diagnostics& problems, Preparation until, const PrepareCalls& calls) {
  RunStatus status = RunStatus::kDone;
  if (!run.names_found) {
    if (!find_plugins(run, problems)) return RunStatus::kPlugin;
    if (!problems.empty()) return RunStatus::kUsage;
    run.names_found = true;
  }
  if (until == Preparation::kNames) return status;
  const bool has_directory = until == Preparation::kRun && run.is_training();
  if (has_directory) {
    run.strategy->check_launch(problems);
    status = calls.stage(RunPart::kDirectory, [&] { take_directory(run); });
    if (status != RunStatus::kDone) return status;
  }
  if (until >= Preparation::kCompare) compare_with_earlier(run, problems);  // the next stage refuses it
  status = build(run, problems, calls);
  if (status != RunStatus::kDone || !has_directory) return status;
  RunStatus opened = RunStatus::kDone;
  status = calls.stage(RunPart::kDirectory, [&] {
    opened = calls.opens_directory();
    if (opened == RunStatus::kDone) open_directory(run);
  });
  return status == RunStatus::kDone ? opened : status;
}

}  // namespace belay::runtime
