// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/predict.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/estimator/run/prepared_run.h"
#include "runtime/monitored/layers/monitored_session.h"

namespace belay::runtime {
namespace {

// Adds the names of the predicted classes to a batch.
class ClassNames {
 public:
  // Borrowed.
  explicit ClassNames(const std::vector<std::string>& names) {
    for (const std::string& name : names) names_.push_back(detail::str(name));
  }

  // The batch itself if it has no classes.
  const Prediction& add(const Prediction& batch) {
    const auto found = std::find(batch.names.begin(), batch.names.end(), "class");
    if (names_.empty() || found == batch.names.end()) return batch;
    const TensorView& classes = batch.values[static_cast<std::size_t>(found - batch.names.begin())];
    if (classes.dtype() != DType::kInt64) return batch;
    texts_.clear();
    for (std::size_t i = 0; i < classes.size(); ++i) texts_.push_back(name_of(classes.data<const std::int64_t>()[i]));
    dims_ = classes.dims();
    all_names_.assign(batch.names.begin(), batch.names.end());
    all_names_.emplace_back(kClassName);
    all_values_.assign(batch.values.begin(), batch.values.end());
    all_values_.emplace_back(detail::raw_tensor(DType::kString, static_cast<std::int32_t>(dims_.size()), dims_.data(),
                                                texts_.data(), texts_.size() * sizeof(belay_str)));
    named_ = batch;
    named_.names = all_names_;
    named_.values = all_values_;
    return named_;
  }

 private:
  belay_str name_of(std::int64_t number) const {
    return number >= 0 && static_cast<std::size_t>(number) < names_.size() ? names_[static_cast<std::size_t>(number)]
                                                                           : detail::str("");
  }

  std::vector<belay_str> names_, texts_;
  Dims dims_;
  std::vector<std::string> all_names_;
  std::vector<TensorView> all_values_;
  Prediction named_;
};

}  // namespace

Predicted predict(PreparedRun& run, PredictionWriter& writer, const std::function<void()>& progress) {
  Predicted out;
  SessionHost host(run.host, {.mode = Mode::kPredict});
  const std::vector<std::string>& keys = run.manifest.predict.keys;
  PredictOptions options;
  options.predict_keys = keys;
  const bool wants_names = keys.empty() || std::erase(options.predict_keys, kClassName) != 0;
  if (wants_names && !keys.empty() && std::ranges::find(keys, "class") == keys.end())
    options.predict_keys.emplace_back("class");
  const std::vector<std::string> class_names = wants_names ? run.schema.class_names() : std::vector<std::string>();
  ClassNames names(class_names);
  options.monitor = &run.host.monitor();
  options.declared = run.declared;
  options.fill = [&](DirectSession& session) {
    out.checkpoint = load_checkpoint(run.checkpoint_place(), run.checkpoint_choice(), run.host.codec(), session);
  };
  options.on_built = [&](const ModelOutputs& outputs) {
    add_model_hooks(host, run.plugins, *run.model_instance, outputs);
  };
  Predictions predictions(*run.ops, run.host.environment(), *run.model_instance,
                          run.inputs.at(predict_input(run.manifest)).feed, host.hooks(), std::move(options));
  const auto look_for_stop = [&] {
    progress();
    if (!run.keep_going()) fail(Code::kCancelled, "the prediction was interrupted");
  };
  while (true) {
    look_for_stop();
    const Prediction* batch = predictions.next_batch();
    if (batch == nullptr || !writer.write(names.add(*batch))) break;
  }
  look_for_stop();  // a wait for input ends as the input does
  writer.finish();
  out.totals = writer.totals();
  return out;
}

UsedCheckpoint sample(PreparedRun& run, const std::function<bool(std::string_view)>& deliver) {
  InputFeed& input = *run.inputs.at(predict_input(run.manifest)).feed;
  NodeGraph graph(*run.ops);
  const InputFeed::Tensors tensors = input.add_to_graph(graph);
  const std::vector<DeclaredLabel> own = input.labels();
  const ModelOutputs outputs =
      build_model(*run.model_instance, graph, Mode::kPredict, tensors.features, {}, own.empty() ? run.declared : own);
  LanguageModel model;
  if (tensors.features.size() != 1)
    fail(Code::kInvalidArgument,
         fmt::format("[B5036] text is sampled from a model of one feature, the ids of characters; the input has {}",
                     tensors.features.size()));
  model.ids = tensors.features[0].output;
  for (const NamedOutput& p : outputs.predictions)
    if (p.name == "probabilities") model.probabilities = p.output;
  for (const InputComponent& c : input.components())
    if (!c.label && c.name != kIdName) model.names = c.class_names;
  UsedCheckpoint used;
  ScaffoldOptions pieces;
  pieces.host_init = [&](const SessionScaffold&, DirectSession& session) {
    used = load_checkpoint(run.checkpoint_place(), run.checkpoint_choice(), run.host.codec(), session);
  };
  HookSet no_hooks;
  MonitoredSessionOptions settings;
  settings.monitor = &run.host.monitor();
  SingularMonitoredSession session(graph, run.host.environment(), no_hooks,
                                   {.scaffold = std::make_shared<SessionScaffold>(std::move(pieces))},
                                   std::move(settings));
  const PredictSettings& given = run.manifest.predict;
  const SampleOptions options{.prompt = given.prompt,
                              .length = given.length,
                              .temperature = given.temperature,
                              .seed = static_cast<std::uint64_t>(given.seed)};
  session.scope([&] { sample_text(*session.raw_session(), model, options, deliver); });
  return used;
}

}  // namespace belay::runtime
