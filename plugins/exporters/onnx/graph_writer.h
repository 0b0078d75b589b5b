// SPDX-License-Identifier: Apache-2.0
// An ONNX graph while it is made: values by the output of Belay's that they stand for, nodes, constants.
#pragma once

#include <belay/plugin.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plugins/exporters/onnx/onnx.pb.h"

namespace belay_onnx {

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
// An attribute of an ONNX node.
struct Attr {
  const char* name;
  std::variant<std::int64_t, float, std::string, Ints> value;
};

// The number of an element type in ONNX; UNIMPLEMENTED names the type that has none.
std::int32_t onnx_type(belay::DType dtype);

class GraphWriter {
 public:
  // Both are borrowed.
  GraphWriter(const belay::ExportContext& model, belay::onnx::Graph& graph);

  // The name of the value of a node's input; UNIMPLEMENTED where the node that computes it has no translation of that
  // output.
  std::string input(const belay::ExportNode& node, std::uint32_t index) const;
  // The same of any output.
  std::string value(const belay::Output& output) const;
  // Names the value of an output of Belay's.
  void set(const belay::Output& output, std::string name);
  // The name under which it usually goes: "dense/MatMul:0".
  static std::string usual_name(const belay::Output& output) { return output.name(); }

  // Adds a node of one output; `name` is its name and its output's.
  std::string add(const char* op, const Names& inputs, const std::string& name,
                  std::initializer_list<Attr> attributes = {});
  // The same where a step of the translation needs a name: that of the node, and a number.
  std::string step(const belay::ExportNode& node, const char* op, const Names& inputs,
                   std::initializer_list<Attr> attributes = {});
  // Of `outputs` names.
  void add_node(const char* op, const Names& inputs, const Names& outputs, std::initializer_list<Attr> attributes);

  // Constants; equal ones that have no name of their own are one.
  std::string tensor(const std::string& name, belay::DType dtype, const belay::Dims& dims, const void* data);
  std::string ints(const Ints& values);                  // int64 [n]
  std::string scalar(belay::DType dtype, double value);  // a floating-point or integer scalar
  // The value of a variable that is the node's input; UNIMPLEMENTED where it is none, and named `what`.
  belay::TensorView variable(const belay::ExportNode& node, std::uint32_t index, const char* what) const;
  // Of a variable or constant node.
  void add_constant(const belay::ExportNode& node, const belay::TensorView& value);
  const belay::TensorView& value_of(const std::string& variable) const;

  const belay::ExportContext& model() const noexcept { return model_; }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  const belay::ExportContext& model_;
  belay::onnx::Graph& graph_;
  std::map<Key, std::string> values_;
  std::map<std::string, belay::TensorView, std::less<>> variables_;
  std::map<std::string, std::string> constants_;  // by type, shape and bytes
  int steps_ = 0;
};

}  // namespace belay_onnx
