// SPDX-License-Identifier: Apache-2.0
// Where the inputs of a run's processes are, as checkpoints have it: "train" is rank 0's, "train@1" rank 1's ...
//
// A run may go on with another number of processes than wrote the checkpoint: variables, optimizer and global step are
// then exact, and the inputs begin where those before stopped. That holds to the example where a rank's shard is the
// examples i, i + n, i + 2n ... of an epoch's order, as of all inputs that keep ExampleOrder (belay/example_order.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belay/input.h"

namespace belay::runtime {

class DirectSession;

using InputPositions = std::map<std::string, Position>;

std::string name_of_position(const std::string& input, int rank);

// How many processes have positions of this input there; 0: there are none.
int processes_of(const InputPositions& positions, const std::string& input);

struct RankPositions {
  std::vector<Position> of_rank;
  std::string said;  // for the log, where they are of another number of processes; empty: they are as they were
};
// Those of `ranks` processes. An input that needs more than epoch and index (Position::bytes) begins anew.
RankPositions positions_on(const InputPositions& positions, const std::string& input, int ranks);

// `positions` with these in the place of those that it had of this input.
InputPositions with_positions(InputPositions positions, const std::string& input, const std::vector<Position>& of_rank);

// For a run that is one process, whose session may have been restored from a checkpoint of several: its input goes on
// where theirs stopped. What to say of that; empty: nothing.
std::string go_on_alone(DirectSession& session, const std::string& input);
// FAILED_PRECONDITION where it was: their steps are not made again by one.
void refuse_ranks(DirectSession& session, const std::string& input);

}  // namespace belay::runtime
