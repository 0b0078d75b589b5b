// SPDX-License-Identifier: Apache-2.0
// `belay check MANIFEST.toml...` finds every mistake that `run` would find before its first write.
#include <iostream>

#include "runtime/api/log.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/run/plan_text.h"
#include "runtime/cli/run/run_blocks.h"
#include "runtime/cli/watch/watched_run.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

int check_command(const ManifestArguments& arguments) {
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  WatchedRun prepared(make_platform(*log), control, arguments);
  if (const int status = prepared.find(); status != kExitDone) return status;
  tell_last_attempt(*prepared.run);
  const int status = prepared.prepare(Preparation::kCompare);
  if (status == kExitDone)
    std::cout << escaped(joined(arguments.manifests, ", ")) << ": ok\n" << plan_text(*prepared.run) << std::flush;
  return status;
}

}  // namespace

Command declare_check() {
  return {.name = "check",
          .arguments = "MANIFEST.toml...",
          .what = "finds all errors in a manifest, without running it",
          .options = manifest_options(),
          .run = [](const Given& given) { return check_command(manifest_arguments(given)); }};
}

}  // namespace belay::runtime
