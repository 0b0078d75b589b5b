// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_inputs.h"

#include <cstring>
#include <utility>

namespace belay::runtime {
namespace {

// The string has epoch, index, the length of the bytes, and the bytes.
std::string text_of(const Position& p) {
  const std::int64_t numbers[] = {p.epoch, p.index, static_cast<std::int64_t>(p.bytes.size())};
  return std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers)) + p.bytes;
}
Position take_position(const std::string& text, std::size_t& at) {
  std::int64_t numbers[3];
  std::memcpy(numbers, text.data() + at, sizeof(numbers));
  at += sizeof(numbers);
  Position p{numbers[0], numbers[1], text.substr(at, static_cast<std::size_t>(numbers[2]))};
  at += p.bytes.size();
  return p;
}

}  // namespace

RankInputs::RankInputs(std::string input, int ranks) : input_(std::move(input)) {
  for (int r = 0; r < ranks; ++r) names_.push_back(r == 0 ? input_ + "@0" : name_of_position(input_, r));
}

std::string RankInputs::share(const RankMeeting& meeting, DirectSession& session, int from) {
  RankPositions found;
  std::string known;
  std::int64_t divided = 0;  // 1: the positions are of another number of processes
  if (meeting.rank() == from) {
    found = positions_on(by_rank(meeting, session), input_, meeting.size());
    for (const Position& p : found.of_rank) known += text_of(p);
    divided = found.said.empty() ? 0 : 1;
    known.append(reinterpret_cast<const char*>(&divided), sizeof(divided));
  }
  known = meeting.group().broadcast(std::move(known), from);
  std::size_t at = 0;
  std::vector<Position> of_rank;
  for (int r = 0; r < meeting.size(); ++r) of_rank.push_back(take_position(known, at));
  epoch_ = of_rank[static_cast<std::size_t>(meeting.rank())].epoch;
  std::memcpy(&divided, known.data() + at, sizeof(divided));
  epoch_known_ = divided == 0;
  if (!meeting.chief()) found.said.clear();
  // So the first checkpoint, too, has the number of its processes.
  if (meeting.size() > 1 || meeting.regroups() || !found.said.empty()) keep(meeting, session, of_rank);
  return found.said;
}

// A shard begins in the next epoch if its part of this one was already read.
void RankInputs::fetched(const Position& after) noexcept {
  if (!epoch_known_) epoch_ = after.index == 0 ? after.epoch - 1 : after.epoch;
  epoch_known_ = true;
}

// Returns the positions by their names in checkpoints.
InputPositions RankInputs::by_rank(const RankMeeting& meeting, DirectSession& session) const {
  InputPositions all = session.store().positions();
  if (meeting.chief()) return all;
  std::vector<Position> of_rank;
  for (int r = 0; r < meeting.size_before(); ++r)
    of_rank.push_back(all[r == meeting.rank_before() ? input_ : name_on_others(r)]);
  return with_positions({}, input_, of_rank);
}

void RankInputs::keep(const RankMeeting& meeting, DirectSession& session, const std::vector<Position>& of_rank) const {
  if (meeting.chief())
    return session.store().replace_positions(with_positions(session.store().positions(), input_, of_rank));
  InputPositions own;
  for (int r = 0; r < meeting.size(); ++r)
    if (r == meeting.rank() || meeting.regroups())
      own[r == meeting.rank() ? input_ : name_on_others(r)] = of_rank[static_cast<std::size_t>(r)];
  session.store().replace_positions(own);
}

}  // namespace belay::runtime
