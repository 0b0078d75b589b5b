// SPDX-License-Identifier: Apache-2.0
// The variables, which are the same on all ranks behind each step.
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/run_ranks.h"
#include "runtime/platform/crc32c.h"

namespace belay::runtime {

// All ranks have the same bits, or end. Nothing writes between two steps.
void RunRanks::compare_variables() {
  std::vector<std::int64_t> mine;
  {
    const std::shared_lock gate(session_->store().gate());
    for (const Variable* v : variables_) mine.push_back(crc32c(v->value.data(), v->value.bytes()));
  }
  if (mine.empty()) return;
  const std::vector<std::int64_t> all = meeting_.group().all_gather(mine);
  for (std::size_t i = 0; i < mine.size(); ++i)
    for (int r = 1; r < meeting_.size(); ++r)
      if (all[static_cast<std::size_t>(r) * mine.size() + i] != all[i])
        fail(Code::kDataLoss, "the variable '" + variables_[i]->name + "' is another one on rank " + std::to_string(r) +
                                  " than on rank 0 behind step " + std::to_string(session_->global_step()) +
                                  ": what wrote it on one of them, a hook for instance, must not");
}

// ---- what hooks write ----

// How often the variables were written since all ranks were alike, and how often of that they were assigned to. A step
// writes the same on all of them; what else does, a hook, is on one.
std::pair<std::int64_t, std::int64_t> RunRanks::writes() const {
  std::uint64_t written = 0, assigned = 0;
  for (const Variable* v : variables_) {
    written += v->version.load(std::memory_order_relaxed);
    assigned += v->assigned.load(std::memory_order_relaxed);
  }
  return {static_cast<std::int64_t>(written - written_), static_cast<std::int64_t>(assigned - assigned_)};
}

void RunRanks::note_alike() {
  written_ = assigned_ = 0;
  writes_.clear();
  for (const Variable* v : variables_) {
    writes_.emplace_back(v->version.load(std::memory_order_relaxed), v->assigned.load(std::memory_order_relaxed));
    written_ += writes_.back().first;
    assigned_ += writes_.back().second;
  }
}

// The chief's values of the variables that were assigned to on a rank, or written on one and not on another. They are
// in place when all of them are there: a rank that is lost meanwhile leaves none with a part.
void RunRanks::take_written() {
  std::vector<std::int64_t> mine;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const auto& [written, assigned] = writes_[i];
    mine.push_back(static_cast<std::int64_t>(variables_[i]->version.load(std::memory_order_relaxed) - written));
    mine.push_back(static_cast<std::int64_t>(variables_[i]->assigned.load(std::memory_order_relaxed) - assigned));
  }
  const std::vector<std::int64_t> all = meeting_.group().all_gather(mine);
  std::vector<std::pair<const Variable*, DenseTensor>> taken;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    bool alike = all[2 * i + 1] == 0;
    for (std::size_t r = 1; r < static_cast<std::size_t>(meeting_.size()); ++r)
      alike = alike && all[r * mine.size() + 2 * i] == all[2 * i] && all[r * mine.size() + 2 * i + 1] == 0;
    if (alike) continue;
    const std::shared_lock gate(session_->store().gate());
    taken.emplace_back(variables_[i], DenseTensor(TensorView(variables_[i]->value.view())));
  }
  for (const auto& [variable, value] : taken) meeting_.group().broadcast(TensorView(value.view()), 0);
  if (!meeting_.chief())
    for (const auto& [variable, value] : taken) session_->store().assign(variable->name, TensorView(value.view()));
  note_alike();
}

}  // namespace belay::runtime
