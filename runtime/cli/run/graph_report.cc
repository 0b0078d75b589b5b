// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/graph_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"
#include "runtime/report/markup.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> outputs_of(const Node& n) {
  std::vector<std::string> texts;
  for (const auto& [dtype, shape] : n.outputs) texts.push_back(dtype_name(dtype) + (" " + shape.text()));
  return texts;
}

ReportedNode report_node(const NodeGraph& graph, const Node& n) {
  ReportedNode r{.name = n.name, .op = n.op->name, .inputs = {}, .after = {}, .outputs = outputs_of(n)};
  for (const Port& in : n.inputs) r.inputs.push_back(graph.port_name(in));
  for (const std::uint32_t c : n.control_inputs) r.after.push_back(graph.node(c).name);
  return r;
}

ReportedStep report_step(const PlanStep& step) {
  ReportedStep r;
  std::vector<const Node*> nodes = step.members;
  if (nodes.empty()) nodes.push_back(step.node);
  for (const Node* n : nodes) {
    r.nodes.push_back(n->name);
    // A variable's value at its read, kept for a stage that runs after the next write.
    r.ops.push_back(n->op->effect == Effect::kVariable ? "Copy" : n->op->name);
  }
  r.outputs = outputs_of(*nodes.back());
  return r;
}

// The median of entry i over the traces; all traces have the same entries.
double median_microseconds(const std::vector<RunMetadata>& traces, std::size_t i) {
  std::vector<std::int64_t> times;
  for (const RunMetadata& t : traces) times.push_back(t.nodes[i].end_ns - t.nodes[i].start_ns);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) / 1000;
}

std::string fixed(double x) { return fixed_text(x, 1); }

std::int64_t trainable_parameters(const GraphReport& report) {
  std::int64_t n = 0;
  for (const ReportedVariable& v : report.variables) n += v.trainable ? v.elements : 0;
  return n;
}

// ---- text

void add_plan_text(const ReportedPlan& plan, std::string& text) {
  text += fmt::format("\nplan of a training step, {}{}; microseconds are the median of {} steps\n", plan.threads,
                      plan.threads == 1 ? " thread" : " threads", plan.traced);
  double all = 0;
  std::size_t fused = 0, number = 0;
  for (const ReportedStage& stage : plan.stages) {
    text += fmt::format("  stage {}{}", number++, stage.commit ? ", commit\n" : "\n");
    TextTable table;
    for (const ReportedStep& s : stage.steps) {
      fused += s.nodes.size() > 1 ? 1 : 0;
      all += s.waits ? 0 : s.microseconds.value_or(0);
      table.add({s.microseconds ? fixed(*s.microseconds) : "-", joined(s.ops, " + "), s.nodes.back(),
                 s.waits ? "waits" : joined(s.outputs, ", ")});
    }
    text += table.text("    ");
  }
  text += fmt::format("  {} us without waits\n  fused steps: {}, folded nodes: {}, merged nodes: {}\n", fixed(all),
                      fused, plan.folded.size(), plan.twins.size());
  for (const std::string& name : plan.folded) text += "    folded  " + escaped(name) + "\n";
  for (const auto& [name, twin] : plan.twins) text += "    merged  " + escaped(name) + " = " + escaped(twin) + "\n";
  text +=
      "  arena " + bytes_text(plan.arena_bytes) + ", of which " + bytes_text(plan.arena_bound) + " are alive at once\n";
}

std::string signatures_text(const std::vector<ReportedSignature>& signatures) {
  TextTable table;
  for (const ReportedSignature& s : signatures) {
    table.add({s.name, s.method, "", ""});
    for (const auto& [name, port] : s.inputs) table.add({"", "input", name, port});
    for (const auto& [name, port] : s.outputs) table.add({"", "output", name, port});
  }
  return table.text("  ");
}

std::string layers_text(const std::vector<ModelLayer>& layers) {
  TextTable table;
  table.add({"layer", "operations", "output", "parameters", "FLOPs"});
  for (const ModelLayer& l : layers)
    table.add({l.name, ops_text(l), l.output.text(), grouped_number(l.parameters), short_count(l.flops)});
  table.add({"all", "", "", grouped_number(parameters_of(layers)), short_count(flops_of(layers))});
  return table.text("  ");
}

// ---- JSON

Json json_of(const ModelLayer& layer) {
  return {{"name", layer.name},
          {"ops", layer.ops},
          {"output", layer.output.text()},
          {"parameters", layer.parameters},
          {"flops", layer.flops}};
}

Json json_of(const ReportedSignature& signature) {
  Json inputs = Json::object(), outputs = Json::object();
  for (const auto& [name, port] : signature.inputs) inputs[name] = port;
  for (const auto& [name, port] : signature.outputs) outputs[name] = port;
  return {{"name", signature.name}, {"method", signature.method}, {"inputs", inputs}, {"outputs", outputs}};
}

Json json_of(const ReportedPlan& plan) {
  Json stages = Json::array();
  for (const ReportedStage& stage : plan.stages) {
    Json steps = Json::array();
    for (const ReportedStep& s : stage.steps) {
      Json step = {{"nodes", s.nodes}, {"ops", s.ops}, {"outputs", s.outputs}, {"waits", s.waits}};
      step["microseconds"] = s.microseconds ? Json(*s.microseconds) : Json();
      steps.push_back(std::move(step));
    }
    stages.push_back({{"commit", stage.commit}, {"steps", std::move(steps)}});
  }
  Json merged = Json::array();
  for (const auto& [name, twin] : plan.twins) merged.push_back({{"node", name}, {"twin", twin}});
  return {{"threads", plan.threads},        {"traced_steps", plan.traced}, {"stages", std::move(stages)},
          {"folded", plan.folded},          {"merged", std::move(merged)}, {"arena_bytes", plan.arena_bytes},
          {"arena_bound", plan.arena_bound}};
}

}  // namespace

