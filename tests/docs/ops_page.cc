// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/ops_page.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "belay/detail/parse_options.h"  // number_text
#include "runtime/ops/registry.h"
#include "runtime/ops/training/rank_ops.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

struct Family {
  const char* title;
  const char* header;  // belay/ops/, one of its group
  void (*add)(OpRegistry&);
};
struct Group {
  const char* folder;  // runtime/ops/
  std::vector<const char*> headers;
  std::vector<Family> families;
};

// In the order of runtime/ops/CMakeLists.txt.
std::vector<Group> groups() {
  return {{"math",
           {"math.h", "matmul.h", "reductions.h", "sorting.h", "statistics.h"},
           {{"Arithmetic", "math.h", add_math_ops},
            {"Functions of one tensor", "math.h", add_unary_ops},
            {"Comparison and choice", "math.h", add_compare_ops},
            {"Reductions", "reductions.h", add_reduction_ops},
            {"Largest elements, running sums", "sorting.h", add_sorting_ops},
            {"Matrix products", "matmul.h", add_matmul_ops},
            {"Products of many matrices", "matmul.h", add_batch_matmul_ops}}},
          {"array",
           {"control.h", "embedding.h", "indexed_slices.h", "shape.h"},
           {{"Constants, placeholders, order", "control.h", add_control_ops},
            {"Shapes", "shape.h", add_shape_ops},
            {"Parts of tensors", "shape.h", add_part_ops},
            {"Strides, padding, repetition", "shape.h", add_strided_slice_ops},
            {"Embeddings", "embedding.h", add_gather_ops},
            {"Sparse gradients", "indexed_slices.h", add_sparse_ops}}},
          {"nn",
           {"activations.h", "attention.h", "convolution.h", "defaults.h", "losses.h", "metrics.h", "normalization.h",
            "pooling.h", "recurrent.h", "windows.h"},
           {{"Activations", "activations.h", add_activation_ops},
            {"Gelu", "activations.h", add_gelu_ops},
            {"Convolution", "convolution.h", add_convolution_ops},
            {"Pooling", "pooling.h", add_pooling_ops},
            {"Batch normalization", "normalization.h", add_batch_norm_ops},
            {"Layer normalization", "normalization.h", add_layer_norm_ops},
            {"LSTM", "recurrent.h", add_lstm_ops},
            {"GRU", "recurrent.h", add_gru_ops},
            {"Attention", "attention.h", add_attention_ops},
            {"Losses", "losses.h", add_loss_ops}}},
          {"state",
           {"queues.h", "tables.h", "variables.h"},
           {{"Variables", "variables.h", add_variable_ops},
            {"Queues", "queues.h", add_queue_ops},
            {"Tables", "tables.h", add_table_ops}}},
          {"control_flow", {"control_flow.h"}, {{"Branches and loops", "control_flow.h", add_control_flow_ops}}},
          {"random", {"random.h"}, {{"Random numbers", "random.h", add_random_ops}}},
          {"training",
           {"training.h"},
           {{"Updates of variables", "training.h", add_training_ops},
            {"Steps of several batches", "training.h", add_step_mean_ops},
            {"Steps of several processes", "training.h", add_rank_ops}}},
          {"summary", {"summaries.h"}, {{"Summaries", "summaries.h", add_summary_ops}}}};
}

constexpr const char* kIntroduction = R"(# Operations

A graph is made of these operations. Models call the functions of `belay/ops/*.h`: these make the nodes and have more about each.
`Graph::node` makes one by its name. Operations are in groups, as in TensorFlow: each is a folder of `runtime/ops` and some
of the headers. `build/bin/make_ops_page > docs/reference/ops.md` makes this page from the registry.

Losses, metrics that add up over batches, moments and other functions of several nodes have no line here:
see `belay/ops/losses.h`, `metrics.h`, `statistics.h`. A plugin can add operations: [plugins/op.md](../plugins/op.md).

* Words in `code` are attributes. The last column has their type (as `belay describe` calls it; besides dtype, shape: a list
  of dimensions, -1: unknown, and tensor), range, default and meaning. An attribute without a default is necessary, unless
  it is optional. An unknown name, another type, a value out of range and an attribute that is set twice are errors when the
  node is added.
