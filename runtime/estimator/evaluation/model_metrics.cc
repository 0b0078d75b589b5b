// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/model_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "belay/ops/metrics.h"
#include "runtime/data/input_feed.h"
#include "runtime/loader/file/load_error.h"  // at_text
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

namespace metrics = ops::metrics;

const std::string kOfInput = std::string(kInputScope) + "/";

// Returns roles, and features and labels by their plain names: a user is most likely to mean these.
std::vector<std::string> short_names(const NodeGraph& graph) {
  std::vector<std::string> names;
  for (const auto& [role, port] : graph.roles()) names.push_back(role);
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.name.rfind(kOfInput, 0) != 0 || node.op->role != Role::kIdentity) continue;
    const std::string name = node.name.substr(kOfInput.size());
    if (graph.roles().count(name) == 0) names.push_back(name);
  }
  return names;
}

[[noreturn]] void fail_unknown(const NodeGraph& graph, const TensorName& tensor) {
  const std::vector<std::string> known = short_names(graph);
  std::vector<std::string> all = known;
  for (std::uint32_t i = 0; i < graph.size(); ++i) all.push_back(graph.node(i).name);
  const std::string near = nearest(tensor.name, all);
  fail(Code::kNotFound, fmt::format("{}[B5038] the graph has no {}{}", at_text(tensor.at), single_quoted(tensor.name),
                                    near.empty() ? "; the model and the input have " + joined(known) +
                                                       ", and `belay graph` lists the nodes"
                                                 : "; did you mean '" + near + "'?"));
}

// Whether a name is looked for first in the model, or among the input's features and labels.
enum class First { kModel, kInput };

Output find_tensor(NodeGraph& graph, const TensorName& tensor, First first) {
  if (tensor.name.empty()) return Output();
  const std::string of_input = kOfInput + tensor.name;
  const bool in_input = graph.find_node(of_input) != nullptr;
  const bool in_model = graph.roles().count(tensor.name) != 0 ||
                        graph.find_node(std::string_view(tensor.name).substr(0, tensor.name.rfind(':'))) != nullptr;
  if (!in_input && !in_model) fail_unknown(graph, tensor);
  const bool take_input = in_input && (first == First::kInput || !in_model);
  try {
    const Output o = graph.output(graph.find(take_input ? of_input : tensor.name));
    if (o.is_operation())
      fail(Code::kInvalidArgument,
           fmt::format("[B5038] {} is an operation; a metric is made from tensors", single_quoted(tensor.name)));
    return o;
  } catch (const Error& e) {
    fail(e.code(), at_text(tensor.at) + std::string(e.message()));
  }
}

struct Tensors {
  Output labels, predictions, values, weights;
};
Tensors find_tensors(NodeGraph& graph, const MetricSection& m) {
  return {find_tensor(graph, m.labels, First::kInput), find_tensor(graph, m.predictions, First::kModel),
          find_tensor(graph, m.values, First::kModel), find_tensor(graph, m.weights, First::kInput)};
}

// ---- metrics that count by batches

// Finds a metric that adds up over all batches already; none if the tensor belongs to none.
const ModelOutputs::Metric* total_of_all(const std::vector<ModelOutputs::Metric>& metrics, const Output& tensor) {
  for (const ModelOutputs::Metric& m : metrics)
    if (tensor && m.update && m.value.raw().node == tensor.raw().node && m.value.raw().index == tensor.raw().index)
      return &m;
  return nullptr;
}

void refuse_totals(const MetricSection& m, const Tensors& t, const std::vector<ModelOutputs::Metric>& metrics) {
  const struct {
    const TensorName& name;
    const Output& tensor;
  } used[] = {{m.labels, t.labels}, {m.predictions, t.predictions}, {m.values, t.values}, {m.weights, t.weights}};
  for (const auto& u : used)
    if (total_of_all(metrics, u.tensor) != nullptr)
      fail(Code::kInvalidArgument, fmt::format("{}[B5038] {} is a metric already, which adds up over all batches; name "
                                               "what each example has, such as a prediction",
                                               at_text(u.name.at), single_quoted(u.name.name)));
}

// Whether a tensor belongs to a batch as a whole and not to its examples: no dimension depends on their number.
bool is_of_batch(const Output& tensor) {
  if (!tensor || tensor.rank() < 0) return false;
  const Dims dims = tensor.dims();
  return std::none_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; });
}

// The number of examples in the batch, float64. Empty: the graph has no input with a variable number of examples.
Output examples_of_batch(NodeGraph& graph) {
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.name.rfind(kOfInput, 0) != 0 || node.op->role != Role::kIdentity) continue;
    const Output x = graph.output({i, 0});
    if (x.rank() < 1 || x.dim(0) >= 0) continue;
    return ops::cast(ops::squeeze(ops::slice(ops::shape(x), {0}, {1}), {0}), DType::kFloat64);
  }
  return {};
}

