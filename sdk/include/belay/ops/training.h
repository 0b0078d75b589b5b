// SPDX-License-Identifier: Apache-2.0
// Updates of a variable by its gradient: what an optimizer adds to the graph, one for each variable. They write in the
// run's commit, all together at its end, and return the variable as it is then.
//
//   Output apply(const OptimizerContext& o, const Update& u) override {       of an Optimizer (belay/optimizer.h)
//     return ops::apply_momentum(u.variable, sums_[u.index], o.learning_rate(), u.gradient, momentum_, false, u.name);
//   }
//
// var, its slots, the gradient and the scalars have one dtype, float32 or float64; slots and gradient have the
// variable's shape, other inputs are scalars; else INVALID_ARGUMENT. var and slots are variables themselves, not what
// was computed from them. No gradient passes. float32 updates of one kind that share their scalars run as one pass over
// all variables.
//
// A scalar may be a variable or a computed value: a schedule changes learning_rate, nothing is compiled in. The
// formulas are those of TensorFlow's operations of the same names.
#pragma once

#include <cstdint>
#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

//   var -= learning_rate * grad
//
// No slots.
inline Output apply_gradient_descent(const Output& var, const Output& learning_rate, const Output& grad,
                                     std::string_view name = {}) {
  return var.graph().node("ApplyGradientDescent", name).in(var).in(learning_rate).in(grad).output();
}

//   accum = momentum * accum + grad
//   var -= learning_rate * accum                                    or, with use_nesterov,
//   var -= learning_rate * grad + learning_rate * momentum * accum
//
// accum begins at 0. The learning rate is outside the accumulator: changing it changes at once what all of it moves
// (Polyak 1964; Nesterov's form as in Sutskever et al. 2013).
inline Output apply_momentum(const Output& var, const Output& accum, const Output& learning_rate, const Output& grad,
                             const Output& momentum, bool use_nesterov = false, std::string_view name = {}) {
  return var.graph()
      .node("ApplyMomentum", name)
      .in(var)
      .in(accum)
      .in(learning_rate)
      .in(grad)
      .in(momentum)
      .attr("use_nesterov", use_nesterov)
      .output();
}

// Kingma and Ba 2015, in the form of the end of its section 2, in which epsilon is added to the root that is not
// corrected:
//
//   rate = learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power)
//   m += (1 - beta1) * (grad - m)
//   v += (1 - beta2) * (grad^2 - v)
//   var -= rate * m / (sqrt(v) + epsilon)                           and, with weight_decay (AdamW),
//   var -= learning_rate * weight_decay * var                       of the variable as it was before
//
// AdamW: Loshchilov and Hutter 2019, decay apart from the gradient's moments.
struct AdamConstants {
  // Of the gradients' mean: what is kept at each step, below 1.
  double beta1 = 0.9;
  // Of the squares' mean.
  double beta2 = 0.999;
  // Against a division by 0. Larger ones (1e-3) calm steps of small gradients.
  double epsilon = 1e-8;
  // 0: plain Adam.
  double weight_decay = 0;
};
// m and v begin at 0. The powers are beta1^t and beta2^t at the t-th update, t = 1, 2, ...; their owner multiplies them
// afterwards, once for all variables.
inline Output apply_adam(const Output& var, const Output& m, const Output& v, const Output& beta1_power,
                         const Output& beta2_power, const Output& learning_rate, const Output& grad,
                         const AdamConstants& constants = {}, std::string_view name = {}) {
  return var.graph()
      .node("ApplyAdam", name)
      .in(var)
      .in(m)
      .in(v)
      .in(beta1_power)
      .in(beta2_power)
      .in(learning_rate)
      .in(grad)
      .attr("beta1", constants.beta1)
      .attr("beta2", constants.beta2)
      .attr("epsilon", constants.epsilon)
      .attr("weight_decay", constants.weight_decay)
      .output();
}

