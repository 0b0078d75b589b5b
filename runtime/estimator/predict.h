// SPDX-License-Identifier: Apache-2.0
// Mode predict: a model's predictions for the examples of an input, or text that a language model writes. Uses the
// variables of a checkpoint; takes no lock and writes nothing into the run directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/estimator/checkpoint_choice.h"
#include "runtime/estimator/model_graph.h"
#include "runtime/estimator/prediction_writer.h"
#include "runtime/estimator/run_host.h"
#include "runtime/estimator/sample_text.h"
#include "runtime/estimator/session_host.h"

namespace belay::runtime {

struct PredictionSource {
  RunHost& run;
  const OpRegistry& ops;
  PluginInstance& model;
  std::shared_ptr<InputFeed> input;
  std::vector<DeclaredLabel> declared;  // of an input without labels: those of the training's
  CheckpointPlace place;
  CheckpointChoice choice;
  std::function<void(SessionHost&, const ModelOutputs&)> add_hooks = {};  // those that the model brings
  std::vector<std::string> class_names = {};  // of the label; then predictions of "class" have a "class_name", too
};

// The prediction beside "class" that names it.
inline constexpr const char* kClassName = "class_name";

struct Predicted {
  UsedCheckpoint checkpoint;
  PredictionTotals totals;
};

// Every batch in the input's order. `keep_going` is asked before each batch: false is CANCELLED, and a file does not
// appear.
Predicted predict(const PredictionSource& source, const std::vector<std::string>& keys, PredictionWriter& writer,
                  const std::function<bool()>& keep_going);

// The characters that follow options.prompt, as sample_text delivers them.
UsedCheckpoint sample(const PredictionSource& source, const SampleOptions& options,
                      const std::function<bool(std::string_view)>& deliver);

}  // namespace belay::runtime
