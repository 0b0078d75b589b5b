// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/prepare.h"

namespace belay::runtime {

std::optional<RunFailure> prepare(ManifestRun& run, Diagnostics& problems) {
  std::optional<RunFailure> failure = failure_of(RunPart::kPlugins, [&] { run.load_plugins(problems); });
  if (!failure && problems.empty()) run.compare_fingerprint(problems);
  if (!failure && problems.empty()) failure = failure_of(RunPart::kScaffold, [&] { run.build_scaffold(problems); });
  if (!failure && problems.empty()) failure = failure_of(RunPart::kHooks, [&] { run.begin_hooks(problems); });
  return failure;
}

}  // namespace belay::runtime
