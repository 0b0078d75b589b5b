// SPDX-License-Identifier: Apache-2.0
// Builds an ONNX graph: its nodes, its constants, and the names of the values for Belay's outputs.
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

// Returns the number of an element type in ONNX. UNIMPLEMENTED names a type without one.
std::int32_t onnx_type(belay::DType dtype);

class GraphWriter {
 public:
  // Borrows both arguments.
  GraphWriter(const belay::ExportContext& model, belay::onnx::Graph& graph);

  // Returns the name of the value of a node's input. UNIMPLEMENTED: that output of the computing node has no
  // translation.
  std::string input(const belay::ExportNode& node, std::uint32_t index) const;
  // Does the same for any output.
  std::string value(const belay::Output& output) const;
  // Names the value of one of Belay's outputs.
  void set(const belay::Output& output, std::string name);
  // Returns the usual name of the value: "dense/MatMul:0".
  static std::string usual_name(const belay::Output& output) { return output.name(); }

  // Adds a node with one output; both get `name`.
  std::string add(const char* op, const Names& inputs, const std::string& name,
                  std::initializer_list<Attr> attributes = {});
  // Adds a node for a step of a translation. Its name is the node's with a number.
  std::string step(const belay::ExportNode& node, const char* op, const Names& inputs,
                   std::initializer_list<Attr> attributes = {});
  // Adds a node whose outputs get the names `outputs`.
  void add_node(const char* op, const Names& inputs, const Names& outputs, std::initializer_list<Attr> attributes);

  // Add constants. Equal ones without a name share one constant.
  std::string tensor(const std::string& name, belay::DType dtype, const belay::Dims& dims, const void* data);
  std::string ints(const Ints& values);                  // int64 [n]
  std::string scalar(belay::DType dtype, double value);  // a floating-point or integer scalar
  // Returns the value of the variable at a node's input. UNIMPLEMENTED calls the input `what`: it is no variable.
  belay::TensorView variable(const belay::ExportNode& node, std::uint32_t index, const char* what) const;
  // Adds the value of a variable or constant node.
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
