// SPDX-License-Identifier: Apache-2.0
// The results of an evaluation, for programs: fields of the log, and a line of the run directory's metrics.jsonl. The
// hook json_lines writes that file (docs/reference/metrics.md). The host adds these lines itself, since the last
// evaluation comes when no hook exists any more.
#pragma once

#include <string>

#include "belay/log_fields.h"
#include "runtime/estimator/evaluation/evaluation.h"

namespace belay::runtime {

// Returns "eval/loss", "eval/accuracy", ... and "event", "step", "examples".
LogFields evaluation_fields(const std::string& input, const EvalResult& result);

// Does nothing if the run has no such file. An unwritable file, or a moved directory, is a warning, once for each run.
void append_metrics_line(RunHost& run, const std::string& input, const EvalResult& result);

}  // namespace belay::runtime
