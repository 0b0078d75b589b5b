// SPDX-License-Identifier: Apache-2.0
// One kernel for element-wise nodes of one shape that feed each other (runtime/session/elementwise_groups.h). Each
// member's kernel runs on a tile that stays in the cache. So every element has the same bits as without fusion.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// KernelSpec.members has the nodes in order; the last one has the only output. `operands` lists the inputs of all
// members in order. A value k < spec.inputs.size() is input k of the group; spec.inputs.size() + i is the output of
// member i. If the shapes repeat more than scalars and rows, the members run one by one over the whole.
std::unique_ptr<Kernel> make_elementwise_chain(const KernelSpec& spec, const std::vector<std::uint32_t>& operands);

}  // namespace belay::runtime
