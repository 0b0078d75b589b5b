// SPDX-License-Identifier: Apache-2.0
// RankInputs knows how far the ranks of a run are in the training's input. Each rank reads a shard of it.
//
//   RankInputs inputs("train", 2);
//   inputs.share(meeting, session, 0);           // a new session: all take the positions that rank 0 knows
//   inputs.fetched(element.position);            // this rank's next batch has come,
//   inputs.took(element.position);               // and a step takes it
//
// The chief knows the positions of all ranks, and its checkpoints have them (rank_positions.h). If a rank may be lost,
// each rank knows them. [session thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cluster/rank_meeting.h"
#include "runtime/cluster/rank_positions.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class RankInputs {
 public:
  RankInputs(std::string input, int ranks);

  // All take the positions that rank `from` knows. It divides those of another number of processes. Returns the chief's
  // message about that, or an empty string.
  std::string share(const RankMeeting& meeting, DirectSession& session, int from);
  // The epoch of this rank's next batch.
  std::int64_t epoch() const noexcept { return epoch_; }
  void fetched(const Position& after) noexcept;
  void took(const Position& after) noexcept { epoch_ = after.epoch; }
  // The position of this rank has this name in the store of another one.
  const std::string& name_on_others(int rank) const { return names_[static_cast<std::size_t>(rank)]; }

 private:
  InputPositions by_rank(const RankMeeting& meeting, DirectSession& session) const;
  void keep(const RankMeeting& meeting, DirectSession& session, const std::vector<Position>& of_rank) const;

  const std::string input_;
  std::vector<std::string> names_;
  std::int64_t epoch_ = 0;
  bool epoch_known_ = true;  // false: only the next batch shows it
};

}  // namespace belay::runtime