//   accum += grad^2
//   var -= learning_rate * grad / sqrt(accum)
//
// accum begins above 0 (TensorFlow: at 0.1), or the first 0 gradient divides by 0. Duchi et al. 2011.
inline Output apply_adagrad(const Output& var, const Output& accum, const Output& learning_rate, const Output& grad,
                            std::string_view name = {}) {
  return var.graph().node("ApplyAdagrad", name).in(var).in(accum).in(learning_rate).in(grad).output();
}

// Tieleman and Hinton 2012:
//
//   ms = decay * ms + (1 - decay) * grad^2
//   mom = momentum * mom + learning_rate * grad / sqrt(ms + epsilon)
//   var -= mom
struct RmsPropConstants {
  // Of the squares' mean: what is kept at each step.
  double decay = 0.9;
  // Of the steps; 0: none.
  double momentum = 0;
  // Under the root.
  double epsilon = 1e-10;
};
// ms begins at 1, mom at 0, as in TensorFlow. epsilon is under the root, unlike Adam's.
inline Output apply_rms_prop(const Output& var, const Output& ms, const Output& mom, const Output& learning_rate,
                             const Output& grad, const RmsPropConstants& constants = {}, std::string_view name = {}) {
  return var.graph()
      .node("ApplyRmsProp", name)
      .in(var)
      .in(ms)
      .in(mom)
      .in(learning_rate)
      .in(grad)
      .attr("decay", constants.decay)
      .attr("momentum", constants.momentum)
      .attr("epsilon", constants.epsilon)
      .output();
}
// The same, but divided by the deviation: mg = decay * mg + (1 - decay) * grad, and ms - mg^2 in the place of ms. mg
// begins at 0 (Graves 2013).
inline Output apply_centered_rms_prop(const Output& var, const Output& mg, const Output& ms, const Output& mom,
                                      const Output& learning_rate, const Output& grad,
                                      const RmsPropConstants& constants = {}, std::string_view name = {}) {
  return var.graph()
      .node("ApplyCenteredRmsProp", name)
      .in(var)
      .in(mg)
      .in(ms)
      .in(mom)
      .in(learning_rate)
      .in(grad)
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
  // How strongly variables are pulled to exactly 0.
  double l1 = 0;
  // How strongly large variables are pulled back; TensorFlow's l2_regularization_strength.
  double l2 = 0;
  // -0.5: rates fall with the root of the sum of squares, as Adagrad's. 0: they stay.
  double learning_rate_power = -0.5;
};
// accum begins above 0 (TensorFlow: at 0.1), linear at 0, both of the variable's shape. With l1 above 0 variables
// become exactly 0, as for sparse linear models.
inline Output apply_ftrl(const Output& var, const Output& accum, const Output& linear, const Output& learning_rate,
                         const Output& grad, const FtrlConstants& constants = {}, std::string_view name = {}) {
  return var.graph()
      .node("ApplyFtrl", name)
      .in(var)
      .in(accum)
      .in(linear)
      .in(learning_rate)
      .in(grad)
      .attr("l1", constants.l1)
      .attr("l2", constants.l2)
      .attr("learning_rate_power", constants.learning_rate_power)
      .output();
}

// The mean of `value` over the batches of one step: everything that it depends on runs `batches` times in a run, each
// time with the next batch that the queues bring, in the memory of one; what depends on the mean runs once behind that.
// The run stays atomic: it commits once, or not at all, and then it has taken no batch. `value` is float32 or float64
// and has the same shape for each batch; what it depends on writes no variable. batches is at least 2, and the same for
// all means of a run. Random numbers differ from batch to batch. A gradient passes.
//
// What [optimizer] accumulate = N adds behind each gradient; a batch that the queue lacks at its end ends the step with
// OUT_OF_RANGE, as any other. Values that are fetched beside the means are those of the step's last batch.
inline Output mean_over_batches(const Output& value, std::int64_t batches, std::string_view name = {}) {
  return value.graph().node("MeanOverBatches", name).in(value).attr("batches", batches).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
