// SPDX-License-Identifier: Apache-2.0
// `belay run` is a whole training run: it starts at the manifest, and its last line has the reason of its end. `belay
// evaluate`, `predict` and `export` are runs of other modes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/estimator/run/prepared_run_options.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct RunArguments : ManifestArguments {
  std::string exported = {};  // the folder of the export whose manifest it is; empty: none
  bool dry_run = false;
  PreparedRunOptions run = {};
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  Colour colour = Colour::kAuto;
  double max_seconds = 0;                 // 0: no limit
  int requeue_status = 0;                 // if max_seconds ended it
  std::optional<std::string> trace = {};  // the file for steps, hooks and operations; empty: the run's trace.json
  bool allow_full_disk = false;           // trains even if no checkpoint would fit
  std::int64_t short_steps = 0;           // 0: the whole run
  bool is_short = false;                  // so no later run continues in its directory
};

RunArguments run_arguments(const Given& given);
// Returns the arguments of `belay evaluate`, `predict` and `export`. Their options are short forms of settings.
RunArguments mode_arguments(const Given& given);

// Returns the command's own options, then those of the log.
CommandOptions with_log_options(CommandOptions own);
void read_log_options(const Given& given, RunArguments& out);

int run_command(const RunArguments& arguments);

}  // namespace belay::runtime
