// SPDX-License-Identifier: Apache-2.0
// Undefined metrics of an evaluation: the value is not finite, though the loss is. The reason is the data of the
// evaluation, and not a diverged training. All metrics are undefined if all examples have weight 0.
#pragma once

#include <string>
#include <vector>

#include "runtime/estimator/evaluation/evaluation.h"

namespace belay::runtime {

std::vector<std::string> undefined_metrics(const EvalResult& result);

// Returns a warning with the metrics, the reason and the fix. If the model has a confusion_matrix, the reason is the
// classes without an example. Empty: all metrics are defined. `place`: "[input.eval]".
std::string undefined_metrics_text(const EvalResult& result, const std::string& place);

}  // namespace belay::runtime