// Weights a batch's mean by the examples of the batch. Otherwise a short last batch would count as much as a whole one.
void weigh_by_examples(NodeGraph& graph, Tensors& t) {
  const Output& counted = t.values ? t.values : t.predictions;
  if (!t.weights && is_of_batch(counted)) t.weights = examples_of_batch(graph);
}

// ---- class_id: labels and predicted classes as booleans, probabilities of classes as those of this one

Output is_class(const Output& x, std::int64_t id) {
  return ops::equal(x, ops::scalar(x.graph(), static_cast<double>(id), x.dtype()));
}
Output column(const Output& probabilities, std::int64_t id) {
  if (probabilities.rank() < 1) return probabilities;
  std::vector<std::int64_t> begin(static_cast<std::size_t>(probabilities.rank()), 0), size(begin.size(), -1);
  begin.back() = id, size.back() = 1;
  return ops::squeeze(ops::slice(probabilities, begin, size), {-1});
}
Tensors of_class(Tensors t, const MetricSection& m) {
  if (!m.class_id) return t;
  t.labels = is_class(t.labels, *m.class_id);
  t.predictions = m.kind == "auc" ? column(t.predictions, *m.class_id) : is_class(t.predictions, *m.class_id);
  return t;
}

// ---- kinds

using Compare = ops::Metric (*)(const Output& labels, const Output& predictions, const Output& weights,
                                std::string_view name);
const std::map<std::string, Compare>& comparisons() {
  static const std::map<std::string, Compare> all{{"accuracy", metrics::accuracy},
                                                  {"precision", metrics::precision},
                                                  {"recall", metrics::recall},
                                                  {"mean_squared_error", metrics::mean_squared_error},
                                                  {"root_mean_squared_error", metrics::root_mean_squared_error},
                                                  {"mean_absolute_error", metrics::mean_absolute_error},
                                                  {"true_positives", metrics::true_positives},
                                                  {"true_negatives", metrics::true_negatives},
                                                  {"false_positives", metrics::false_positives},
                                                  {"false_negatives", metrics::false_negatives}};
  return all;
}

ops::Metric make_metric(const MetricSection& m, const Tensors& t) {
  if (const auto found = comparisons().find(m.kind); found != comparisons().end())
    return found->second(t.labels, t.predictions, t.weights, m.role());
  if (m.kind == "mean") return metrics::mean(t.values, t.weights, m.role());
  if (m.kind == "perplexity") return metrics::perplexity(t.values, t.weights, m.role());
  if (m.kind == "in_top_k") return metrics::in_top_k(t.labels, t.predictions, m.k, t.weights, m.role());
  if (m.kind == "confusion_matrix")
    return metrics::confusion_matrix(t.labels, t.predictions, m.classes.value_or(0), t.weights, m.role());
  if (m.kind == "auc")
    return metrics::auc(t.labels, t.predictions, t.weights, m.num_thresholds,
                        m.curve == "pr" ? metrics::Curve::kPrecisionRecall : metrics::Curve::kRoc, m.role());
  fail(Code::kInvalidArgument, "[B5038] there is no kind of metric " + single_quoted(m.kind));
}

ops::Metric make_at_its_place(NodeGraph& graph, const MetricSection& m, Tensors tensors,
                              const std::vector<ModelOutputs::Metric>& metrics) {
  const ModelOutputs::Metric* whole = total_of_all(metrics, tensors.values);
  if (whole != nullptr && m.kind == "mean" && !tensors.weights && whole->value.rank() == 0) {
    const auto scope = graph.handle().scope(m.role());
    return {ops::identity(whole->value, "value"), whole->update};
  }
  refuse_totals(m, tensors, metrics);
  weigh_by_examples(graph, tensors);
  try {
    return make_metric(m, of_class(tensors, m));
  } catch (const Error& e) {
    fail(e.code(), at_text(m.at) + "metric " + single_quoted(m.role()) + ": " + std::string(e.message()));
  }
}

}  // namespace

void add_metrics(NodeGraph& graph, const std::vector<MetricSection>& sections, ModelOutputs& outputs) {
  if (sections.empty()) return;
  const belay::Graph g = graph.handle();
  const auto scope = g.scope("metrics");
  for (const MetricSection& m : sections) {
    if (graph.roles().count(m.role()) != 0)
      fail(Code::kInvalidArgument,
           fmt::format("{}[B5039] the model has its own {}; name the metric otherwise: name = \"my_{}\"",
                       at_text(m.name_at), single_quoted(m.role()), m.role()));
    const ops::Metric made = make_at_its_place(graph, m, find_tensors(graph, m), outputs.metrics);
    outputs.metrics.push_back({m.role(), made.value, made.update});
    graph.set_role(m.role(), graph.resolve(made.value.raw()));
  }
}

}  // namespace belay::runtime
