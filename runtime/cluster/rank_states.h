// SPDX-License-Identifier: Apache-2.0
// The chief's checkpoints have the states of each rank's hooks (session.hooks_on_all_ranks). Rank 0's have the hook's
// name, as in a run of one process. Rank 2's have the name "hook@2".
//
//   RankStates states;
//   states.use(hooks);                            // without it nothing is shared
//   states.share(meeting, created, trained);      // a new session: each rank gets its part of the chief's checkpoint
//   states.note();                                // then and after each step, on each rank but the chief
//   states.gather(meeting);                       // all ranks, when the chief saves and when they end together
//   states.add_to(saved);                         // the chief
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/cluster/rank_meeting.h"
#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/monitored/saving/session_manager.h"

namespace belay::runtime {

using HookStates = std::map<std::string, HookState>;

// Returns the states as one string, which the ranks send. It has the tensors too, from memory or an open checkpoint.
std::string packed(const HookStates& states);
HookStates unpacked(const std::string& text);

// Moves the states of the ranks from 1 on out of a checkpoint's, packed by rank. Those of ranks that are not below
// `ranks` stay.
std::vector<std::string> take_states_of_ranks(HookStates& states, std::size_t ranks);
void add_states_of_rank(HookStates& states, std::size_t rank, const std::string& text);

// [session thread]
class RankStates {
 public:
  // Each rank has these hooks. Borrowed.
  void use(HookSet& hooks) noexcept { hooks_ = &hooks; }
  void note();
  void gather(const RankMeeting& meeting);
  void add_to(HookStates& saved) const;
  // `trained`: the session has the variables that an earlier one of this process has trained.
  void share(const RankMeeting& meeting, CreatedSession& created, bool trained);

 private:
  HookSet* hooks_ = nullptr;         // null: no hook has a state by rank
  std::string own_;                  // packed; only a worker has it
  std::vector<std::string> states_;  // of the others, by rank; only the chief has them
  std::vector<int> states_of_;       // the seats that these ranks had
};

}  // namespace belay::runtime
