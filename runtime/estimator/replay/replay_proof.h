// SPDX-License-Identifier: Apache-2.0
// Whether a replay came to the same bits as the run. It compares the variables with a checkpoint of the same step, or
// with a digest.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

struct StateDifference {
  std::uint64_t bits = 0;       // of all variables
  std::uint64_t differing = 0;  // of them
  std::uint64_t variables = 0, differing_variables = 0;
  std::string first = {};  // "mlp/hidden/kernel[17]": the first element that differs, by name and place; empty: none
};

// Compares the session's saved variables, between two runs. The checkpoint is of the same graph: INVALID_ARGUMENT if a
// variable is missing or has another form, DATA_LOSS if it is damaged. If the run's end replaced the weights by
// averages (averages.h), the weights from before are compared. Reads a few tensors at a time. [session]
StateDifference compare_state(DirectSession& session, const CheckpointReader& checkpoint, const SaverUse& saver);

// belay/state_digest.h of the same variables. [session]
std::string digest_of_state(DirectSession& session);

}  // namespace belay::runtime
