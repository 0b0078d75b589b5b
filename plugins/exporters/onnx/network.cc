// SPDX-License-Identifier: Apache-2.0
// Translates products, windows over images, norms, recurrent layers and attention. Images go through Transpose, since
// ONNX has the channels first. A runtime merges a Transpose with its inverse.
#include <cmath>
#include <utility>

#include "translate.h"

namespace belay_onnx {
namespace {

using belay::DType;
using belay::ExportNode;
using belay::TensorView;

std::string output_name(const ExportNode& node) { return GraphWriter::usual_name(node.output()); }

void known_rank(const ExportNode& node, std::uint32_t index) {
  if (node.input(index).rank() < 0)
    node.fail_untranslated("the rank of its input " + node.input(index).text() + " is not known");
}

// Returns an input, with its last two dimensions swapped if the attribute `swapped` is true.
std::string factor(GraphWriter& to, const ExportNode& node, std::uint32_t index, const char* swapped) {
  std::string x = to.input(node, index);
  if (!node.flag(swapped, false)) return x;
  known_rank(node, index);
  Ints perm;
  for (std::int32_t i = 0; i < node.input(index).rank(); ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transposed(to, node, x, perm);
}
void product(GraphWriter& to, const ExportNode& node) {
  const std::string a = factor(to, node, 0, "transpose_a"), b = factor(to, node, 1, "transpose_b");
  to.set(node.output(), to.add("MatMul", {a, b}, output_name(node)));
}

void softmax(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(), to.add(node.op() == "Softmax" ? "Softmax" : "LogSoftmax", {to.input(node, 0)},
                               output_name(node), {{"axis", std::int64_t{-1}}}));
}

// ---- windows ----

const Ints kToChannelsFirst = {0, 3, 1, 2}, kToChannelsLast = {0, 2, 3, 1};

bool channels_last(const ExportNode& node) { return node.text("data_format", "NHWC") == "NHWC"; }

// Returns height and width of an attribute with one number for each dimension.
Ints spatial(const ExportNode& node, const char* attr) {
  const Ints all = node.integers(attr, {1, 1, 1, 1});
  return channels_last(node) ? Ints{all.at(1), all.at(2)} : Ints{all.at(2), all.at(3)};
}
Ints pads_of(const ExportNode& node) {
  if (node.text("padding", "VALID") != "EXPLICIT") return {0, 0, 0, 0};
  const Ints all = node.integers("explicit_paddings");
  const std::size_t h = channels_last(node) ? 2 : 4;
  return {all.at(h), all.at(h + 2), all.at(h + 1), all.at(h + 3)};
}

std::string image(GraphWriter& to, const ExportNode& node) {
  const std::string x = to.input(node, 0);
  return channels_last(node) ? transposed(to, node, x, kToChannelsFirst) : x;
}
void set_image(GraphWriter& to, const ExportNode& node, const std::string& y) {
  to.set(node.output(), channels_last(node) ? to.add("Transpose", {y}, output_name(node), {{"perm", kToChannelsLast}})
                                            : to.add("Identity", {y}, output_name(node)));
}

// SAME: the odd element of padding is at the end.
template <class... More>
void windows(GraphWriter& to, const ExportNode& node, const char* op, const Names& inputs, const More&... more) {
  const Ints strides = spatial(node, "strides"), dilations = spatial(node, "dilations");
  const std::string y =
      node.text("padding", "VALID") == "SAME"
          ? to.step(node, op, inputs,
                    {{"auto_pad", std::string("SAME_UPPER")}, {"strides", strides}, {"dilations", dilations}, more...})
          : to.step(node, op, inputs,
                    {{"pads", pads_of(node)}, {"strides", strides}, {"dilations", dilations}, more...});
  set_image(to, node, y);
}
void convolution(GraphWriter& to, const ExportNode& node) {
  const std::string x = image(to, node);
  windows(to, node, "Conv", {x, transposed(to, node, to.input(node, 1), {3, 2, 0, 1})});
}
void max_pool(GraphWriter& to, const ExportNode& node) {
  windows(to, node, "MaxPool", {image(to, node)}, Attr{"kernel_shape", spatial(node, "ksize")});
}
// AveragePool of this opset has no dilations. It averages the elements that lie in the image.
void avg_pool(GraphWriter& to, const ExportNode& node) {
  if (spatial(node, "dilations") != Ints{1, 1}) node.fail_untranslated("AveragePool of opset 17 has no dilations");
  const bool same = node.text("padding", "VALID") == "SAME";
  const Ints size = spatial(node, "ksize"), strides = spatial(node, "strides");
  const std::string x = image(to, node);
  const std::int64_t no = 0;
  set_image(
      to, node,
      same ? to.step(node, "AveragePool", {x},
                     {{"auto_pad", std::string("SAME_UPPER")},
                      {"kernel_shape", size},
                      {"strides", strides},
                      {"count_include_pad", no}})
           : to.step(
                 node, "AveragePool", {x},
                 {{"pads", pads_of(node)}, {"kernel_shape", size}, {"strides", strides}, {"count_include_pad", no}}));
}

// ---- norms ----

void batch_norm(GraphWriter& to, const ExportNode& node) {
  if (node.flag("is_training", true)) node.fail_untranslated("it takes the statistics of the batch (is_training)");
  known_rank(node, 0);
  const auto rank = static_cast<std::int64_t>(node.input(0).rank());
  const bool last = channels_last(node) && rank > 2;
  Ints forth = {0, rank - 1}, back = {0};
  for (std::int64_t i = 1; i + 1 < rank; ++i) forth.push_back(i), back.push_back(i + 1);
  back.push_back(1);
  const std::string x = last ? transposed(to, node, to.input(node, 0), forth) : to.input(node, 0);
  const Attr epsilon{"epsilon", static_cast<float>(node.number_of("epsilon", 0.001))};
  const Names inputs = {x, to.input(node, 1), to.input(node, 2), to.input(node, 3), to.input(node, 4)};
  to.set(node.output(), last ? to.add("Transpose", {to.step(node, "BatchNormalization", inputs, {epsilon})},
                                      output_name(node), {{"perm", back}})
                             : to.add("BatchNormalization", inputs, output_name(node), {epsilon}));
}

void layer_norm(GraphWriter& to, const ExportNode& node) {
  to.set(node.output(),
         to.add("LayerNormalization", {to.input(node, 0), to.input(node, 1), to.input(node, 2)}, output_name(node),
                {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(node.number_of("epsilon", 1e-5))}}));
}

// ---- recurrent layers ----

// Turns Belay's [rows, gates * units] into ONNX's [1, gates * units, rows], with the gates in another order. A vector
// is one row.
std::string gates(GraphWriter& to, const ExportNode& node, const std::string& name,
                  const std::vector<TensorView>& parts, const std::vector<std::int64_t>& order) {
  const TensorView& first = parts[0];
  const bool vector = first.rank() == 1;
  const std::int64_t rows = vector ? 1 : first.dim(0), columns = first.dim(vector ? 0 : 1);
  const auto n = static_cast<std::int64_t>(order.size());
  const std::int64_t units = columns / n;
  const std::size_t size = belay::dtype_size(first.dtype());
  std::string bytes;
  for (const TensorView& part : parts)
    for (const std::int64_t gate : order)
      for (std::int64_t unit = 0; unit < units; ++unit)
        for (std::int64_t row = 0; row < rows; ++row)
          bytes.append(static_cast<const char*>(part.data()) +
                           static_cast<std::size_t>(row * columns + gate * units + unit) * size,
                       size);
  const auto all = static_cast<std::int64_t>(parts.size()) * columns;
  return to.tensor(node.name() + "/" + name, first.dtype(),
                   vector ? belay::Dims{1, all} : belay::Dims{1, columns, rows}, bytes.data());
}

// ONNX takes [time, batch, features] and returns [time, directions, batch, units].
void recurrent(GraphWriter& to, const ExportNode& node, const char* op, const std::vector<std::int64_t>& order,
               std::uint32_t weights, std::uint32_t states) {
  const TensorView kernel = to.variable(node, 1, "kernel"), recurrent = to.variable(node, 2, "recurrent kernel");
  const TensorView bias = to.variable(node, 3, "bias");
  // For LSTM, ONNX's second bias is 0.
  const belay::Tensor zeros(bias.dtype(), bias.dims());
  const TensorView second = weights > 4 ? to.variable(node, 4, "recurrent bias") : TensorView(zeros.view());
  const bool time_major = node.flag("time_major", false);
  const std::string x = time_major ? to.input(node, 0) : transposed(to, node, to.input(node, 0), {1, 0, 2});
  Names inputs = {x, gates(to, node, "W", {kernel}, order), gates(to, node, "R", {recurrent}, order),
                  gates(to, node, "B", {bias, second}, order)};
  if (node.n_inputs() > weights) {
    inputs.emplace_back();  // no lengths: all sequences are whole
    for (std::uint32_t i = 0; i < states; ++i)
      inputs.push_back(to.step(node, "Unsqueeze", {to.input(node, weights + i), to.ints({0})}));
  }
  const std::string y = node.name() + "/Y";
  Names outputs = {y};
  for (std::uint32_t i = 0; i < states; ++i) outputs.push_back(node.name() + (i == 0 ? "/Y_h" : "/Y_c"));
  const std::int64_t units = recurrent.dim(0);
  if (std::string_view(op) == "GRU") {
    to.add_node(op, inputs, outputs, {{"hidden_size", units}, {"linear_before_reset", std::int64_t{1}}});
  } else {
    to.add_node(op, inputs, outputs, {{"hidden_size", units}});
  }
  const std::string steps = to.step(node, "Squeeze", {y, to.ints({1})});
  to.set(node.output(), time_major ? to.add("Identity", {steps}, output_name(node))
                                   : to.add("Transpose", {steps}, output_name(node), {{"perm", Ints{1, 0, 2}}}));
  for (std::uint32_t i = 0; i < states; ++i)
    to.set(node.output(1 + i),
           to.add("Squeeze", {outputs[1 + i], to.ints({0})}, GraphWriter::usual_name(node.output(1 + i))));
}
// Belay's gates are input, forget, candidate, output. ONNX's are input, output, forget, candidate.
void lstm(GraphWriter& to, const ExportNode& node) { recurrent(to, node, "LSTM", {0, 3, 1, 2}, 4, 2); }
// Belay's gates are reset, update, candidate. ONNX's are update, reset, candidate.
void gru(GraphWriter& to, const ExportNode& node) { recurrent(to, node, "GRU", {1, 0, 2}, 5, 1); }

// ---- attention ----

// Returns query, key and value, each [batch, places, width].
Names heads_inputs(GraphWriter& to, const ExportNode& node) {
  if (!node.flag("packed", false)) return {to.input(node, 0), to.input(node, 1), to.input(node, 2)};
  const std::int64_t width = node.input(0).dim(-1) / 3;
  Names parts = {node.name() + "/query", node.name() + "/key", node.name() + "/value"};
  to.add_node("Split", {to.input(node, 0), to.ints({width, width, width})}, parts, {{"axis", std::int64_t{-1}}});
  return parts;
}

// Returns the addend of the scores: 0 if a query sees the key, else the lowest number.
std::string causal_mask(GraphWriter& to, const ExportNode& node) {
  const belay::Output query = node.input(0), key = node.flag("packed", false) ? query : node.input(1);
  const std::int64_t queries = query.dim(1), keys = key.dim(1);
  if (queries < 0 || keys < 0)
    node.fail_untranslated("its mask needs the length of the sequences, which " + query.text() + " leaves open");
  belay::Tensor mask(DType::kFloat32, {queries, keys});
  float* at = mask.data<float>();
  for (std::int64_t q = 0; q < queries; ++q)
    for (std::int64_t k = 0; k < keys; ++k) *at++ = k <= q + keys - queries ? 0.0f : -INFINITY;
  std::string name = to.tensor(node.name() + "/causal", DType::kFloat32, mask.dims(), mask.view().data);
  if (node.output().dtype() == DType::kFloat32) return name;
  return to.step(node, "Cast", {name}, {{"to", std::int64_t{onnx_type(node.output().dtype())}}});
}

void attention(GraphWriter& to, const ExportNode& node) {
  const std::int64_t heads = node.integer("heads", 1), packed = node.flag("packed", false) ? 1 : 0;
  const std::int64_t width = node.input(0).dim(-1) / (packed != 0 ? 3 : 1);
  const std::int64_t values = packed != 0 ? width : node.input(2).dim(-1);
  if (width <= 0 || values <= 0) node.fail_untranslated("the width of its inputs is not known");
  const DType dtype = node.output().dtype();
  const Names parts = heads_inputs(to, node);
  const auto split = [&](const std::string& x, std::int64_t of, const Ints& perm) {
    return transposed(to, node, to.step(node, "Reshape", {x, to.ints({0, 0, heads, of / heads})}), perm);
  };
  const std::string q = split(parts[0], width, {0, 2, 1, 3}), k = split(parts[1], width, {0, 2, 3, 1});
  const std::string v = split(parts[2], values, {0, 2, 1, 3});
  const double given = node.number_of("scale", 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(width) / static_cast<double>(heads));
  std::string scores = to.step(node, "Mul", {to.step(node, "MatMul", {q, k}), to.scalar(dtype, scale)});
  if (node.flag("causal", false)) scores = to.step(node, "Add", {scores, causal_mask(to, node)});
  if (node.flag("masked", false)) {
    const std::uint32_t index = node.n_inputs() - 1;
    known_rank(node, index);
    std::string mask = to.input(node, index);
    if (node.input(index).rank() == 3) mask = to.step(node, "Unsqueeze", {mask, to.ints({1})});
    scores = to.step(node, "Add", {scores, mask});
  }
  const std::string weights = to.step(node, "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string seen = transposed(to, node, to.step(node, "MatMul", {weights, v}), {0, 2, 1, 3});
  to.set(node.output(), to.add("Reshape", {seen, to.ints({0, 0, values})}, output_name(node)));
}

}  // namespace

const Table& network_table() {
  static const Table table = {
      {"Attention", attention},  {"AvgPool", avg_pool},          {"BatchMatMul", product},
      {"Conv2D", convolution},   {"FusedBatchNorm", batch_norm}, {"Gru", gru},
      {"LayerNorm", layer_norm}, {"LogSoftmax", softmax},        {"Lstm", lstm},
      {"MatMul", product},       {"MaxPool", max_pool},          {"Softmax", softmax},
  };
  return table;
}

void translate(GraphWriter& to, const ExportNode& node) {
  if (const auto same = same_table().find(node.op()); same != same_table().end()) {
    Names inputs;
    for (std::uint32_t i = 0; i < node.n_inputs(); ++i) inputs.push_back(to.input(node, i));
    to.set(node.output(), to.add(same->second, inputs, output_name(node)));
    return;
  }
  for (const Table* table : {&elementwise_table(), &shape_table(), &network_table()})
    if (const auto found = table->find(node.op()); found != table->end()) return found->second(to, node);
  node.fail_untranslated(
      "it has no translation to ONNX; build the predictions of those that docs/reference/exporters.md lists, or export "
      "with "
      "'safetensors'");
}

}  // namespace belay_onnx
