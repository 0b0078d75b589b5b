// SPDX-License-Identifier: Apache-2.0
// Kernels of fused groups (runtime/session/fusion.h): KernelSpec.members are the group's nodes in order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// OpDef.fused_kernel of MatMul. Members: MatMul, then BiasAdd, an activation, or both. Inputs: a, b, and the bias if
// there is one. float32.
std::unique_ptr<Kernel> make_fused_dense(const KernelSpec& spec);

// An activation that can end a fused group, applied to n elements.
struct FusedActivation {
  std::string_view op;
  void (*apply)(float* y, std::int64_t n);
  std::int64_t grain;  // least number of elements worth a thread
  void apply_to_all(float* y, std::int64_t n, int threads) const;
};
// Returns null if the operation is no activation.
const FusedActivation* fused_activation(std::string_view op);

// Members: MaxPoolGrad, then ReluGrad. Inputs: the incoming gradient of the pooling, the places of the largest, and the
// pooling's result. float32.
std::unique_ptr<Kernel> make_relu_max_pool_gradient(const KernelSpec& spec);

// Computes the gradient of a bias that relu and max pooling follow. Inputs: the incoming gradient of the pooling, and
// the pooling's result. The gradient reaches the bias if that result is positive. float32.
std::unique_ptr<Kernel> make_pooled_bias_gradient(const KernelSpec& spec);

// The updates ApplyGradientDescent, ApplyMomentum and ApplyAdam need no fused kernel. Their kernel takes the inputs of
// several nodes, one node after the other, each for another variable. The nodes share these inputs (scalars) and their
// attributes. Empty for other operations.
std::span<const std::size_t> shared_update_inputs(std::string_view op);

}  // namespace belay::runtime
