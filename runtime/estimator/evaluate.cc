// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluate.h"

#include <cstdio>

#include "runtime/monitored/monitored_session.h"

namespace belay::runtime {
namespace {

void copy_variables(DirectSession& session, VariableStore& trained) {
  for (const Variable* v : session.variables()) {
    const Variable* from = trained.find(v->name);
    if (from == nullptr || !from->initialized)
      fail(Code::kFailedPrecondition,
           "the model in mode eval has the variable '" + v->name +
               "', which training has not got; a model must make the same variables in both");
    session.store().assign(v->name, TensorView(from->value.view()));
  }
}

}  // namespace

EvalResult evaluate(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
                    const std::shared_ptr<InputFeed>& input, VariableStore& trained,
                    const std::function<bool()>& keep_going) {
  NodeGraph graph(ops);
  const InputFeed::Tensors tensors = input->add_to_graph(graph);
  const ModelOutputs outputs = build_model(model, graph, Mode::kEval, tensors.features, tensors.labels);

  std::vector<FetchRef> fetches{outputs.loss};
  for (const ModelOutputs::Metric& m : outputs.metrics) fetches.push_back(m.update ? m.update.operation() : m.value);
  const Output first = tensors.features[0].output;
  fetches.push_back(first);  // its first dimension is the number of examples

  ScaffoldOptions options;
  options.init_fn = [&trained](const Scaffold&, DirectSession& session) { copy_variables(session, trained); };
  HookSet no_hooks;
  SingularMonitoredSession session(graph, environment, no_hooks,
                                   {.scaffold = std::make_shared<Scaffold>(std::move(options))});
  EvalResult result;
  result.global_step = session.raw_session()->global_step();
  std::vector<double> sums(outputs.metrics.size() + 1, 0);
  FetchSet set(fetches);
  session.scope([&] {
    while (!session.should_stop()) {
      if (!keep_going()) fail(Code::kCancelled, "the evaluation was interrupted");
      RunCall call;
      call.fetches = &set;
      std::optional<Run> run;
      try {
        run = session.run(call);
      } catch (const Error& e) {
        if (!is_end_of_input(e.code())) throw;
        break;
      }
      const TensorView batch(run->result(set, fetches.size() - 1));
      const std::int64_t n = batch.rank() == 0 ? 1 : batch.dim(0);
      result.examples += n;
      ++result.batches;
      sums[0] += static_cast<double>(n) * TensorView(run->result(set, 0)).number(0);
      for (std::size_t i = 0; i < outputs.metrics.size(); ++i)
        if (!outputs.metrics[i].update)
          sums[i + 1] += static_cast<double>(n) * TensorView(run->result(set, i + 1)).number(0);
    }
    // Metrics with a state of their own are read before the session, and the state with it, is gone.
    for (std::size_t i = 0; i < outputs.metrics.size(); ++i)
      if (outputs.metrics[i].update)
        sums[i + 1] = session.raw_session()->handle().run({outputs.metrics[i].value})[0].number(0) *
                      static_cast<double>(result.examples);
  });
  if (result.examples == 0) fail(Code::kFailedPrecondition, "the evaluation's input has no examples");
  const auto examples = static_cast<double>(result.examples);
  result.metrics.emplace_back("loss", sums[0] / examples);
  for (std::size_t i = 0; i < outputs.metrics.size(); ++i)
    result.metrics.emplace_back(outputs.metrics[i].name, sums[i + 1] / examples);
  return result;
}

std::string metrics_text(const EvalResult& result) {
  std::string text;
  for (const auto& [name, value] : result.metrics) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.6g", value);
    text += (text.empty() ? "" : ", ") + name + " = " + number;
  }
  return text;
}

}  // namespace belay::runtime
