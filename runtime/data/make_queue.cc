// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/make_queue.h"

#include "runtime/data/fifo_queue.h"
#include "runtime/data/random_shuffle_queue.h"

namespace belay::runtime {

std::unique_ptr<Queue> make_queue(const Node& node) {
  BoundedQueue::Options options;
  options.name = node.name;
  options.type = node.op->name;
  options.capacity = node.attrs.integer("capacity");
  for (const std::int64_t dtype : node.attrs.integers("dtypes")) options.dtypes.push_back(static_cast<DType>(dtype));
  options.shapes = shapes_of_components(node.attrs.integers("shapes")).value();  // checked when the node was made
  if (node.op->name == "RandomShuffleQueue") {
    options.min_after_dequeue = node.attrs.integer("min_after_dequeue");
    return std::make_unique<RandomShuffleQueue>(options, static_cast<std::uint64_t>(node.attrs.integer("seed")));
  }
  options.pads = node.op->name == "PaddingFIFOQueue";
  return std::make_unique<FifoQueue>(options);
}

}  // namespace belay::runtime
