// SPDX-License-Identifier: Apache-2.0
// The scalars that a training shows by default: the loss, the model's metrics, the learning rate. Also the number of
// examples in a step.
#pragma once

#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

struct NamedScalar {
  std::string name;
  belay::Output output;
};

inline bool is_scalar_number(const belay::Output& output) {
  return !output.is_operation() && output.rank() <= 0 && output.dtype() != belay::DType::kString;
}

// Returns the output of a scalar summary if the graph knows it by the summary's tag. Empty: another summary.
inline belay::Output shown_by_its_name(const belay::Graph& graph, const belay::Output& summary,
                                       const std::string& tag) {
  const belay::Output shown = graph.inputs_of(summary)[0];
  try {
    const belay::Output named = graph.find_if_exists(tag);
    const bool same = named && named.raw().node == shown.raw().node && named.raw().index == shown.raw().index &&
                      is_scalar_number(named);
    return same ? named : belay::Output();
  } catch (const belay::Error&) {  // the tag names a node with several outputs
    return {};
  }
}

// Returns the loss, then the metrics by name, then the learning rate. Call it in Hook::begin. The host makes a scalar
// summary of each of them, with their role as its tag.
inline std::vector<NamedScalar> training_scalars(const belay::Graph& graph) {
  std::vector<NamedScalar> found;
  for (const belay::Output& summary : graph.collection(belay::collections::kSummaries)) {
    if (graph.op_of(summary) != "ScalarSummary") continue;
    const std::string tag(belay::detail::view(*static_cast<const belay_str*>(graph.attr_of(summary, "tag").data)));
    if (tag == "loss" || tag == "learning_rate") continue;
    if (const belay::Output output = shown_by_its_name(graph, summary, tag)) found.push_back({tag, output});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (const belay::Output loss = graph.find_if_exists("loss"); loss && is_scalar_number(loss))
    found.insert(found.begin(), {"loss", loss});
  if (graph.collection_size("learning_rate") == 1)
    found.push_back({"learning_rate", graph.collection_item("learning_rate", 0)});
  return found;
}

// Returns the step of a metric's evaluation, "eval/global_step" for "eval/accuracy". Empty: any other scalar.
inline belay::Output step_of_evaluation(const belay::Graph& graph, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == name.npos) return {};
  const std::string input = name.substr(0, slash);
  if (input != "eval" && input.rfind("eval_", 0) != 0) return {};
  return graph.find_if_exists(input + "/global_step");
}

// Returns the metrics of the evaluations between two steps, which the host keeps in local variables. Call it in
// Hook::begin.
inline std::vector<NamedScalar> evaluation_scalars(const belay::Graph& graph) {
  std::vector<NamedScalar> found;
  for (const belay::Output& variable : graph.collection(belay::collections::kLocalVariables)) {
    const std::string name = graph.node_name_of(variable);
    if (is_scalar_number(variable) && step_of_evaluation(graph, name)) found.push_back({name, variable});
  }
  return found;
}

// Returns the scalars that an option names. Call it in Hook::begin. NOT_FOUND and INVALID_ARGUMENT name the tensor;
// `hook` begins the message.
inline std::vector<NamedScalar> named_scalars(const belay::Graph& graph, const std::vector<std::string>& names,
                                              const std::string& hook) {
  std::vector<NamedScalar> scalars;
  for (const std::string& name : names) {
    const belay::Output output = graph.find(name);
    if (!is_scalar_number(output))
      belay::fail(belay::Code::kInvalidArgument, hook + " shows scalar numbers, '" + name + "' is none");
    scalars.push_back({name, output});
  }
  return scalars;
}

// Counts the examples of a step by a tensor of its last batch, over all processes that train together. That number of
// processes may become smaller at a step.
class ExamplesPerStep {
 public:
  ExamplesPerStep() = default;
  ExamplesPerStep(const belay::Graph& graph, const belay::Host& host) : host_(&host) {
    for (const belay::Output& tensor : graph.collection(belay::collections::kInputBatch))
      if (tensor.rank() >= 1 && (!tensor_ || tensor.rank() < tensor_.rank())) tensor_ = tensor;
    if (tensor_) graph.fetch(tensor_);
    const belay::Output loss = graph.find_if_exists("loss");
    const std::string op = loss ? graph.op_of(loss) : std::string();
    const auto attr = [&](const char* name) {
      return *static_cast<const std::int64_t*>(graph.attr_of(loss, name).data);
    };
    if (op == "MeanOverBatches") batches_ = attr("batches");
    if (op != "MeanOverRanks") return;
    batches_ = attr("batches");
    over_ranks_ = true;
  }
  // Fetch it to get the number; empty: it is not known.
  const belay::Output& tensor() const noexcept { return tensor_; }
  std::int64_t of(const belay::RunValues& values) const {
    const belay::TensorView batch = values[tensor_];
    return batch.dims().empty() ? 0 : batch.dims()[0] * batches_ * (over_ranks_ ? host_->ranks() : 1);
  }

 private:
  belay::Output tensor_;
  const belay::Host* host_ = nullptr;
  std::int64_t batches_ = 1;
  bool over_ranks_ = false;
};
