// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/memory_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace belay::runtime {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kExactLimit = 3000;

std::size_t rounded(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

std::size_t most_alive(const std::vector<Lifetime>& values) {
  // Each event has (step, bytes): positive at the start of a life, negative after its end.
  std::vector<std::pair<std::uint64_t, std::int64_t>> events;
  for (const Lifetime& v : values) {
    const auto size = static_cast<std::int64_t>(rounded(v.bytes));
    events.emplace_back(v.first, size);
    events.emplace_back(std::uint64_t{v.last} + 1, -size);
  }
  std::sort(events.begin(), events.end());  // at the same step, an end comes before a start
  std::int64_t alive = 0, most = 0;
  for (const auto& [step, size] : events) {
    alive += size;
    most = std::max(most, alive);
  }
  return static_cast<std::size_t>(most);
}

// Places values in descending order of `weight`, each at the lowest offset free over its life.
template <class Weight>
void place_by(const std::vector<Lifetime>& values, Weight weight, MemoryLayout& layout) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return weight(values[a]) > weight(values[b]); });
  layout.bytes = 0;
  std::vector<std::uint32_t> placed;  // by offset
  for (const std::uint32_t v : order) {
    const std::size_t size = rounded(values[v].bytes);
    std::size_t offset = 0;
    for (const std::uint32_t p : placed) {
      if (values[p].last < values[v].first || values[v].last < values[p].first) continue;
      if (offset + size <= layout.offsets[p]) break;
      offset = std::max(offset, layout.offsets[p] + rounded(values[p].bytes));
    }
    layout.offsets[v] = offset;
    layout.bytes = std::max(layout.bytes, offset + size);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), v,
                         [&](std::uint32_t a, std::uint32_t b) { return layout.offsets[a] < layout.offsets[b]; }),
        v);
  }
}

// Free blocks by offset; neighbours are merged.
class FreeList {
 public:
  std::size_t take(std::size_t size) {
    auto best = blocks_.end();
    for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
      if (it->second >= size && (best == blocks_.end() || it->second < best->second)) best = it;
    if (best == blocks_.end()) {
      // The end grows; a free last block counts as part of it.
      std::size_t at = end_;
      if (!blocks_.empty() && blocks_.rbegin()->first + blocks_.rbegin()->second == end_) {
        at = blocks_.rbegin()->first;
        blocks_.erase(at);
      }
      end_ = at + size;
      return at;
    }
    const auto [at, free] = *best;
    blocks_.erase(best);
    if (free > size) blocks_[at + size] = free - size;
    return at;
  }
  void give(std::size_t at, std::size_t size) {
    auto [it, fresh] = blocks_.emplace(at, size);
    const auto next = std::next(it);
    if (next != blocks_.end() && at + it->second == next->first) {
      it->second += next->second;
      blocks_.erase(next);
    }
    if (it != blocks_.begin()) {
      const auto before = std::prev(it);
      if (before->first + before->second == at) {
        before->second += it->second;
        blocks_.erase(it);
      }
    }
  }
  std::size_t end() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> blocks_;
  std::size_t end_ = 0;
};

void place_by_time(const std::vector<Lifetime>& values, MemoryLayout& layout) {
  std::vector<std::uint32_t> starts(values.size()), ends(values.size());
  std::iota(starts.begin(), starts.end(), 0u);
  ends = starts;
  std::stable_sort(starts.begin(), starts.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a].first < values[b].first; });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a].last < values[b].last; });
  FreeList free;
  std::size_t dead = 0;
  for (const std::uint32_t v : starts) {
    for (; dead < ends.size() && values[ends[dead]].last < values[v].first; ++dead)
      free.give(layout.offsets[ends[dead]], rounded(values[ends[dead]].bytes));
    layout.offsets[v] = free.take(rounded(values[v].bytes));
  }
  layout.bytes = free.end();
}

}  // namespace

MemoryLayout lay_out(const std::vector<Lifetime>& values) {
  MemoryLayout layout;
  layout.offsets.assign(values.size(), 0);
  layout.bound = most_alive(values);
  if (values.size() > kExactLimit) {
    place_by_time(values, layout);
    return layout;
  }
  // No order is best for all values. The best of three is within some percent of the bound.
  place_by(
      values, [](const Lifetime& v) { return v.bytes; }, layout);
  MemoryLayout other = layout;
  const auto keep_better = [&] {
    if (other.bytes < layout.bytes) layout = other;
  };
  if (layout.bytes > layout.bound) {
    place_by(
        values, [](const Lifetime& v) { return v.bytes * (v.last - v.first + 1); }, other);
    keep_better();
  }
  if (layout.bytes > layout.bound) {
    place_by(
        values, [](const Lifetime& v) { return v.last - v.first; }, other);
    keep_better();
  }
  return layout;
}

}  // namespace belay::runtime
