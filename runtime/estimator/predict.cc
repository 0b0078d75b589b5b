// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/predict.h"

#include <algorithm>

#include "runtime/monitored/monitored_session.h"

namespace belay::runtime {
namespace {

// Adds the names of the predicted classes to a batch.
class ClassNames {
 public:
  // Borrowed.
  explicit ClassNames(const std::vector<std::string>& names) {
    for (const std::string& name : names) names_.push_back(detail::str(name));
  }

  // The batch itself where it has no classes.
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

Predicted predict(const PredictionSource& source, const std::vector<std::string>& keys, PredictionWriter& writer,
                  const std::function<bool()>& keep_going) {
  Predicted out;
  SessionHost host(source.run, {.mode = Mode::kPredict});
  PredictOptions options;
  options.predict_keys = keys;
  static const std::vector<std::string> kNone;
  const bool wants_names = keys.empty() || std::erase(options.predict_keys, kClassName) != 0;
  if (wants_names && !keys.empty() && std::ranges::find(keys, "class") == keys.end())
    options.predict_keys.emplace_back("class");
  ClassNames names(wants_names ? source.class_names : kNone);
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
    if (batch == nullptr || !writer.write(names.add(*batch))) break;
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
