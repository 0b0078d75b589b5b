// SPDX-License-Identifier: Apache-2.0
// A seeded order of the numbers 0 .. size - 1, which differs in each epoch.
//
//   Permutation order(seed, 60000);
//   order.use_epoch(3);                  // O(size); no work if the epoch is in use
//   for (std::int64_t i = 0; i < order.size(); ++i) visit(order[i]);
//
// The order depends only on seed, size and epoch. Any epoch is made without those before it, on any thread, so an input
// can seek. It is the same on every machine. It takes eight bytes per number, allocated at the first use_epoch only.
// Several threads may read while no use_epoch runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "belay/philox.h"

namespace belay {
inline namespace v0 {

// An order and its table; a copy includes the table. A default-made object has no numbers.
class Permutation {
 public:
  Permutation() = default;
  // Stores seed and size (at least 0); it makes no order yet. Another seed makes another order in every epoch.
  Permutation(std::uint64_t seed, std::int64_t size) : key_(mix_key(seed, stream_id("permutation"))), size_(size) {}

  std::int64_t size() const noexcept { return size_; }

  // Makes the order of an epoch (at least 0): Fisher and Yates's shuffle of 0 .. size - 1, with the epoch as the random
  // stream. No thread may read during the call.
  void use_epoch(std::int64_t epoch) {
    if (epoch == epoch_) return;
    order_.resize(static_cast<std::size_t>(size_));
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::int64_t>(i);
    PhiloxSequence random(key_, static_cast<std::uint64_t>(epoch));
    for (std::size_t left = order_.size(); left > 1; --left)
      std::swap(order_[left - 1], order_[static_cast<std::size_t>(random.below(left))]);
    epoch_ = epoch;
  }

  // Number i of the order, 0 <= i < size. Call use_epoch first.
  std::int64_t operator[](std::int64_t i) const noexcept { return order_[static_cast<std::size_t>(i)]; }

 private:
  std::uint64_t key_ = 0;
  std::int64_t size_ = 0;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

}  // namespace v0
}  // namespace belay
