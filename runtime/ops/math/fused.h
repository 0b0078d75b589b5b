// SPDX-License-Identifier: Apache-2.0
// Kernels of fused groups (runtime/session/fusion.h): KernelSpec.members are the group's nodes in order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// OpDef.fused_kernel of MatMul. Members: MatMul, then BiasAdd, an activation, or both. Inputs: a, b and the bias, if
// there is one. float32.
std::unique_ptr<Kernel> make_fused_dense(const KernelSpec& spec);

// An activation that can be at the end of a fused group, applied to n elements.
struct FusedActivation {
  std::string_view op;
  void (*apply)(float* y, std::int64_t n);
  std::int64_t grain;  // fewest elements worth a thread
  void apply_to_all(float* y, std::int64_t n, int threads) const;
};
// Null where the operation is none.
const FusedActivation* fused_activation(std::string_view op);

// Members: MaxPoolGrad, then ReluGrad. Inputs: the incoming gradient of the pooling, the places of the largest, and
// the pooling's result. float32.
std::unique_ptr<Kernel> make_relu_max_pool_gradient(const KernelSpec& spec);

// The gradient of a bias with relu and max pooling behind it. Inputs: the incoming gradient of the pooling, and the
// pooling's result. Where that is positive the gradient reaches the bias. float32.
std::unique_ptr<Kernel> make_pooled_bias_gradient(const KernelSpec& spec);

// The updates ApplyGradientDescent, ApplyMomentum and ApplyAdam need no kernel of their own: theirs takes the inputs of
// several nodes that share these inputs (scalars) and their attributes, one node after the other, each of another
// variable. Empty for other operations.
std::span<const std::size_t> shared_update_inputs(std::string_view op);

}  // namespace belay::runtime
