// Kernels of fused groups (runtime/session/fusion.h): KernelSpec.members are the group's nodes in order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/ops/kernel.h"

namespace belay::runtime {

// Members: MatMul, then BiasAdd, an activation, or both. Inputs: a, b and the bias, if there is one. float32.
std::unique_ptr<Kernel> make_fused_dense(const KernelSpec& spec);

// Whether an operation can stand at the end of that group.
bool fuses_as_activation(std::string_view op);

// The updates ApplyGradientDescent, ApplyMomentum and ApplyAdam need no kernel of their own: theirs takes the inputs of
// several nodes that share these inputs (scalars) and their attributes, one node after the other, each of another
// variable. Empty for other operations.
std::span<const std::size_t> shared_update_inputs(std::string_view op);

}  // namespace belay::runtime
