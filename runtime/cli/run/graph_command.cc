// SPDX-License-Identifier: Apache-2.0
// `belay graph MANIFEST.toml` prints the graph of a manifest, and the plan of its training step.
#include <iostream>
#include <string>
#include <vector>

#include "runtime/api/log.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/cli/run/graph_report.h"
#include "runtime/cli/watch/watched_run.h"
#include "runtime/estimator/steps/trace_steps.h"
#include "runtime/report/model_layers.h"

namespace belay::runtime {
namespace {

enum class GraphDrawing { kNone, kDot, kSvg };
struct GraphArguments : ManifestArguments {
  bool plan = false;
  bool json = false;
  GraphDrawing drawing = GraphDrawing::kNone;
  bool nodes = false;  // draws each node, not the model by layers
};

GraphArguments graph_arguments(const Given& given) {
  GraphArguments out{manifest_arguments(given)};
  out.plan = given.has("plan");
  out.json = given.has("json");
  const bool dot = given.has("dot"), svg = given.has("svg");
  if (out.json + dot + svg > 1)
    throw UsageError(
        "[B5006] belay graph: --json, --dot and --svg are three formats; give one; see belay graph --help");
  if (dot || svg) out.drawing = dot ? GraphDrawing::kDot : GraphDrawing::kSvg;
  if (out.plan && (dot || svg))
    throw UsageError("[B5006] belay graph: a drawing has no --plan; take --plan or the drawing away");
  out.nodes = given.has("nodes");
  if (out.nodes && !dot && !svg) throw UsageError("[B5006] belay graph: --nodes is for a drawing; add --dot or --svg");
  return out;
}

constexpr int kWarmSteps = 5;
constexpr int kTracedSteps = 21;

std::string drawing_of(const NodeGraph& graph, const GraphArguments& arguments) {
  const std::vector<ModelLayer> layers = arguments.nodes ? nodes_as_layers(model_nodes(graph)) : layers_of(graph);
  return arguments.drawing == GraphDrawing::kDot ? dot_of(layers, arguments.manifests[0])
                                                 : svg_of(layers, arguments.manifests[0], true);
}

// With --plan it runs some training steps from freshly initialized variables. It makes no run directory, and keeps
// nothing.
int graph_command(const GraphArguments& arguments) {
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  WatchedRun prepared(make_platform(*log), control, arguments);
  int status = prepared.find();
  if (status == kExitDone) status = prepared.prepare(Preparation::kGraph);
  if (status != kExitDone) return status;
  PreparedRun& run = *prepared.run;
  GraphReport report = report_graph(arguments.manifests[0], run.model.graph, run.model.outputs.signatures);
  if (arguments.plan) {
    try {
      trace_steps(run.host, run.model, kWarmSteps, kTracedSteps,
                  [&](const Plan& plan, const PlanStats& stats, const std::vector<RunMetadata>& traces) {
                    report.plan = report_plan(run.model.graph, plan, stats, traces);
                  });
    } catch (const Error& e) {
      log_error(*log, std::string("the training steps for --plan failed: ") + e.what());
      return kExitTrainingFailed;
    }
  }
  log->flush();
  if (arguments.drawing != GraphDrawing::kNone) {
    std::cout << drawing_of(run.model.graph, arguments) << std::flush;
    return kExitDone;
  }
  std::cout << (arguments.json ? json_of(report) : text_of(report)) << std::flush;
  return kExitDone;
}

}  // namespace

Command declare_graph() {
  return {.name = "graph",
          .arguments = "MANIFEST.toml...",
          .what = "prints the graph of a manifest, and how a training step runs it",
          .options = manifest_options({
              {"plan", "runs some training steps and reports the time of each node; writes nothing"},
              {"dot", "draws the model by layers in the language of Graphviz"},
              {"svg", "draws the model by layers as SVG"},
              {"nodes", "with --dot or --svg: draws each node of the graph"},
              {"json", "as JSON"},
          }),
          .run = [](const Given& given) { return graph_command(graph_arguments(given)); },
          .computes = true};
}

}  // namespace belay::runtime
