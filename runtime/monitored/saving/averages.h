// SPDX-License-Identifier: Apache-2.0
// The averages of the hook weight_averaging, which are variables of the training with their own names. While its
// variable weight_averaging/evaluate is 1, evaluations, predictions and exports use them instead of the averaged
// variables. They come from the training's store or from a checkpoint. While weight_averaging/swapped is 1, after the
// end of a run, they have changed places with these variables.
#pragma once

#include <string>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

// Returns true if averages are used. The caller holds the store's gate.
bool takes_averages(VariableStore& trained);
bool takes_averages(const StoredTensors& stored, const SaverUse& saver);

std::string average_of(const std::string& variable);

// Returns the variable of this name, or with `averages` its average if one exists. Null: neither exists.
Variable* find_evaluated(VariableStore& trained, const std::string& name, bool averages);

// Returns true if they have changed places in the checkpoint but not in the session. The caller holds the store's gate.
bool swapped_since(VariableStore& trained, const StoredTensors& stored, const SaverUse& saver);
// Returns the store's variable whose value such a checkpoint has under that name: an average for its variable, and vice
// versa. Null: it is the name of a flag, whose values differ.
Variable* find_swapped(VariableStore& trained, const std::string& name);

}  // namespace belay::runtime
