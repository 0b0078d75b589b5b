// SPDX-License-Identifier: Apache-2.0
// One kernel for element-wise nodes of one shape that feed each other (runtime/session/elementwise_groups.h). Each
// member's own kernel runs on a tile that stays in the cache, so every element has the bits that it has unfused.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// KernelSpec.members are the nodes in order, the last one has the only output. operands: the inputs of all members one
// after the other; k < spec.inputs.size() is input k of the group, else spec.inputs.size() + i is the output of member
// i. Where the actual shapes need more than scalars and rows repeated, the members run one after the other as a whole.
std::unique_ptr<Kernel> make_elementwise_chain(const KernelSpec& spec, const std::vector<std::uint32_t>& operands);

}  // namespace belay::runtime