* floats: float32 and float64. numbers: floats, int32, int64 and uint8. Operands have one dtype unless the line has
  another rule.
* gradient "yes": it passes. "none": it ends here, as if the result were a constant. "error": a request for one is an error.
* "broadcast": shapes are aligned at their last dimension, and a dimension of 1, or a missing one, is repeated.
* Shapes may be partly unknown while the graph is built. A mismatch is an error there, or when the plan is made.
)";

std::string gradient_of(const OpDef& op) {
  if (!op.bodies.empty()) return "error";
  if (op.gradient != nullptr) return "yes";
  return op.stops_gradient ? "none" : "error";
}

const char* effect_of(const OpDef& op) {
  switch (op.effect) {
    case Effect::kRandom: return " Draws random numbers.";
    case Effect::kWrite: return " Writes at the end of the run.";
    case Effect::kBlocking: return " May wait.";
    default: return "";
  }
}

// A string as the cell of a table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string default_of(const AttrDef& attr) {
  struct {
    const AttrDef& attr;
    std::string operator()(std::int64_t v) const {
      if (attr.type == AttrType::kBool) return v != 0 ? "true" : "false";
      return attr.type == AttrType::kDType ? dtype_name(static_cast<DType>(v)) : std::to_string(v);
    }
    std::string operator()(double v) const { return detail::number_text(v); }
    std::string operator()(const std::string& v) const { return v.empty() ? "\"\"" : v; }
    std::string operator()(const std::vector<std::int64_t>& v) const { return dims_text(v); }
    std::string operator()(const std::vector<double>&) const { return ""; }
    std::string operator()(const std::vector<std::string>&) const { return ""; }
    std::string operator()(const DenseTensor&) const { return ""; }
  } const text{attr};
  return std::visit(text, *attr.default_value);
}

// "`alpha` float = 0.2: the slope where x <= 0"
std::string attribute(const AttrDef& attr) {
  std::string text = "`" + std::string(attr.name) + "` " + type_name(attr.type);
  if (!attr.range().empty()) text += " " + attr.range();
  for (std::size_t i = 0; i < attr.choices.size(); ++i) text += (i == 0 ? " " : "/") + std::string(attr.choices[i]);
  if (attr.default_value) text += " = " + default_of(attr);
  if (attr.is_optional) text += ", optional";
  return text + ": " + std::string(attr.doc);
}

std::string attributes_of(const OpDef& op) {
  std::vector<std::string> lines;
  for (const AttrDef& attr : op.attrs) lines.push_back(attribute(attr));
  return joined(lines, "<br>");
}

std::string table_of(const Family& family) {
  OpRegistry registry;
  family.add(registry);
  std::string table = "| operation | inputs | dtypes | gradient | result | attributes |\n|---|---|---|---|---|---|\n";
  for (const std::string& name : registry.names()) {
    const OpDef& op = *registry.find(name);
    table += "| `" + op.name + "` | " + op.inputs + " | " + op.dtypes + " | " + gradient_of(op) + " | " + cell(op.doc) +
             effect_of(op) + " | " + cell(attributes_of(op)) + " |\n";
  }
  return table;
}

// "`math.h`, `matmul.h`"
std::string header_list(const Group& group) {
  std::vector<std::string> names;
  for (const char* header : group.headers) names.push_back("`" + std::string(header) + "`");
  return joined(names, ", ");
}

}  // namespace

std::string ops_page() {
  std::string page = kIntroduction;
  for (const Group& group : groups()) {
    page += "\n## " + std::string(group.folder) + "\n\n`runtime/ops/" + group.folder +
            "`; in `belay/ops/`: " + header_list(group) + ".\n";
    for (const Family& family : group.families)
      page += "\n### " + std::string(family.title) + "\n\n`belay/ops/" + family.header + "`\n\n" + table_of(family);
  }
  return page;
}

std::vector<OpGroup> op_groups() {
  std::vector<OpGroup> result;
  for (const Group& group : groups()) {
    OpRegistry registry;
    std::vector<std::string> family_headers;
    for (const Family& family : group.families) {
      family.add(registry);
      family_headers.emplace_back(family.header);
    }
    result.push_back(
        {group.folder, {group.headers.begin(), group.headers.end()}, std::move(family_headers), registry.names()});
  }
  return result;
}

}  // namespace belay::runtime
