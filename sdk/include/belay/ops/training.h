// Updates of a variable by its gradient: what an optimizer adds to the graph, one for each variable. They write in the
// run's commit and give the variable as it is then. var, its slots, the gradient and the scalars have one dtype,
// float32 or float64; slots and gradient have the variable's shape.
#pragma once

#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// var -= learning_rate * grad
inline Output apply_gradient_descent(const Output& var, const Output& learning_rate, const Output& grad,
                                     std::string_view name = {}) {
  return var.graph().node("ApplyGradientDescent", name).in(var).in(learning_rate).in(grad).output();
}

// accum = momentum * accum + grad
// var -= learning_rate * accum                                    or, with use_nesterov,
// var -= learning_rate * grad + learning_rate * momentum * accum
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

// The powers are beta1^t and beta2^t at the t-th update, t = 1, 2, ...; their owner multiplies them afterwards.
// rate = learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power)
// m += (1 - beta1) * (grad - m)
// v += (1 - beta2) * (grad^2 - v)
// var -= rate * m / (sqrt(v) + epsilon)
struct AdamConstants {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};
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
      .output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
