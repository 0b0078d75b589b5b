// SPDX-License-Identifier: Apache-2.0
// Reductions, shapes and parts of tensors.
#include <algorithm>
#include <limits>
#include <utility>

#include "translate.h"

namespace belay_onnx {
namespace {

using belay::ExportNode;

std::string shape_name(const ExportNode& node) { return GraphWriter::usual_name(node.output()); }

// Opset 17 takes the axes of all of them but ReduceSum as an attribute; none: all.
void reduced(GraphWriter& to, const ExportNode& node, const char* op) {
  const Ints axes = node.integers("axes");
  const std::int64_t keep = node.flag("keep_dims", false) ? 1 : 0;
  const std::string x = to.input(node, 0);
  if (axes.empty()) {
    to.set(node.output(), to.add(op, {x}, shape_name(node), {{"keepdims", keep}}));
  } else if (std::string_view(op) == "ReduceSum") {
    to.set(node.output(), to.add(op, {x, to.ints(axes)}, shape_name(node), {{"keepdims", keep}}));
  } else {
    to.set(node.output(), to.add(op, {x}, shape_name(node), {{"axes", axes}, {"keepdims", keep}}));
  }
}
void mean(GraphWriter& to, const ExportNode& node) { reduced(to, node, "ReduceMean"); }
void sum(GraphWriter& to, const ExportNode& node) { reduced(to, node, "ReduceSum"); }
void largest(GraphWriter& to, const ExportNode& node) { reduced(to, node, "ReduceMax"); }
void smallest(GraphWriter& to, const ExportNode& node) { reduced(to, node, "ReduceMin"); }
void prod(GraphWriter& to, const ExportNode& node) { reduced(to, node, "ReduceProd"); }

void arg(GraphWriter& to, const ExportNode& node, const char* op) {
  to.set(node.output(), to.add(op, {to.input(node, 0)}, shape_name(node),
                               {{"axis", node.integer("axis", -1)}, {"keepdims", std::int64_t{0}}}));
}
void arg_max(GraphWriter& to, const ExportNode& node) { arg(to, node, "ArgMax"); }
void arg_min(GraphWriter& to, const ExportNode& node) { arg(to, node, "ArgMin"); }

void reshape(GraphWriter& to, const ExportNode& node) {
  const Ints shape = node.integers("shape");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    node.fail_untranslated("a dimension of its shape is 0, which in ONNX means that of the input");
  const Names inputs = {to.input(node, 0), shape.empty()
                                               ? to.tensor(node.name() + "/shape", belay::DType::kInt64, {0}, nullptr)
                                               : to.ints(shape)};
  to.set(node.output(), to.add("Reshape", inputs, shape_name(node)));
}

void transpose(GraphWriter& to, const ExportNode& node) {
  const Ints perm = node.integers("perm");
  to.set(node.output(), perm.empty() ? to.add("Transpose", {to.input(node, 0)}, shape_name(node))
                                     : to.add("Transpose", {to.input(node, 0)}, shape_name(node), {{"perm", perm}}));
}

void expand_dims(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add("Unsqueeze", {to.input(node, 0), to.ints({node.integer("axis", 0)})}, shape_name(node)));
}
void squeeze(GraphWriter& to, const ExportNode& node) {
  const Ints axes = node.integers("axes");
  Names inputs = {to.input(node, 0)};
  if (!axes.empty()) inputs.push_back(to.ints(axes));
  to.set(node.output(), to.add("Squeeze", inputs, shape_name(node)));
}

void concat(GraphWriter& to, const ExportNode& node) {
  Names inputs;
  for (std::uint32_t i = 0; i < node.n_inputs(); ++i) inputs.push_back(to.input(node, i));
  to.set(node.output(), to.add("Concat", inputs, shape_name(node), {{"axis", node.integer("axis", 0)}}));
}

void slice(GraphWriter& to, const ExportNode& node) {
  const Ints begin = node.integers("begin"), size = node.integers("size");
  Ints end, axes;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    end.push_back(size[i] < 0 ? std::numeric_limits<std::int64_t>::max() : begin[i] + size[i]);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  to.set(node.output(),
         to.add("Slice", {to.input(node, 0), to.ints(begin), to.ints(end), to.ints(axes)}, shape_name(node)));
}

void tile(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add("Tile", {to.input(node, 0), to.ints(node.integers("multiples"))}, shape_name(node)));
}

void pad(GraphWriter& to, const ExportNode& node) {
  Ints pads = node.integers("before");
  const Ints after = node.integers("after");
  pads.insert(pads.end(), after.begin(), after.end());
  to.set(node.output(),
         to.add("Pad", {to.input(node, 0), to.ints(pads), to.scalar(node.output().dtype(), node.number_of("value", 0))},
                shape_name(node)));
}

void gather(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add("Gather", {to.input(node, 0), to.input(node, 1)}, shape_name(node),
                               {{"axis", node.integer("axis", 0)}}));
}

}  // namespace

std::string transposed(GraphWriter& to, const ExportNode& node, const std::string& x, const Ints& perm) {
  return to.step(node, "Transpose", {x}, {{"perm", perm}});
}

const Table& shape_table() {
  static const Table table = {
      {"ArgMax", arg_max},  {"ArgMin", arg_min}, {"Concat", concat},   {"ExpandDims", expand_dims},
      {"Gather", gather},   {"Max", largest},    {"Mean", mean},       {"Min", smallest},
      {"Pad", pad},         {"Prod", prod},      {"Reshape", reshape}, {"Slice", slice},
      {"Squeeze", squeeze}, {"Sum", sum},        {"Tile", tile},       {"Transpose", transpose},
  };
  return table;
}

}  // namespace belay_onnx
