// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/predict.h"

#include "runtime/monitored/monitored_session.h"

namespace belay::runtime {

Predicted predict(const PredictionSource& source, const std::vector<std::string>& keys, PredictionWriter& writer,
                  const std::function<bool()>& keep_going) {
  Predicted out;
  SessionHost host(source.run, {.mode = Mode::kPredict});
  PredictOptions options;
  options.predict_keys = keys;
  options.monitor = &source.run.monitor();
  options.declared = source.declared;
  options.fill = [&](DirectSession& session) {
    out.checkpoint = load_checkpoint(source.place, source.choice, source.run.codec(), session);
  };
  if (source.add_hooks) options.on_built = [&](const ModelOutputs& outputs) { source.add_hooks(host, outputs); };
  Predictions predictions(source.ops, source.run.environment(), source.model, source.input, host.hooks(),
                          std::move(options));
  const auto interrupted = [] { fail(Code::kCancelled, "the prediction was interrupted"); };
  while (true) {
    if (!keep_going()) interrupted();
    const Prediction* batch = predictions.next_batch();
    if (batch == nullptr || !writer.write(*batch)) break;
  }
  if (!keep_going()) interrupted();  // a wait for input ends as the input does
  writer.finish();
  out.totals = writer.totals();
  return out;
}

UsedCheckpoint sample(const PredictionSource& source, const SampleOptions& options,
                      const std::function<bool(std::string_view)>& deliver) {
  NodeGraph graph(source.ops);
  const InputFeed::Tensors tensors = source.input->add_to_graph(graph);
  const std::vector<DeclaredLabel> own = declared_labels(source.input->components());
  const ModelOutputs outputs =
      build_model(source.model, graph, Mode::kPredict, tensors.features, {}, own.empty() ? source.declared : own);
  LanguageModel model;
  if (tensors.features.size() != 1)
    fail(Code::kInvalidArgument, "text is sampled from a model of one feature, the ids of characters; the input has " +
                                     std::to_string(tensors.features.size()));
  model.ids = tensors.features[0].output;
  for (const NamedOutput& p : outputs.predictions)
    if (p.name == "probabilities") model.probabilities = p.output;
  for (const InputComponent& c : source.input->components())
    if (!c.label && c.name != kIdName) model.names = c.class_names;
  UsedCheckpoint used;
  ScaffoldOptions pieces;
  pieces.init_fn = [&](const Scaffold&, DirectSession& session) {
    used = load_checkpoint(source.place, source.choice, source.run.codec(), session);
  };
  HookSet no_hooks;
  MonitoredSessionOptions settings;
  settings.monitor = &source.run.monitor();
  SingularMonitoredSession session(graph, source.run.environment(), no_hooks,
                                   {.scaffold = std::make_shared<Scaffold>(std::move(pieces))}, std::move(settings));
  session.scope([&] { sample_text(*session.raw_session(), model, options, deliver); });
  return used;
}

}  // namespace belay::runtime
