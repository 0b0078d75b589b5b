// SPDX-License-Identifier: Apache-2.0
// `belay run`: a whole training run, from the manifest to the last line that says why it ended. `belay evaluate`,
// `predict` and `export` are runs of other modes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/estimator/run/prepared_run_options.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct RunArguments : ManifestArguments {
  std::string exported = {};  // the folder of an export that the manifest is of; empty: of none
  bool dry_run = false;
  PreparedRunOptions run = {};
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  Colour colour = Colour::kAuto;
  double max_seconds = 0;                 // 0: no limit
  int requeue_status = 0;                 // if max_seconds ended it
  std::optional<std::string> trace = {};  // steps, hooks and operations go there; empty: into the run's trace.json
  bool allow_full_disk = false;           // trains even if no checkpoint would fit
  std::int64_t short_steps = 0;           // 0: the whole run
  bool is_short = false;                  // so no later run continues in its directory
};

RunArguments run_arguments(const Given& given);
// For `belay evaluate`, `predict` and `export`: the settings that their options are short for.
RunArguments mode_arguments(const Given& given);

// Returns the command's own options, then those of the log.
CommandOptions with_log_options(CommandOptions own);
void read_log_options(const Given& given, RunArguments& out);

int run_command(const RunArguments& arguments);

}  // namespace belay::runtime
