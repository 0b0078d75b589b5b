// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_positions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "runtime/session/direct_session.h"

namespace belay::runtime {
namespace {

constexpr const char* kRankMark = "@";  // train@1: no name of an input has it

bool is_of(const std::string& name, const std::string& input) {
  return name == input || name.rfind(input + kRankMark, 0) == 0;
}

std::string processes_text(int n) { return std::to_string(n) + (n == 1 ? " process" : " processes"); }

// The first `before` examples of an epoch's order were read. Returns how many of these are in the shard.
std::int64_t read_of_shard(std::int64_t before, int shard, int shards) {
  return before > shard ? (before - shard - 1) / shards + 1 : 0;
}

}  // namespace

std::string name_of_position(const std::string& input, int rank) {
  return rank == 0 ? input : input + kRankMark + std::to_string(rank);
}

int processes_of(const InputPositions& positions, const std::string& input) {
  return static_cast<int>(
      std::count_if(positions.begin(), positions.end(), [&](const auto& p) { return is_of(p.first, input); }));
}

RankPositions positions_on(const InputPositions& positions, const std::string& input, int ranks) {
  RankPositions found;
  found.of_rank.resize(static_cast<std::size_t>(ranks));
  const int before = processes_of(positions, input);
  if (before == 0) return found;
  if (before == ranks) {
    for (int r = 0; r < ranks; ++r)
      if (const auto p = positions.find(name_of_position(input, r)); p != positions.end())
        found.of_rank[static_cast<std::size_t>(r)] = p->second;
    return found;
  }
  found.said = "the checkpoint is of " + processes_text(before) + ", and " + processes_text(ranks) +
               (ranks == 1 ? " continues" : " continue") +
               ": variables, optimizer and global step are exact; the input ";
  // The slowest rank decides how far all are. A rank that has read its part of the epoch is already in the next one.
  std::int64_t epoch = INT64_MAX, index = INT64_MAX;
  bool by_numbers = true;
  for (const auto& [name, p] : positions) {
    if (!is_of(name, input)) continue;
    by_numbers = by_numbers && p.bytes.empty();
    if (p.epoch < epoch) epoch = p.epoch, index = INT64_MAX;
    if (p.epoch == epoch) index = std::min(index, p.index);
  }
  if (!by_numbers) {
    found.said += "begins anew, since its positions cannot be divided among other processes";
    return found;
  }
  for (int r = 0; r < ranks; ++r)
    found.of_rank[static_cast<std::size_t>(r)] = {epoch, read_of_shard(index * before, r, ranks), {}};
  found.said += fmt::format("continues after the first {} examples of epoch {}", index * before, epoch);
  return found;
}

InputPositions with_positions(InputPositions positions, const std::string& input,
                              const std::vector<Position>& of_rank) {
  std::erase_if(positions, [&](const auto& p) { return is_of(p.first, input); });
  for (std::size_t r = 0; r < of_rank.size(); ++r) positions[name_of_position(input, static_cast<int>(r))] = of_rank[r];
  return positions;
}

std::string go_on_alone(DirectSession& session, const std::string& input) {
  const InputPositions all = session.store().positions();
  RankPositions found = positions_on(all, input, 1);
  if (!found.said.empty()) session.store().replace_positions(with_positions(all, input, found.of_rank));
  return found.said;
}

void refuse_ranks(DirectSession& session, const std::string& input) {
  if (const int count = processes_of(session.store().positions(), input); count > 1)
    fail(Code::kFailedPrecondition, fmt::format("[B5111] the checkpoint is of a run of {} processes, each of which "
                                                "read a part of the input; one alone does not make their steps again",
                                                count));
}

}  // namespace belay::runtime
