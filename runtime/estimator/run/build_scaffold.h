// SPDX-License-Identifier: Apache-2.0
// The parts of the stage build_scaffold (prepare.h). A mistake of the manifest is in `problems`. [main]
#pragma once

#include "runtime/estimator/run/prepared_run.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// False, with a problem, if the input does not fit what the manifest names. Other errors are thrown.
bool open_input(PreparedRun& run, RunInput& input, Diagnostics& problems);

// That predictions for [input.predict] come to an end.
void check_predictions_end(const PreparedRun& run, Diagnostics& problems);
// That the model has the predictions that predict.keys names. After the model is built.
void check_predict_keys(const PreparedRun& run, Diagnostics& problems);
// For a run that trains: that its model can predict for [input.predict]. A mistake would otherwise show after the
// training. A file of that input may be made later, so a missing one is a warning. After the model is built.
void check_predict_input(PreparedRun& run, Diagnostics& problems);

}  // namespace belay::runtime
