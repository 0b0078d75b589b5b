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
  std::int64_t ids;  // how many ids the model's feature has; 0: the input does not say
};

struct Layer {
  std::string place;       // for messages
  bool takes_ids = false;  // its x is integers
  std::function<belay::Output(const LayerInput&)> apply;
};

// Reads all settings of the layer. `name` is a prefix of its nodes and variables. INVALID_ARGUMENT naming the layer and
// the key, also for keys that the layer does not have.
Layer make_layer(LayerSettings settings, const std::string& name);

// That the tables of `defaults`, one for each type of layer, name types that there are. INVALID_ARGUMENT with the
// nearest.
void check_types(const belay::Table& defaults);

}  // namespace sequential_model
