// SPDX-License-Identifier: Apache-2.0
// The output of `belay graph`: the graph of a manifest, and the plan of its training step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/model.h"
#include "runtime/report/model_layers.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

struct ReportedNode {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;   // "dense/MatMul:0"
  std::vector<std::string> after;    // control edges
  std::vector<std::string> outputs;  // "float32 [?, 10]"
};

struct ReportedVariable {
  std::string name;
  std::string dtype;
  std::string shape;
  std::int64_t elements = 0;
  bool trainable = false;
};

struct ReportedStep {
  std::vector<std::string> nodes;  // more than one: fused
  std::vector<std::string> ops;
  std::vector<std::string> outputs;
  bool waits = false;                       // a queue, or something else outside of the graph
  std::optional<double> microseconds = {};  // the median of the traced steps
};

struct ReportedStage {
  bool commit = false;  // variables are written in it
  std::vector<ReportedStep> steps;
};

struct ReportedPlan {
  int threads = 1;
  std::size_t traced = 0;  // steps
  std::vector<ReportedStage> stages;
  std::vector<std::string> folded;                         // computed when the plan was made
  std::vector<std::pair<std::string, std::string>> twins;  // a node, and the earlier one that replaces it
  std::size_t arena_bytes = 0;
  std::size_t arena_bound = 0;  // the most that is alive at one step: an arena cannot be smaller
};

struct ReportedSignature {
  std::string name;
  std::string method;                                                // "predict", "classify", "regress"
  std::vector<std::pair<std::string, std::string>> inputs, outputs;  // a name, and the output that has it
};

struct GraphReport {
  std::string manifest;
  std::vector<std::pair<std::string, std::string>> roles;  // "loss", and the output that has it
  std::vector<ReportedSignature> signatures;               // that the model exports
  std::vector<ReportedVariable> variables;
  std::vector<ModelLayer> layers;  // of what the loss depends on
  std::vector<ReportedNode> nodes;
  std::optional<ReportedPlan> plan;
};

GraphReport report_graph(const std::string& manifest, const NodeGraph& graph, const std::vector<Signature>& signatures);

// `traces`: of runs of this plan, without extra fetches.
ReportedPlan report_plan(const NodeGraph& graph, const Plan& plan, const PlanStats& stats,
                         const std::vector<RunMetadata>& traces);

std::string text_of(const GraphReport& report);
std::string json_of(const GraphReport& report);

}  // namespace belay::runtime
