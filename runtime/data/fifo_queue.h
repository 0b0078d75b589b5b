// SPDX-License-Identifier: Apache-2.0
// A queue with the order first in, first out.
#pragma once

#include "runtime/data/bounded_queue.h"

namespace belay::runtime {

class FifoQueue final : public BoundedQueue {
 public:
  using BoundedQueue::BoundedQueue;

 protected:
  std::int64_t choose(std::int64_t) override { return 0; }
};

}  // namespace belay::runtime
