// SPDX-License-Identifier: Apache-2.0
// An input's position as it crosses. RawPosition is the host's side: it owns the memory that `bytes` points at, and
// serves many calls. give_position and taken_position are the plugin's.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "belay/detail/sized.h"
#include "belay/input.h"

namespace belay {
inline namespace v0 {
namespace detail {

class RawPosition {
 public:
  RawPosition() : room_(BELAY_POSITION_BYTES + kGuard, kUnwritten), raw(sized<belay_position>()) { clear(); }
  explicit RawPosition(const Position& p) : RawPosition() { set(p); }
  RawPosition(const RawPosition&) = delete;
  RawPosition& operator=(const RawPosition&) = delete;

  // Prepares it for next.
  void clear() noexcept {
    raw.epoch = raw.index = 0;
    raw.size = 0;
    raw.bytes = room_.data();
    raw.capacity = capacity();
  }
  // Prepares it for seek.
  void set(const Position& p) {
    if (p.bytes.size() > capacity()) room_.assign(p.bytes.size() + kGuard, kUnwritten);
    clear();
    raw.epoch = p.epoch;
    raw.index = p.index;
    raw.size = p.bytes.size();
    std::copy(p.bytes.begin(), p.bytes.end(), room_.begin());
  }
  // Reads and checks the result of next. It allocates only if `into` has no room for the bytes. A write next to the
  // room is found at once, one further away after at most kGuard / kWindow calls.
  void take(Position& into) const {
    window_ = (window_ + kWindow) % kGuard;
    const std::uint8_t* guard = room_.data() + capacity();
    read(into, unwritten(guard) && unwritten(guard + window_));
  }
  // Does the same with the whole guard: each write up to kGuard bytes past the room is found at once.
  Position taken() const {
    const std::uint8_t* guard = room_.data() + capacity();
    Position p;
    read(p, guard[0] == kUnwritten && std::memcmp(guard, guard + 1, kGuard - 1) == 0);
    return p;
  }

 private:
  static constexpr std::size_t kGuard = 1024;  // bytes after the room, to find a write past it
  static constexpr std::size_t kWindow = 32;   // bytes that a call compares, at two places
  static constexpr std::uint8_t kUnwritten = 0xa5;
  std::size_t capacity() const noexcept { return room_.size() - kGuard; }
  void read(Position& into, bool guard_holds) const {
    check_sized(raw);
    if (!guard_holds)
      fail(Code::kInvalidArgument,
           "it wrote past the " + std::to_string(capacity()) + " bytes that there are for a position");
    if (raw.size > capacity() || raw.bytes != room_.data())
      fail(Code::kInvalidArgument, "the position has " + std::to_string(raw.size) +
                                       " own bytes, but there is room for " + std::to_string(capacity()) +
                                       " in the host's memory");
    into.epoch = raw.epoch;
    into.index = raw.index;
    into.bytes.assign(reinterpret_cast<const char*>(room_.data()), static_cast<std::size_t>(raw.size));
  }
  static bool unwritten(const std::uint8_t* window) noexcept {
    std::uint64_t words[kWindow / 8], all = 0;
    std::memcpy(words, window, kWindow);
    for (const std::uint64_t word : words) all |= word ^ 0xa5a5a5a5a5a5a5a5u;
    return all == 0;
  }

  std::vector<std::uint8_t> room_;
  mutable std::size_t window_ = 0;  // the place in the guard that the last call compared

 public:
  belay_position raw;  // the struct that crosses
};

inline void give_position(const Position& p, belay_position* theirs) {
  belay_position room;
  belay_position ours = read_sized(theirs, room);
  if (p.bytes.size() > ours.capacity)
    fail(Code::kResourceExhausted, "the position has " + std::to_string(p.bytes.size()) + " own bytes, but at most " +
                                       std::to_string(ours.capacity) + " are kept");
  ours.epoch = p.epoch;
  ours.index = p.index;
  ours.size = p.bytes.size();
  if (!p.bytes.empty()) std::memcpy(ours.bytes, p.bytes.data(), p.bytes.size());
  fill_sized(theirs, ours);
}

inline Position taken_position(const belay_position* theirs) {
  belay_position room;
  const belay_position& p = read_sized(theirs, room);
  Position taken{p.epoch, p.index};
  if (p.size != 0) taken.bytes.assign(reinterpret_cast<const char*>(p.bytes), static_cast<std::size_t>(p.size));
  return taken;
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
