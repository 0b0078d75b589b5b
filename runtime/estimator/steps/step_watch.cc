// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/steps/step_watch.h"

#include <memory>
#include <utility>

#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

class StepWatch final : public Hook {
 public:
  StepWatch(const ModelGraph& model, const RunEnvironment& environment, WatchStep watch)
      : model_(model), environment_(environment), watch_(std::move(watch)) {}

  void after_create_session(Session&) override { until_ = -1; }

  RunArgs before_run(RunContext& run) override {
    const std::int64_t step = from_handle(run.session().raw()).global_step();
    if (step >= until_) list(step);
    const Graph graph = run.session().graph();
    RunArgs args;
    for (const belay_output& o : outputs_) args.fetch(graph.output(o));
    return args;
  }

  void after_run(RunContext& run, const RunValues& values) override {
    const std::int64_t step = from_handle(run.session().raw()).global_step();
    const std::string end = watch_({step, model_.graph, tensors_, values, loss_});
    if (!end.empty()) run.request_stop(end);
  }

 private:
  // Lists the tensors for the steps after this one, if they have the same train operation.
  void list(std::int64_t step) {
    const NodeGraph& graph = model_.graph;
    const Port loss = graph.resolve(model_.outputs.loss.raw());
    PlanKey key;
    key.fetches = {graph.successions().at_step(graph.resolve(model_.outputs.train_op.raw()), step)};
    key.threads = environment_.session.threads;
    key.precision = environment_.session.precision;
    const std::unique_ptr<Plan> plan = make_plan(graph, key, {loss});
    tensors_ = tensors_of(graph, *plan);
    outputs_.clear();
    for (const StepTensor& t : tensors_) outputs_.push_back({graph.serial(), t.port.node, t.port.index});
    Port root = loss;
    if (const ValueId v = plan->value_of(loss); v != kNoValue) root = plan->values[plan->values[v].root].port;
    for (loss_ = 0; loss_ < tensors_.size() && tensors_[loss_].port != root;) ++loss_;
    until_ = graph.successions().empty() ? INT64_MAX : graph.successions().next_after(step);
  }

  const ModelGraph& model_;
  const RunEnvironment& environment_;
  const WatchStep watch_;
  std::vector<StepTensor> tensors_;
  std::vector<belay_output> outputs_;
  std::size_t loss_ = 0;
  std::int64_t until_ = -1;
};

}  // namespace

PluginInstance::MakeHook watch_hook(const ModelGraph& model, const RunEnvironment& environment, WatchStep watch) {
  return [&model, &environment, watch = std::move(watch)](const belay_host_api* api, belay_host* host) {
    return belay::hook(api, host, std::make_unique<StepWatch>(model, environment, watch));
  };
}

}  // namespace belay::runtime
