// SPDX-License-Identifier: Apache-2.0
// The parts of the stage build_scaffold (prepare.h). A mistake of the manifest is in `problems`. [main]
#pragma once

#include "runtime/estimator/run/prepared_run.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// Returns false, with a problem, if the input does not fit the manifest's names. Other errors are thrown.
bool open_input(PreparedRun& run, RunInput& input, Diagnostics& problems);
// Reads the first batch of an open input. Returns false, with a problem, if the data are damaged or there are none.
bool read_first_batch(PreparedRun& run, RunInput& input, Diagnostics& problems);

// Checks that predictions for [input.predict] come to an end.
void check_predictions_end(const PreparedRun& run, Diagnostics& problems);
// Checks that the model has the predictions of predict.keys. Call it after the model is built.
void check_predict_keys(const PreparedRun& run, Diagnostics& problems);
// Checks that the model of a training can predict for [input.predict]. A mistake would otherwise show after the
// training. A file of that input may be made later, so a missing one is a warning. Call it after the model is built.
void check_predict_input(PreparedRun& run, Diagnostics& problems);

}  // namespace belay::runtime
