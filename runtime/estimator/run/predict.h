// SPDX-License-Identifier: Apache-2.0
// Mode predict delivers a model's predictions for the examples of an input, or text that a language model writes. It
// uses the variables of a checkpoint, takes no lock, and writes nothing into the run directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/run_host.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/estimator/prediction/prediction_writer.h"
#include "runtime/estimator/prediction/sample_text.h"
#include "runtime/estimator/resume/checkpoint_choice.h"

namespace belay::runtime {

struct PreparedRun;

// The prediction with the names of "class".
inline constexpr const char* kClassName = "class_name";

struct Predicted {
  UsedCheckpoint checkpoint;
  PredictionTotals totals;
};

// Predicts every batch of the input, in its order, with the checkpoint of run.checkpoint. `progress` is called before
// each batch. CANCELLED if the control stops it; then no file appears.
Predicted predict(PreparedRun& run, PredictionWriter& writer, const std::function<void()>& progress);

// Delivers the characters after predict.prompt, as sample_text does.
UsedCheckpoint sample(PreparedRun& run, const std::function<bool(std::string_view)>& deliver);

}  // namespace belay::runtime
