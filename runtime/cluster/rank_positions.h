// SPDX-License-Identifier: Apache-2.0
// A checkpoint has the positions of all inputs of a run's processes: "train" is rank 0's, "train@1" is rank 1's ...
//
// A run may continue with another number of processes than wrote the checkpoint. Variables, optimizer and global step
// are then exact, and the inputs begin at the place where the previous ones stopped. That is exact to one example if a
// rank's shard is the examples i, i + n, i + 2n ... of an epoch's order. All inputs that keep ExampleOrder
// (belay/example_order.h) have such shards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belay/input.h"

namespace belay::runtime {

class DirectSession;

using InputPositions = std::map<std::string, Position>;

std::string name_of_position(const std::string& input, int rank);

// Returns how many processes have positions of this input there.
int processes_of(const InputPositions& positions, const std::string& input);

struct RankPositions {
  std::vector<Position> of_rank;
  std::string said;  // for the log: they came from another number of processes; empty: they did not change
};
// Returns the positions for `ranks` processes. If their number changes, an input that needs more than epoch and index
// (Position::bytes) begins anew.
RankPositions positions_on(const InputPositions& positions, const std::string& input, int ranks);

// Returns `positions` with `of_rank` in place of the previous positions of this input.
InputPositions with_positions(InputPositions positions, const std::string& input, const std::vector<Position>& of_rank);

// Call it in a run of one process, which may have restored a checkpoint of several processes. Its input then continues
// after theirs. Returns the message about that, or an empty string.
std::string go_on_alone(DirectSession& session, const std::string& input);
// FAILED_PRECONDITION if the checkpoint is of several processes, because one process cannot repeat their steps.
void refuse_ranks(DirectSession& session, const std::string& input);

}  // namespace belay::runtime
