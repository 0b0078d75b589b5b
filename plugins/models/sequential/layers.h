// SPDX-License-Identifier: Apache-2.0
// The layers that a manifest can stack.
#pragma once

#include <belay/model.h>

#include <functional>
#include <string>

#include "layer_settings.h"

namespace sequential_model {

struct LayerInput {
  belay::Output x;
  bool training;
  std::int64_t ids;  // number of ids of the model's feature; 0: the input does not declare it
};

struct Layer {
  std::string place;       // for messages
  bool takes_ids = false;  // true: x has integers
  std::function<belay::Output(const LayerInput&)> apply;
};

// Reads all settings of the layer. `name` is a prefix of its nodes and variables. INVALID_ARGUMENT names the layer and
// the key, also for unknown keys.
Layer make_layer(LayerSettings settings, const std::string& name);

// Checks that the tables of `defaults`, one for each type of layer, name existing types. INVALID_ARGUMENT names the
// nearest.
void check_types(const belay::Table& defaults);

}  // namespace sequential_model
