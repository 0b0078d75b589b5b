// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_states.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/read/run_state.h"

namespace belay::runtime {
namespace {

// Returns 0 if the name has no rank.
std::size_t rank_in(const std::string& name) {
  const std::size_t at = name.rfind('@');
  std::size_t rank = 0;
  if (at == name.npos) return 0;
  const char* end = name.data() + name.size();
  return std::from_chars(name.data() + at + 1, end, rank).ptr == end ? rank : 0;
}

}  // namespace

// The string has the length of the JSON, the JSON, and the elements of the tensors.
std::string packed(const HookStates& states) {
  RunState state;
  state.hook_states = states;
  const std::string json = format_run_state(state);
  const auto length = static_cast<std::uint64_t>(json.size());
  std::string text(reinterpret_cast<const char*>(&length), sizeof(length));
  text += json;
  for_each_tensor(std::as_const(state), [&](const std::string&, const std::string&, const StateTensor& t) {
    if (const auto elements = elements_of(t))
      text.append(static_cast<const char*>(elements.get()), static_cast<std::size_t>(byte_size(t)));
  });
  return text;
}

HookStates unpacked(const std::string& text) {
  std::uint64_t length = 0;
  if (text.size() < sizeof(length)) return {};
  std::memcpy(&length, text.data(), sizeof(length));
  std::size_t at = sizeof(length) + static_cast<std::size_t>(length);
  RunState state = parse_run_state(std::string_view(text).substr(sizeof(length), static_cast<std::size_t>(length)));
  for_each_tensor(state, [&](const std::string&, const std::string&, StateTensor& t) {
    const auto bytes = static_cast<std::size_t>(byte_size(t));
    if (text.size() - at < bytes) fail(Code::kDataLoss, "[B5111] the states of a rank's hooks are cut off");
    t = allocated(t.dtype, t.dims);
    if (bytes != 0) std::memcpy(t.memory.get(), text.data() + at, bytes);
    at += bytes;
  });
  return std::move(state.hook_states);
}

std::vector<std::string> take_states_of_ranks(HookStates& states, std::size_t ranks) {
  std::vector<HookStates> of_rank(ranks);
  for (auto it = states.begin(); it != states.end();) {
    const std::size_t rank = rank_in(it->first);
    if (rank == 0 || rank >= ranks) {
      ++it;
      continue;
    }
    of_rank[rank][it->first.substr(0, it->first.rfind('@'))] = it->second;
    it = states.erase(it);
  }
  std::vector<std::string> texts;
  for (const HookStates& of_one : of_rank) texts.push_back(of_one.empty() ? "" : packed(of_one));
  return texts;
}

void add_states_of_rank(HookStates& states, std::size_t rank, const std::string& text) {
  for (auto& [hook, state] : unpacked(text)) states[fmt::format("{}@{}", hook, rank)] = std::move(state);
}

// ---- of a run ----

void RankStates::note() {
  if (hooks_ != nullptr) own_ = packed(hooks_->save_states());
}

void RankStates::gather(const RankMeeting& meeting) {
  if (hooks_ == nullptr) return;
  states_ = meeting.group().gather_texts(own_);
  states_of_ = meeting.seats();
}

void RankStates::add_to(HookStates& saved) const {
  for (std::size_t r = 1; r < states_.size(); ++r)
    if (!states_[r].empty()) add_states_of_rank(saved, r, states_[r]);
}

void RankStates::share(const RankMeeting& meeting, CreatedSession& created, bool trained) {
  if (hooks_ == nullptr) return;
  const auto size = static_cast<std::size_t>(meeting.size());
  const std::vector<int> seats = meeting.seats();
  if (meeting.chief() && created.restored && !trained) {
    states_ = take_states_of_ranks(created.restored->state.hook_states, size);
    states_of_ = seats;
  }
  if (seats != states_of_) states_.clear();  // ranks are counted anew, so the states belong to others
  if (meeting.chief()) states_.resize(size);
  for (std::size_t r = 1; r < size; ++r) {
    const std::string text = meeting.group().broadcast(meeting.chief() ? states_[r] : "", 0);
    if (static_cast<int>(r) == meeting.rank() && !trained && !text.empty()) created.hook_states = unpacked(text);
  }
}

}  // namespace belay::runtime
