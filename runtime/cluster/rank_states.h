// SPDX-License-Identifier: Apache-2.0
// The states of hooks that each process of a run has (session.hooks_on_all_ranks), as one string that the ranks send,
// and as a checkpoint has them: those of rank 0 by the hook's name, as of a run of one process, those of rank 2 by
// "hook@2".
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/checkpoint/content.h"

namespace belay::runtime {

using HookStates = std::map<std::string, HookState>;

// Tensors too, which are in memory, or of an open checkpoint.
std::string packed(const HookStates& states);
HookStates unpacked(const std::string& text);

// Those of the ranks from 1 on, taken out of a checkpoint's; of ranks that are not below `ranks` they stay.
std::vector<std::string> take_states_of_ranks(HookStates& states, std::size_t ranks);
void add_states_of_rank(HookStates& states, std::size_t rank, const std::string& text);

}  // namespace belay::runtime
