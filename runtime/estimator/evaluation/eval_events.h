// SPDX-License-Identifier: Apache-2.0
// The metrics of an evaluation, as lines of the log and as events.
#pragma once

#include <string>

#include "belay/runtime/estimator.h"
#include "runtime/events/event_writer.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// One event with all of them but the global step: numbers as scalars, other numeric tensors as tensors, a string as the
// serialized summaries that it holds, which become KEY/0, KEY/1, ...; what is none of these is a warning. And, unless
// it is empty, the checkpoint's path as a string tensor, checkpoint_path. Flushes.
void write_eval_metrics(EventWriter& events, Logger& log, const EvalMetrics& metrics, std::int64_t step,
                        const std::string& checkpoint);

}  // namespace belay::runtime