GraphReport report_graph(const std::string& manifest, const NodeGraph& graph,
                         const std::vector<Signature>& signatures) {
  GraphReport report;
  report.manifest = manifest;
  for (const auto& [role, port] : graph.roles()) report.roles.emplace_back(role, graph.port_name(port));
  const auto ports = [&](const std::vector<NamedOutput>& outputs) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const NamedOutput& o : outputs) all.emplace_back(o.name, graph.port_name(graph.resolve(o.output.raw())));
    return all;
  };
  for (const Signature& s : signatures)
    report.signatures.push_back({s.name, s.method, ports(s.inputs), ports(s.outputs)});
  report.layers = layers_of(graph);
  std::unordered_set<std::uint32_t> trainable;
  for (const Port& p : graph.collection(collections::kTrainableVariables)) trainable.insert(p.node);
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& n = graph.node(id);
    report.nodes.push_back(report_node(graph, n));
    if (n.op->effect != Effect::kVariable) continue;
    const auto& [dtype, shape] = n.outputs[0];
    report.variables.push_back({n.name, dtype_name(dtype), shape.text(), shape.elements(), trainable.count(id) != 0});
  }
  return report;
}

ReportedPlan report_plan(const NodeGraph& graph, const Plan& plan, const PlanStats& stats,
                         const std::vector<RunMetadata>& traces) {
  ReportedPlan report;
  report.threads = plan.key.threads;
  report.traced = traces.size();
  report.arena_bytes = stats.arena_bytes;
  report.arena_bound = stats.arena_bound;
  std::size_t at = 0;
  const auto take_time = [&](const Node& n, ReportedStep& step) {
    const bool traced = std::all_of(traces.begin(), traces.end(), [&](const RunMetadata& t) {
      return at < t.nodes.size() && t.nodes[at].node == n.id;
    });
    if (traced && !traces.empty()) step.microseconds = median_microseconds(traces, at);
    ++at;
  };
  for (const PlanStage& stage : plan.stages) {
    ReportedStage r{stage.commit, {}};
    for (const PlanStep& step : stage.steps) {
      if (step.slot != kNoValue) continue;
      r.steps.push_back(report_step(step));
      take_time(*step.node, r.steps.back());
    }
    for (const PlanHostStep& step : stage.host_steps) {
      r.steps.push_back({{step.node->name}, {step.node->op->name}, outputs_of(*step.node), true});
      take_time(*step.node, r.steps.back());
    }
    if (!r.steps.empty()) report.stages.push_back(std::move(r));
  }
  for (const std::uint32_t id : plan.folded) report.folded.push_back(graph.node(id).name);
  for (const auto& [id, twin] : plan.twins) report.twins.emplace_back(graph.node(id).name, graph.node(twin).name);
  return report;
}

std::string text_of(const GraphReport& report) {
  std::string text =
      fmt::format("{}: {} nodes, {} variables, {} trainable parameters\n\nroles\n", escaped(report.manifest),
                  report.nodes.size(), report.variables.size(), trainable_parameters(report));
  TextTable roles, variables, nodes;
  for (const auto& [role, port] : report.roles) roles.add({role, port});
  text += roles.text("  ");
  if (!report.signatures.empty()) text += "\nsignatures\n" + signatures_text(report.signatures);
  if (!report.layers.empty())
    text += "\nlayers: what the loss depends on, with the FLOPs of one example's forward pass\n" +
            layers_text(report.layers);
  text += "\nvariables\n";
  for (const ReportedVariable& v : report.variables)
    variables.add({v.name, v.dtype + " " + v.shape, std::to_string(v.elements), v.trainable ? "trainable" : ""});
  text += variables.text("  ") + "\nnodes\n";
  for (const ReportedNode& n : report.nodes) {
    std::vector<std::string> needs = n.inputs;
    for (const std::string& c : n.after) needs.push_back("^" + c);
    nodes.add({n.name, n.op, joined(n.outputs, ", "), joined(needs, ", ")});
  }
  text += nodes.text("  ");
  if (report.plan) add_plan_text(*report.plan, text);
  return text;
}

std::string json_of(const GraphReport& report) {
  Json roles = Json::object(), signatures = Json::array(), variables = Json::array(), nodes = Json::array();
  for (const auto& [role, port] : report.roles) roles[role] = port;
  for (const ReportedSignature& s : report.signatures) signatures.push_back(json_of(s));
  Json layers = Json::array();
  for (const ModelLayer& l : report.layers) layers.push_back(json_of(l));
  for (const ReportedVariable& v : report.variables)
    variables.push_back({{"name", v.name},
                         {"dtype", v.dtype},
                         {"shape", v.shape},
                         {"elements", v.elements},
                         {"trainable", v.trainable}});
  for (const ReportedNode& n : report.nodes)
    nodes.push_back({{"name", n.name}, {"op", n.op}, {"inputs", n.inputs}, {"after", n.after}, {"outputs", n.outputs}});
  Json all = {{"manifest", report.manifest}, {"trainable_parameters", trainable_parameters(report)},
              {"roles", std::move(roles)},   {"signatures", std::move(signatures)},
              {"layers", std::move(layers)}, {"variables", std::move(variables)},
              {"nodes", std::move(nodes)}};
  if (report.plan) all["plan"] = json_of(*report.plan);
  return shown_json(all.dump(2)) + "\n";
}

}  // namespace belay::runtime
