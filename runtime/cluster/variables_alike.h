// SPDX-License-Identifier: Apache-2.0
// VariablesAlike keeps the variables of a run the same on all ranks, bit for bit.
//
//   VariablesAlike variables;
//   variables.use(session);
//   variables.take_from(group, 0);        // all take the values of rank 0
//   variables.compare(group);             // or all end
//   variables.note_alike();
//   ... a step ...
//   if (...) variables.take_written(group);   // a hook has written on a rank: writes() differ, or count assignments
//
// The variables of the chief's hooks are left out. All ranks make the same calls, and nothing writes during one.
// [session thread]
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/rank_group.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class VariablesAlike {
 public:
  // Borrowed.
  void use(DirectSession& session) noexcept { session_ = &session; }
  std::int64_t step() const { return session_->global_step(); }
  // The store of the other ranks is dirty until the caller marks it clean. FAILED_PRECONDITION if the models differ.
  void take_from(RankGroup& group, int from);
  // DATA_LOSS if the checksum of a variable differs.
  void compare(RankGroup& group) const;
  void note_alike();
  // Returns how often they were written since note_alike(), and how often assigned. A step writes the same on all
  // ranks, a hook does not.
  std::pair<std::int64_t, std::int64_t> writes() const;
  // All ranks take the chief's value of each variable that a rank assigned, or that only some ranks wrote.
  void take_written(RankGroup& group);

 private:
  void list(RankGroup& group);

  DirectSession* session_ = nullptr;
  std::vector<const Variable*> variables_;                       // in one order on all ranks
  std::vector<std::pair<std::uint64_t, std::uint64_t>> writes_;  // the counts of each when all ranks were alike
  std::uint64_t written_ = 0, assigned_ = 0;                     // their sums
};

}  // namespace belay::runtime
