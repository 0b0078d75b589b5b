// SPDX-License-Identifier: Apache-2.0
// Delivers its elements in random order. While it is open, at least min_after_dequeue stay in it, so there is a choice.
// A closed one is emptied. The choices depend only on the seed and the name. But the threads that fill it decide which
// elements exist, and a checkpoint does not keep them. So a run with such a queue resumes only approximately.
#pragma once

#include <cstdint>

#include "belay/philox.h"
#include "runtime/data/bounded_queue.h"

namespace belay::runtime {

class RandomShuffleQueue final : public BoundedQueue {
 public:
  RandomShuffleQueue(const Options& options, std::uint64_t seed)
      : BoundedQueue(options), random_(mix_key(seed, stream_id(options.name)), 0) {}

 protected:
  std::int64_t choose(std::int64_t size) override {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(size)));
  }

 private:
  PhiloxSequence random_;
};

}  // namespace belay::runtime
