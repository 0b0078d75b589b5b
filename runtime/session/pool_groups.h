// SPDX-License-Identifier: Apache-2.0
// Groups gradients of a relu that max pooling follows. The pooling's results show the place of the largest, and whether
// the relu passed it. So there are two patterns:
//   MaxPoolGrad -> ReluGrad                    one step
//   MaxPoolGrad -> ReluGrad -> BiasAddGrad     a sum over the gradient of the pooling, which has fewer elements
// Neither reads the relu's result. So it need not be kept, and the convolution before it may swallow it.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "runtime/session/fusion.h"

namespace belay::runtime {

// The reads that a fused group does without, as user and maker.
class DroppedReads {
 public:
  void add(std::uint32_t user, std::uint32_t maker) { reads_.insert(key(user, maker)); }
  bool has(std::uint32_t user, std::uint32_t maker) const { return reads_.count(key(user, maker)) != 0; }

 private:
  static std::uint64_t key(std::uint32_t user, std::uint32_t maker) {
    return (static_cast<std::uint64_t>(user) << 32) | maker;
  }
  std::unordered_set<std::uint64_t> reads_;
};

// `followed` is by id: true if a node runs after it by a control edge.
void find_pool_gradient_groups(const FusionView& view, const std::vector<bool>& followed,
                               std::vector<FusedGroup>& groups, DroppedReads& dropped);

}  // namespace belay::runtime
