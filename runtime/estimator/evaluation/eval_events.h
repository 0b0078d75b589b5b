// SPDX-License-Identifier: Apache-2.0
// The metrics of an evaluation, as lines of the log and as events.
#pragma once

#include <string>

#include "belay/runtime/estimator.h"
#include "runtime/events/event_writer.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// Writes one event with all metrics but the global step. Numbers become scalars, other numeric tensors become tensors.
// A string holds serialized summaries, which become KEY/0, KEY/1, ...; any other value is a warning. Unless
// `checkpoint` is empty, its path is the string tensor checkpoint_path. Flushes.
void write_eval_metrics(EventWriter& events, Logger& log, const EvalMetrics& metrics, std::int64_t step,
                        const std::string& checkpoint);

}  // namespace belay::runtime
