// SPDX-License-Identifier: Apache-2.0
// A run's knowledge of its model's training data (data/schema.h). It comes from the place from which the run
// continues, or else from the training's input. It is kept with the run's files.
//
//   ModelSchema schema;
//   schema.read(place, choice);                                  // a checkpoint's, an export's, or a run directory's
//   input.schema = schema.options(InputUse::kEvaluation, found); // before the input is opened
//   schema.learn(training.feed->schema());                       // after the training's input was opened
//   ... schema.text() goes into checkpoints, exports and the run directory ...
//
// [main]
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/data/schema.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/loader/library/resolve.h"

namespace belay::runtime {

// Whether an init function's use takes something of the other model's schema with its values.
bool takes_schema(const PluginUse& init_fn);

class ModelSchema {
 public:
  // Reads that of the chosen checkpoint, else that of the run directory (checkpoint_choice.h). A warning names a
  // checkpoint without one. DATA_LOSS.
  void read(const CheckpointPlace& place, const CheckpointChoice& choice);
  // For an evaluation that waits for checkpoints. Returns whether this one has another schema than the previous one,
  // and takes it then. A checkpoint that is gone, or has no schema, changes nothing.
  bool read_other(const CheckpointPlace& place, const std::string& checkpoint);
  // For a training that continues in the run directory. Reads the schema of its newest checkpoint; nothing if there is
  // none.
  void read_earlier(const CheckpointPlace& place);
  // For a training that begins with values of another model's checkpoint. `use` of the init function warm_start names
  // it. The option `schema` decides: all that the other training learned, or only the features, or nothing. `from`: the
  // checkpoint's path. `use` outlives this. DATA_LOSS.
  void read_start(const CheckpointPlace& place, const PluginUse& use, const std::string& from);
  void learn(Schema training) { learned_ = std::make_shared<const Schema>(std::move(training)); }

  // Null: nothing is known.
  const std::shared_ptr<const Schema>& learned() const noexcept { return learned_; }
  // Whether read() found a checkpoint or a schema. A checkpoint without a schema counts too.
  bool was_read() const noexcept { return was_read_; }
  // The init function whose checkpoint it is of; null: none.
  const PluginUse* start() const noexcept { return start_; }
  SchemaOptions options(InputUse use, const ResolvedPlugin& input) const;
  // `of_start`: the training of this run inherits them, too.
  std::optional<TrainedOptions> trained_options(bool of_start = false) const;
  // As JSON; empty: nothing is known.
  std::string text() const;
  // The labels of a model in a prediction.
  std::vector<DeclaredLabel> labels() const;
  // The class names of the only label; empty: they are not known.
  std::vector<std::string> class_names() const;

 private:
  std::shared_ptr<const Schema> learned_;
  bool was_read_ = false;
  const PluginUse* start_ = nullptr;
};

}  // namespace belay::runtime
