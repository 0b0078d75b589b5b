// SPDX-License-Identifier: Apache-2.0
// Translates reductions, shapes and parts of tensors.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "translate.h"

namespace belay_onnx {
namespace {

using belay::ExportNode;

std::string shape_name(const ExportNode& node) { return GraphWriter::usual_name(node.output()); }

// In opset 17 ReduceSum takes the axes as an input, the others as an attribute. No axes: all of them.
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

// Both count positions by numpy's rule and cut places outside. A removed dimension is one element of `Slice`; `Squeeze`
// removes it.
void strided_slice(GraphWriter& to, const ExportNode& node) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  Ints begin = node.integers("begin"), end = node.integers("end"), strides = node.integers("strides");
  strides.resize(begin.size(), 1);
  const auto has = [&](const char* mask, std::size_t i) { return i < 64 && ((node.integer(mask, 0) >> i) & 1) != 0; };
  Ints axes, gone;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
    if (has("shrink_axis_mask", i)) {
      gone.push_back(static_cast<std::int64_t>(i));
      strides[i] = 1;
      end[i] = begin[i] == -1 ? kFar : begin[i] + 1;
      continue;
    }
    const bool forwards = strides[i] > 0;
    if (has("begin_mask", i)) begin[i] = forwards ? 0 : kFar;
    if (has("end_mask", i)) end[i] = forwards ? kFar : -kFar;
  }
  const Names inputs = {to.input(node, 0), to.ints(begin), to.ints(end), to.ints(axes), to.ints(strides)};
  to.set(node.output(), gone.empty()
                            ? to.add("Slice", inputs, shape_name(node))
                            : to.add("Squeeze", {to.step(node, "Slice", inputs), to.ints(gone)}, shape_name(node)));
}

// ONNX returns int64 indices.
void top_k(GraphWriter& to, const ExportNode& node) {
  const std::string places = node.name() + "/places";
  to.add_node("TopK", {to.input(node, 0), to.ints({node.integer("k", 1)})}, {shape_name(node), places},
              {{"axis", std::int64_t{-1}}, {"largest", std::int64_t{1}}, {"sorted", std::int64_t{1}}});
  to.set(node.output(), shape_name(node));
  const belay::Output indices = node.output(1);
  to.set(indices, to.add("Cast", {places}, GraphWriter::usual_name(indices),
                         {{"to", std::int64_t{onnx_type(indices.dtype())}}}));
}

[[noreturn]] void with_bodies(const ExportNode& node, const char* instead) {
  node.fail_untranslated("its bodies are separate graphs, which are not translated; in mode predict build the model " +
                         std::string(instead) + ", or export with 'safetensors'");
}
void cond(GraphWriter&, const ExportNode& node) { with_bodies(node, "with ops::select of both results instead"); }
void while_loop(GraphWriter&, const ExportNode& node) {
  with_bodies(node, "with as many copies of the body as it has turns");
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

// Index i is compared with 0 to depth - 1. ONNX's own OneHot counts negative indices from the end, and here they are
// off.
void one_hot(GraphWriter& to, const ExportNode& node) {
  std::string indices = to.input(node, 0);
  if (node.input(0).dtype() != belay::DType::kInt64)
    indices = to.step(node, "Cast", {indices}, {{"to", std::int64_t{onnx_type(belay::DType::kInt64)}}});
  Ints places(static_cast<std::size_t>(node.integer("depth", 0)));
  std::iota(places.begin(), places.end(), 0);
  const belay::DType dtype = node.output().dtype();
  const std::string is_there =
      to.step(node, "Equal", {to.step(node, "Unsqueeze", {indices, to.ints({-1})}), to.ints(places)});
  to.set(
      node.output(),
      to.add("Where", {is_there, to.scalar(dtype, node.number_of("on", 1)), to.scalar(dtype, node.number_of("off", 0))},
             shape_name(node)));
}

}  // namespace

std::string transposed(GraphWriter& to, const ExportNode& node, const std::string& x, const Ints& perm) {
  return to.step(node, "Transpose", {x}, {{"perm", perm}});
}

const Table& shape_table() {
  static const Table table = {
      {"ArgMax", arg_max},
      {"ArgMin", arg_min},
      {"Concat", concat},
      {"Cond", cond},
      {"ExpandDims", expand_dims},
      {"Gather", gather},
      {"Max", largest},
      {"Mean", mean},
      {"Min", smallest},
      {"OneHot", one_hot},
      {"Pad", pad},
      {"Prod", prod},
      {"Reshape", reshape},
      {"Slice", slice},
      {"Squeeze", squeeze},
      {"StridedSlice", strided_slice},
      {"Sum", sum},
      {"Tile", tile},
      {"TopK", top_k},
      {"Transpose", transpose},
      {"While", while_loop},
  };
  return table;
}

}  // namespace belay_onnx
