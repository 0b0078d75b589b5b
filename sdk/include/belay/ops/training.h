// SPDX-License-Identifier: Apache-2.0
// Updates of a variable by its gradient, which an optimizer adds to the graph, one for each variable. They write
// together at the end of the run, in its commit, and return the variable's new value.
//
//   Output apply(const OptimizerContext& o, const Update& u) override {       of an Optimizer (belay/optimizer.h)
//     return ops::apply_momentum(u.variable, sums_[u.index], o.learning_rate(), u.gradient, momentum_, false, u.name);
//   }
//
// var, its slots, the gradient and the scalars have one dtype, float32 or float64. Slots and gradient have the
// variable's shape, other inputs are scalars; else INVALID_ARGUMENT. var and slots must be variables themselves, not
// values computed from them. No gradient passes. float32 updates of one kind that share their scalars run as one pass
// over all variables.
//
// A scalar may be a variable or a computed value, so a schedule can change learning_rate. The formulas are those of
// TensorFlow's operations of the same names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/indexed_slices.h"

namespace belay {
inline namespace v0 {
namespace ops {

namespace detail_training {

// Makes the node of an update. With indices of rows it is the operation of rows, whose last input they are.
inline NodeBuilder update(const char* op, std::string_view name, const std::vector<Output>& inputs,
                          const Output& indices = {}) {
  NodeBuilder node = inputs[0].graph().node(std::string(indices ? "Sparse" : "") + op, name);
  node.in(inputs);
  if (indices) node.in(indices);
  return node;
}

}  // namespace detail_training

//   var -= learning_rate * grad
//
// It has no slots.
inline Output apply_gradient_descent(const Output& var, const Output& learning_rate, const Output& grad,
                                     std::string_view name = {}) {
  return detail_training::update("ApplyGradientDescent", name, {var, learning_rate, grad}).output();
}

//   accum = momentum * accum + grad
//   var -= learning_rate * accum                                    or, with use_nesterov,
//   var -= learning_rate * grad + learning_rate * momentum * accum
//
// accum begins at 0. The learning rate is outside the accumulator, so a new rate applies at once to all of it (Polyak
// 1964; Nesterov's form as in Sutskever et al. 2013).
inline Output apply_momentum(const Output& var, const Output& accum, const Output& learning_rate, const Output& grad,
                             const Output& momentum, bool use_nesterov = false, std::string_view name = {}) {
  return detail_training::update("ApplyMomentum", name, {var, accum, learning_rate, grad, momentum})
      .attr("use_nesterov", use_nesterov)
      .output();
}

// Kingma and Ba 2015, in the form at the end of its section 2, which adds epsilon to the uncorrected root:
//
//   rate = learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power)
//   m += (1 - beta1) * (grad - m)
//   v += (1 - beta2) * (grad^2 - v)
//   var -= rate * m / (sqrt(v) + epsilon)                           and, with weight_decay (AdamW),
//   var -= learning_rate * weight_decay * var                       of the variable as it was before
//
// AdamW: Loshchilov and Hutter 2019, decay apart from the gradient's moments.
struct AdamConstants {
  // The fraction of the gradients' mean that each step keeps, below 1.
  double beta1 = 0.9;
  // The same for the squares' mean.
  double beta2 = 0.999;
  // Prevents a division by 0. Larger values (1e-3) damp steps of small gradients.
  double epsilon = 1e-8;
  // Weight decay per step, times the learning rate; 0: plain Adam.
  double weight_decay = 0;
};
namespace detail_training {

inline Output adam(const std::vector<Output>& inputs, const Output& indices, const AdamConstants& constants,
                   std::string_view name) {
  return update("ApplyAdam", name, inputs, indices)
      .attr("beta1", constants.beta1)
      .attr("beta2", constants.beta2)
      .attr("epsilon", constants.epsilon)
      .attr("weight_decay", constants.weight_decay)
      .output();
}

}  // namespace detail_training

// m and v begin at 0. The powers are beta1^t and beta2^t at the t-th update, t = 1, 2, .... The caller multiplies them
// after the updates, once for all variables.
inline Output apply_adam(const Output& var, const Output& m, const Output& v, const Output& beta1_power,
                         const Output& beta2_power, const Output& learning_rate, const Output& grad,
                         const AdamConstants& constants = {}, std::string_view name = {}) {
  return detail_training::adam({var, m, v, beta1_power, beta2_power, learning_rate, grad}, Output(), constants, name);
}

//   accum += grad^2
//   var -= learning_rate * grad / sqrt(accum)
//
// accum begins above 0 (TensorFlow: at 0.1); with 0 the first gradient of 0 would divide by 0. Duchi et al. 2011.
inline Output apply_adagrad(const Output& var, const Output& accum, const Output& learning_rate, const Output& grad,
                            std::string_view name = {}) {
  return detail_training::update("ApplyAdagrad", name, {var, accum, learning_rate, grad}).output();
}

// Tieleman and Hinton 2012:
//
//   ms = decay * ms + (1 - decay) * grad^2
//   mom = momentum * mom + learning_rate * grad / sqrt(ms + epsilon)
//   var -= mom
struct RmsPropConstants {
  // The fraction of the squares' mean that each step keeps.
  double decay = 0.9;
  // The fraction of the previous step that is added; 0: none.
  double momentum = 0;
  // Added under the root.
  double epsilon = 1e-10;
};
// ms begins at 1, mom at 0, as in TensorFlow. epsilon is under the root, unlike Adam's.
inline Output apply_rms_prop(const Output& var, const Output& ms, const Output& mom, const Output& learning_rate,
                             const Output& grad, const RmsPropConstants& constants = {}, std::string_view name = {}) {
  return detail_training::update("ApplyRmsProp", name, {var, ms, mom, learning_rate, grad})
      .attr("decay", constants.decay)
      .attr("momentum", constants.momentum)
      .attr("epsilon", constants.epsilon)
      .output();
}
// The same, divided by the deviation: mg = decay * mg + (1 - decay) * grad, and ms - mg^2 replaces ms. mg begins at 0
// (Graves 2013).
inline Output apply_centered_rms_prop(const Output& var, const Output& mg, const Output& ms, const Output& mom,
                                      const Output& learning_rate, const Output& grad,
                                      const RmsPropConstants& constants = {}, std::string_view name = {}) {
  return detail_training::update("ApplyCenteredRmsProp", name, {var, mg, ms, mom, learning_rate, grad})
      .attr("decay", constants.decay)
      .attr("momentum", constants.momentum)
      .attr("epsilon", constants.epsilon)
      .output();
}

// Follow the (proximally) regularized leader (McMahan et al. 2013), with p = -learning_rate_power:
//
//   sum = accum + grad^2
//   linear += grad - (sum^p - accum^p) / learning_rate * var
//   var = (sign(linear) * l1 - linear) / (sum^p / learning_rate + 2 * l2) where |linear| > l1, else 0
//   accum = sum
struct FtrlConstants {
  // Strength of the pull to exactly 0.
  double l1 = 0;
  // Strength of the pull on large variables; TensorFlow's l2_regularization_strength.
  double l2 = 0;
  // -0.5: rates fall with the root of the sum of squares, like Adagrad's. 0: they stay constant.
  double learning_rate_power = -0.5;
};
namespace detail_training {

inline Output ftrl(const std::vector<Output>& inputs, const Output& indices, const FtrlConstants& constants,
                   std::string_view name) {
  return update("ApplyFtrl", name, inputs, indices)
      .attr("l1", constants.l1)
      .attr("l2", constants.l2)
      .attr("learning_rate_power", constants.learning_rate_power)
      .output();
}

}  // namespace detail_training

// accum begins above 0 (TensorFlow: at 0.1), linear at 0, both of the variable's shape. With l1 above 0 variables
// become exactly 0, as for sparse linear models.
inline Output apply_ftrl(const Output& var, const Output& accum, const Output& linear, const Output& learning_rate,
                         const Output& grad, const FtrlConstants& constants = {}, std::string_view name = {}) {
  return detail_training::ftrl({var, accum, linear, learning_rate, grad}, Output(), constants, name);
}

// The same updates for rows of a variable and its slots: those at the indices of a sparse gradient, as
// sum_indexed_slices makes it. Other indices (repeated, not ascending) end the run with INVALID_ARGUMENT before any
// write. A row gets the bits that the dense update would give it. The other rows of variable and slots stay as they
// are. For gradient descent and Adagrad the dense update leaves them as well. It differs for the others: momentum's
// accum and Adam's moments would decay and still move them (this Adam is called lazy), and FTRL would make each row 0
// that it has not seen.
inline Output sparse_apply_gradient_descent(const Output& var, const Output& learning_rate, const IndexedSlices& grad,
                                            std::string_view name = {}) {
  return detail_training::update("ApplyGradientDescent", name, {var, learning_rate, grad.rows}, grad.indices).output();
}
inline Output sparse_apply_momentum(const Output& var, const Output& accum, const Output& learning_rate,
                                    const IndexedSlices& grad, const Output& momentum, bool use_nesterov = false,
                                    std::string_view name = {}) {
  return detail_training::update("ApplyMomentum", name, {var, accum, learning_rate, grad.rows, momentum}, grad.indices)
      .attr("use_nesterov", use_nesterov)
      .output();
}
inline Output sparse_apply_adam(const Output& var, const Output& m, const Output& v, const Output& beta1_power,
                                const Output& beta2_power, const Output& learning_rate, const IndexedSlices& grad,
                                const AdamConstants& constants = {}, std::string_view name = {}) {
  return detail_training::adam({var, m, v, beta1_power, beta2_power, learning_rate, grad.rows}, grad.indices, constants,
                               name);
}
inline Output sparse_apply_adagrad(const Output& var, const Output& accum, const Output& learning_rate,
                                   const IndexedSlices& grad, std::string_view name = {}) {
  return detail_training::update("ApplyAdagrad", name, {var, accum, learning_rate, grad.rows}, grad.indices).output();
}
inline Output sparse_apply_ftrl(const Output& var, const Output& accum, const Output& linear,
                                const Output& learning_rate, const IndexedSlices& grad,
                                const FtrlConstants& constants = {}, std::string_view name = {}) {
  return detail_training::ftrl({var, accum, linear, learning_rate, grad.rows}, grad.indices, constants, name);
}

// The mean of `value` over the batches of one step. All nodes that it depends on run `batches` times in a run. Each
// pass takes the next batch from the queues and reuses the memory. The nodes that depend on the mean run once after
// that. The run stays atomic: it commits once or not at all; without a commit it has taken no batch. `value` is float32
// or float64 and has one shape for all batches. The nodes that it depends on must not write variables. `batches` is at
// least 2, and equal for all means of a run. Random numbers differ from batch to batch. A gradient passes.
//
// [optimizer] accumulate = N adds this node after each gradient. A missing batch at the end of a queue ends the step
// with OUT_OF_RANGE, like any other step. Other fetched values are those of the step's last batch.
inline Output mean_over_batches(const Output& value, std::int64_t batches, std::string_view name = {}) {
  return value.graph().node("MeanOverBatches", name).in(value).attr("batches", batches).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
