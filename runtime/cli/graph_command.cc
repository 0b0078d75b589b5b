// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/graph_command.h"

#include <iostream>
#include <string>
#include <vector>

#include "runtime/api/log.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/graph_report.h"
#include "runtime/cli/watched_run.h"
#include "runtime/estimator/steps/trace_steps.h"
#include "runtime/report/model_layers.h"

namespace belay::runtime {
namespace {

constexpr int kWarmSteps = 5;
constexpr int kTracedSteps = 21;

std::string drawing_of(const NodeGraph& graph, const GraphArguments& arguments) {
  const std::vector<ModelLayer> layers = arguments.nodes ? nodes_as_layers(model_nodes(graph)) : layers_of(graph);
  return arguments.drawing == GraphDrawing::kDot ? dot_of(layers, arguments.manifests[0])
                                                 : svg_of(layers, arguments.manifests[0], true);
}

}  // namespace

int graph_command(const GraphArguments& arguments) {
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  RunControl control;
  WatchedRun prepared(make_platform(*log), control, arguments);
  int status = prepared.find({});
  if (status == kExitDone) status = prepared.prepare();
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

}  // namespace belay::runtime
