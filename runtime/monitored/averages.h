// SPDX-License-Identifier: Apache-2.0
// The averages of the hook weight_averaging, which are variables of the training with names of their own. While its
// variable weight_averaging/evaluate is 1, what evaluates, predicts or exports takes them in the place of the variables
// that they are of, from the training's store or from a checkpoint. While weight_averaging/swapped is 1, behind the end
// of a run, they have changed places with these variables.
#pragma once

#include <string>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

// Whether averages are to be taken. The caller holds the store's gate.
bool takes_averages(VariableStore& trained);
bool takes_averages(const StoredTensors& stored, const SaverUse& saver);

std::string average_of(const std::string& variable);

// The variable of that name, or with `averages` its average where it has one; null: there is neither.
Variable* find_evaluated(VariableStore& trained, const std::string& name, bool averages);

// Whether they have changed places in a checkpoint and not in the session. The caller holds the store's gate.
bool swapped_since(VariableStore& trained, const StoredTensors& stored, const SaverUse& saver);
// The store's variable whose value such a checkpoint has under that name: an average for its variable, and the other
// way round. Null: the name is that of a flag, which differs.
Variable* find_swapped(VariableStore& trained, const std::string& name);

}  // namespace belay::runtime
