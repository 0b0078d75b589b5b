// SPDX-License-Identifier: Apache-2.0
// The states of hooks that each rank has: in the chief's checkpoints, and out of them.
//
// Each of the others keeps what its hooks have behind each step. Where the chief saves it says so instead of what it
// has for the next step (Note::kSaves), and they send it; where all end together they send it once more.
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/rank_wait.h"
#include "runtime/cluster/run_ranks.h"

namespace belay::runtime {

void RunRanks::share_states(HookSet& hooks) {
  hooks_ = &hooks;
  if (chief()) hooks.add_states_by([this](HookStates& states) { add_states(states); });
}

void RunRanks::note_states() {
  in_a_row_ = 0;
  if (hooks_ != nullptr && !chief()) own_states_ = packed(hooks_->save_states());
}

void RunRanks::gather_states() {
  if (hooks_ == nullptr) return;
  states_ = group().gather_texts(own_states_);
  states_of_ = seats();
}

std::vector<int> RunRanks::seats() const {
  std::vector<int> seats;
  for (const RankMembers::Member& m : members_.members) seats.push_back(m.seat);
  return seats;
}

// Behind an error the others may not be where they would answer: those of the last time are kept then.
void RunRanks::add_states(HookStates& states) {
  if (session_ != nullptr && !ended_ && !in_step_ && !lost_ && size_ > 1) ask_for_states();
  for (std::size_t r = 1; r < states_.size(); ++r)
    if (!states_[r].empty()) add_states_of_rank(states, r, states_[r]);
}

// What a rank that begins with a checkpoint's variables begins with.
void RunRanks::share_states_of(CreatedSession& created, bool trained) {
  if (hooks_ == nullptr) return;
  if (chief() && created.restored && !trained) {
    states_ = take_states_of_ranks(created.restored->state.hook_states, static_cast<std::size_t>(size_));
    states_of_ = seats();
  }
  if (seats() != states_of_) states_.clear();  // ranks are counted anew: they are of others
  if (chief()) states_.resize(static_cast<std::size_t>(size_));
  for (int r = 1; r < size_; ++r) {
    const std::string text = group().broadcast(chief() ? states_[static_cast<std::size_t>(r)] : "", 0);
    if (r == rank_ && !trained && !text.empty()) created.hook_states = unpacked(text);
  }
}

}  // namespace belay::runtime
