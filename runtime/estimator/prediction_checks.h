// SPDX-License-Identifier: Apache-2.0
// Mistakes of [predict] and [input.predict]. In a run that trains they would otherwise show after the training. [main]
#pragma once

#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

struct PreparedRun;

// That predictions for the input come to an end.
void check_predictions_end(const PreparedRun& run, Diagnostics& problems);
// That the model has the predictions that predict.keys names. After the model is built.
void check_predict_keys(const PreparedRun& run, Diagnostics& problems);
// For a run that trains: that its model can predict for [input.predict]. A file of that may be made later, so a missing
// one is a warning. After the model is built.
void check_predict_input(PreparedRun& run, Diagnostics& problems);

}  // namespace belay::runtime
