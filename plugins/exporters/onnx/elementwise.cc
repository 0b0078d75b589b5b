// SPDX-License-Identifier: Apache-2.0
// Translates elementwise operations, and values.
#include <optional>

#include "translate.h"

namespace belay_onnx {
namespace {

using belay::DType;
using belay::ExportNode;

void variable_node(GraphWriter& to, const ExportNode& node) { to.add_constant(node, to.value_of(node.name())); }

void constant_node(GraphWriter& to, const ExportNode& node) {
  const std::optional<belay::Tensor> value = node.tensor("value");
  if (!value) node.fail_untranslated("it has no value");
  to.add_constant(node, belay::TensorView(value->view()));
}

std::string named(const ExportNode& node) { return GraphWriter::usual_name(node.output()); }

void square(GraphWriter& to, const ExportNode& node) {
  const std::string x = to.input(node, 0);
  to.set(node.output(), to.add("Mul", {x, x}, named(node)));
}
void squared_difference(GraphWriter& to, const ExportNode& node) {
  const std::string d = to.step(node, "Sub", {to.input(node, 0), to.input(node, 1)});
  to.set(node.output(), to.add("Mul", {d, d}, named(node)));
}
void rsqrt(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add("Reciprocal", {to.step(node, "Sqrt", {to.input(node, 0)})}, named(node)));
}
void not_equal(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add("Not", {to.step(node, "Equal", {to.input(node, 0), to.input(node, 1)})}, named(node)));
}

void clip(GraphWriter& to, const ExportNode& node, double min, double max) {
  const DType dtype = node.output().dtype();
  to.set(node.output(), to.add("Clip", {to.input(node, 0), to.scalar(dtype, min), to.scalar(dtype, max)}, named(node)));
}
void relu6(GraphWriter& to, const ExportNode& node) { clip(to, node, 0, 6); }
void clip_by_value(GraphWriter& to, const ExportNode& node) {
  clip(to, node, node.number_of("min", 0), node.number_of("max", 0));
}

void leaky_relu(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add("LeakyRelu", {to.input(node, 0)}, named(node),
                               {{"alpha", static_cast<float>(node.number_of("alpha", 0.2))}}));
}

void cast(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(),
         to.add("Cast", {to.input(node, 0)}, named(node), {{"to", std::int64_t{onnx_type(node.output().dtype())}}}));
}

// Adds nodes for x / 2 * (1 + erf(x / sqrt(2))), or its form with tanh, since opset 17 has no Gelu.
void gelu(GraphWriter& to, const ExportNode& node) {
  const DType dtype = node.output().dtype();
  const std::string x = to.input(node, 0);
  const auto number = [&](double v) { return to.scalar(dtype, v); };
  std::string inner;
  if (node.flag("approximate", false)) {
    const std::string cube = to.step(node, "Mul", {to.step(node, "Mul", {x, x}), x});
    const std::string sum = to.step(node, "Add", {x, to.step(node, "Mul", {cube, number(0.044715)})});
    inner = to.step(node, "Tanh", {to.step(node, "Mul", {sum, number(0.7978845608028654)})});
  } else {
    inner = to.step(node, "Erf", {to.step(node, "Mul", {x, number(0.7071067811865476)})});
  }
  const std::string half = to.step(node, "Mul", {x, number(0.5)});
  to.set(node.output(), to.add("Mul", {half, to.step(node, "Add", {inner, number(1)})}, named(node)));
}

}  // namespace

const std::map<std::string_view, const char*>& same_table() {
  static const std::map<std::string_view, const char*> table = {
      {"Abs", "Abs"},
      {"Add", "Add"},
      {"AddN", "Sum"},
      {"Atan", "Atan"},
      {"BiasAdd", "Add"},
      {"Ceil", "Ceil"},
      {"CheckNumerics", "Identity"},
      {"Cos", "Cos"},
      {"Elu", "Elu"},
      {"Equal", "Equal"},
      {"Erf", "Erf"},
      {"Exp", "Exp"},
      {"Floor", "Floor"},
      {"Greater", "Greater"},
      {"GreaterEqual", "GreaterOrEqual"},
      {"Identity", "Identity"},
      {"Less", "Less"},
      {"LessEqual", "LessOrEqual"},
      {"Log", "Log"},
      {"LogicalAnd", "And"},
      {"LogicalNot", "Not"},
      {"LogicalOr", "Or"},
      {"LogicalXor", "Xor"},
      {"Maximum", "Max"},
      {"Minimum", "Min"},
      {"Mul", "Mul"},
      {"Neg", "Neg"},
      {"Pow", "Pow"},
      {"RealDiv", "Div"},
      {"Reciprocal", "Reciprocal"},
      {"Relu", "Relu"},
      {"Round", "Round"},
      {"Select", "Where"},
      {"Sigmoid", "Sigmoid"},
      {"Sign", "Sign"},
      {"Sin", "Sin"},
      {"Softplus", "Softplus"},
      {"Sqrt", "Sqrt"},
      {"StopGradient", "Identity"},
      {"Sub", "Sub"},
      {"Tan", "Tan"},
      {"Tanh", "Tanh"},
  };
  return table;
}

const Table& elementwise_table() {
  static const Table table = {
      {"Cast", cast},
      {"ClipByValue", clip_by_value},
      {"Const", constant_node},
      {"Gelu", gelu},
      {"LeakyRelu", leaky_relu},
      {"NotEqual", not_equal},
      {"Relu6", relu6},
      {"Rsqrt", rsqrt},
      {"Square", square},
      {"SquaredDifference", squared_difference},
      {"Variable", variable_node},
  };
  return table;
}

}  // namespace belay_onnx
