// SPDX-License-Identifier: Apache-2.0
// Predictions as one array of numpy's format; see prediction_writer.h.
#pragma once

#include <memory>
#include <string>

#include "runtime/estimator/prediction/prediction_writer.h"

namespace belay::runtime {

// If the output cannot be written over, the rows wait in a file in `temporary_directory`. The file loses its name as
// soon as it is made, so nothing of it stays, however the process ends.
std::unique_ptr<PredictionWriter> make_npy_writer(std::unique_ptr<PredictionOutput> output, FileSystem& files,
                                                  const std::string& temporary_directory);

}  // namespace belay::runtime
