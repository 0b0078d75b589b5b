// SPDX-License-Identifier: Apache-2.0
// Activation functions of floating-point tensors, in the shape of x. NaN stays NaN. INVALID_ARGUMENT: the dtype is not
// float32 or float64.
//
//   Output h = ops::relu(ops::dense(x, 64));
//   Output h = ops::activate(ops::dense(x, 64), ops::activation_named(options.activation));   by an option's string
//
//   function      range          derivative                    computed from
//   relu          [0, inf)       1 where x > 0, else 0         its output
//   relu6         [0, 6]         1 where 0 < x < 6, else 0     its output
//   leaky_relu    all            1 where x > 0, else alpha     its input
//   elu           (-1, inf)      1 where x > 0, else y + 1     its output
//   sigmoid       (0, 1)         y (1 - y)                     its output
//   tanh          (-1, 1)        1 - y^2                       its output
//   softplus      (0, inf)       sigmoid(x)                    its input
//
// The last column stays in memory until the derivative is computed. The table shows the value at corners, which is
// TensorFlow's choice. float32 values are within a few units in the last place of the exact ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/nearest.h"

namespace belay {
inline namespace v0 {
namespace ops {

// max(x, 0). After a matmul or convolution with bias, or after a batch or layer norm, it is part of their kernel and
// costs almost nothing.
inline Output relu(const Output& x, std::string_view name = {}) { return x.graph().node("Relu", name).in(x).output(); }
// min(max(x, 0), 6) (Krizhevsky 2010, Convolutional deep belief networks on CIFAR-10). Gradient at 0 and 6: 0.
inline Output relu6(const Output& x, std::string_view name = {}) {
  return x.graph().node("Relu6", name).in(x).output();
}
// x if x > 0, else alpha * x (Maas et al. 2013). The default is TensorFlow's. Gradient at 0: alpha.
inline Output leaky_relu(const Output& x, double alpha = 0.2, std::string_view name = {}) {
  return x.graph().node("LeakyRelu", name).in(x).attr("alpha", alpha).output();
}
// x if x > 0, else e^x - 1 (Clevert et al. 2016).
inline Output elu(const Output& x, std::string_view name = {}) { return x.graph().node("Elu", name).in(x).output(); }
// x times the probability that a normal number is below x (Hendrycks and Gimpel 2016). approximate: 0.5 x (1 +
// tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the form of the first GPT and BERT models. It can be differentiated once.
inline Output gelu(const Output& x, bool approximate = false, std::string_view name = {}) {
  return x.graph().node("Gelu", name).in(x).attr("approximate", approximate).output();
}
// 1 / (1 + e^-x), without overflow at either end. For a loss use sigmoid_cross_entropy of the logits.
inline Output sigmoid(const Output& x, std::string_view name = {}) {
  return x.graph().node("Sigmoid", name).in(x).output();
}
// The hyperbolic tangent.
inline Output tanh(const Output& x, std::string_view name = {}) { return x.graph().node("Tanh", name).in(x).output(); }
// log(1 + e^x), without overflow. Its gradient is the sigmoid.
inline Output softplus(const Output& x, std::string_view name = {}) {
  return x.graph().node("Softplus", name).in(x).output();
}
// e^x / sum(e^x) along the last dimension, whose size is at least one. It subtracts the largest x of a row first, so it
// does not overflow. Derivative: y (dy - sum(dy y)). For a loss use softmax_cross_entropy of the logits. A row with
// +infinity becomes NaN, and so does a row of minus infinities alone.
inline Output softmax(const Output& x, std::string_view name = {}) {
  return x.graph().node("Softmax", name).in(x).output();
}
// log(softmax(x)) along the last dimension, exact where softmax is close to 0.
inline Output log_softmax(const Output& x, std::string_view name = {}) {
  return x.graph().node("LogSoftmax", name).in(x).output();
}

// An activation by its name, as in a model's options. gelu has no name here: call ops::gelu.
enum class Activation { kNone, kRelu, kRelu6, kLeakyRelu, kElu, kSigmoid, kTanh, kSoftplus };

// Converts "none", "relu", "relu6", "leaky_relu", "elu", "sigmoid", "tanh" or "softplus". INVALID_ARGUMENT, with the
// nearest name or all of them: another name.
inline Activation activation_named(std::string_view name) {
  static constexpr const char* kNames[] = {"none", "relu", "relu6", "leaky_relu", "elu", "sigmoid", "tanh", "softplus"};
  std::vector<std::string> all;
  for (std::size_t i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    if (name == kNames[i]) return static_cast<Activation>(i);
    all.emplace_back(kNames[i]);
  }
  const std::string known = nearest(name, all);
  fail(Code::kInvalidArgument,
       "there is no activation '" + std::string(name) + "'" +
           (known.empty() ? "; use none, relu, relu6, leaky_relu, elu, sigmoid, tanh or softplus"
                          : "; did you mean '" + known + "'?"));
}

// Applies the function with its defaults. kNone returns x itself and adds no node.
inline Output activate(const Output& x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return relu(x);
    case Activation::kRelu6: return relu6(x);
    case Activation::kLeakyRelu: return leaky_relu(x);
    case Activation::kElu: return elu(x);
    case Activation::kSigmoid: return sigmoid(x);
    case Activation::kTanh: return tanh(x);
    case Activation::kSoftplus: return softplus(x);
  }
  return x;
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
