// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator_spec.h"

#include <fmt/core.h>

#include <algorithm>

#include "belay/ops/shape.h"
#include "runtime/estimator/estimator/estimator_model.h"
#include "runtime/monitored/model/model_service.h"

namespace belay {
namespace {

const Output& output_named(const std::vector<NamedOutput>& from, const char* what, std::string_view name) {
  std::string all;
  for (const NamedOutput& n : from) {
    if (n.name == name) return n.output;
    all += (all.empty() ? "" : ", ") + n.name;
  }
  if (name.empty() && from.size() == 1) return from[0].output;
  fail(Code::kInvalidArgument, std::string("[B5053] the input has no ") + what +
                                   (name.empty() ? "" : " '" + std::string(name) + "'") +
                                   (all.empty()    ? ""
                                    : name.empty() ? " without a name, but several: " + all
                                                   : "; it has: " + all));
}

// Checks the pieces of a model in their order. INVALID_ARGUMENT names the piece.
class SpecCheck {
 public:
  SpecCheck(const Graph& graph, Mode mode, EstimatorPieces& pieces) : graph_(graph), mode_(mode), pieces_(pieces) {}
  // The loss becomes a scalar.
  void run();

 private:
  void check_output(const std::string& piece, const Output& output) const;
  void check_loss();
  void check_predictions() const;
  void check_metrics() const;
  void check_export_outputs() const;

  const Graph& graph_;
  const Mode mode_;
  EstimatorPieces& pieces_;
};

void SpecCheck::run() {
  check_output("train_op", pieces_.train_op);
  if (mode_ == Mode::kTrain && !pieces_.train_op)
    fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: train_op is missing; mode kTrain needs it");
  check_loss();
  check_predictions();
  check_export_outputs();
  runtime::check_hooks("training_hooks", pieces_.training_hooks);
  runtime::check_hooks("evaluation_hooks", pieces_.evaluation_hooks);
  runtime::check_hooks("prediction_hooks", pieces_.prediction_hooks);
  runtime::check_hooks("training_chief_hooks", pieces_.training_chief_hooks);
  check_metrics();
  const Scaffold& s = pieces_.scaffold;
  for (const auto& [name, op] : {std::pair{"init_op", s.init_op},
                                 {"ready_op", s.ready_op},
                                 {"ready_for_local_init_op", s.ready_for_local_init_op},
                                 {"local_init_op", s.local_init_op},
                                 {"summary_op", s.summary_op}})
    check_output(std::string("scaffold.") + name, op);
}

void SpecCheck::check_output(const std::string& piece, const Output& output) const {
  if (output && output.raw().graph != graph_.serial())
    fail(Code::kInvalidArgument,
         "[B5050] EstimatorSpec: " + piece + " is of another graph than the model function was given");
}

void SpecCheck::check_loss() {
  Output& loss = pieces_.loss;
  check_output("loss", loss);
  if (!loss) {
    if (mode_ != Mode::kPredict)
      fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: loss is missing; modes kTrain and kEval need it");
    return;
  }
  if (loss.is_operation()) fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: loss is an operation without a value");
  bool one = loss.rank() >= 0;
  // The reshape finds an unknown dimension when the model runs.
  for (const std::int64_t d : loss.dims()) one = one && (d == 1 || d < 0);
  if (!one)
    fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: loss must be a scalar, and " + loss.text() + " is none");
  if (loss.rank() != 0) loss = ops::reshape(loss, {});
}

void SpecCheck::check_predictions() const {
  const std::vector<NamedOutput>& all = pieces_.predictions;
  if (all.empty() && mode_ == Mode::kPredict)
    fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: predictions are missing; mode kPredict needs them");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string piece = all[i].name.empty() ? "predictions" : "predictions['" + all[i].name + "']";
    if (!all[i].output || all[i].output.is_operation())
      fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: " + piece + " must be a tensor");
    check_output(piece, all[i].output);
    if (all[i].name.empty() && all.size() > 1)
      fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: one of several predictions has no name");
    for (std::size_t j = 0; j < i; ++j)
      if (all[j].name == all[i].name)
        fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: " + piece + " is there twice");
  }
}

void SpecCheck::check_export_outputs() const {
  std::vector<Signature> checked;
  try {
    for (const Signature& s : pieces_.export_outputs) runtime::add_signature(checked, graph_.serial(), s);
  } catch (const Error& e) {
    fail(e.code(), std::string("EstimatorSpec: export_outputs: ") + e.what());
  }
}

void SpecCheck::check_metrics() const {
  for (const auto& [name, metric] : pieces_.eval_metric_ops) {
    const std::string piece = "eval_metric_ops['" + name + "']";
    if (!metric.value || metric.value.is_operation())
      fail(Code::kInvalidArgument, "[B5050] EstimatorSpec: " + piece + ".value must be a tensor");
    if (!metric.update)
      fail(Code::kInvalidArgument,
           "[B5050] EstimatorSpec: " + piece + ".update is missing; it adds a batch to the metric");
    check_output(piece + ".value", metric.value);
    check_output(piece + ".update", metric.update);
    if (mode_ == Mode::kEval && (name == "loss" || name == "global_step"))
      fail(Code::kInvalidArgument,
           "[B5039] EstimatorSpec: " + piece + " is a name that evaluate uses itself; choose another");
  }
}

}  // namespace

Output ModelArgs::feature(std::string_view name) const { return output_named(features, "feature", name); }
Output ModelArgs::label(std::string_view name) const { return output_named(labels, "label", name); }

Output ModelArgs::minimize(const Output& loss, const OptimizerSettings& optimizer) const {
  return runtime::minimize(graph, loss, runtime::model_of(*this).run().optimizer(optimizer));
}

EstimatorSpec::EstimatorSpec(const Graph& graph, Mode mode, EstimatorPieces pieces,
                             std::shared_ptr<const Insides> insides)
    : graph_(graph),
      mode_(mode),
      pieces_(std::move(pieces)),
      insides_(insides != nullptr ? std::move(insides) : std::make_shared<const Insides>()) {
  SpecCheck(graph_, mode_, pieces_).run();
}

EstimatorSpec::EstimatorSpec(const ModelArgs& model, EstimatorPieces pieces)
    : EstimatorSpec(model.graph, model.mode, std::move(pieces)) {}

EstimatorSpec EstimatorSpec::replace(const std::function<void(EstimatorPieces&)>& change) const {
  EstimatorPieces changed = pieces_;
  change(changed);
  return {graph_, mode_, std::move(changed), insides_};
}

// ---- plugins ----

namespace {

std::vector<runtime::PluginOption> options_of(const Params& params) {
  std::vector<runtime::PluginOption> options;
  for (const auto& [name, value] : params) options.push_back({name, value, {.file = "params"}, {.file = "params"}});
  return options;
}

OwnHook own_hook_of(const runtime::ModelOutputs::Hook& hook) {
  OwnHook own;
  own.name = hook.use.name;
  own.plugin = hook.use;
  return own;
}

std::vector<OwnHook>& hooks_of_mode(EstimatorPieces& pieces, Mode mode, const runtime::ModelOutputs::Hook& hook) {
  if (mode == Mode::kEval) return pieces.evaluation_hooks;
  if (mode == Mode::kPredict) return pieces.prediction_hooks;
  return hook.chief_only ? pieces.training_chief_hooks : pieces.training_hooks;
}

// The number of examples in a batch.
Output examples_of(const Output& feature) {
  if (feature.rank() == 0) return {};
  return ops::reshape(ops::slice(ops::shape(feature), {0}, {1}), {});
}

}  // namespace

InputFn input_plugin(const std::string& plugin,
                     const std::vector<std::pair<std::string, runtime::OptionValue>>& options, std::int64_t prefetch) {
  PluginUse use = *plugin_hook(plugin, options).plugin;
  use.at.file = use.plugin_at.file = "input \"" + plugin + "\"";
  return [use, prefetch](const InputArgs& args) {
    const runtime::InputFeed::Tensors tensors = runtime::model_of(args).open_input(use, prefetch);
    return InputResult{tensors.features, tensors.labels, {}, {}};
  };
}

ModelFn model_plugin(const std::string& plugin, const OptimizerSettings& optimizer) {
  return [plugin, optimizer](const ModelArgs& args) {
    PluginUse use;
    use.plugin = plugin;
    use.options = options_of(args.params);
    runtime::EstimatorModel& built = runtime::model_of(args);
    runtime::NodeGraph& graph = built.graph();
    // A prediction has no labels. The model gets the labels of its training.
    std::vector<DeclaredLabel> declared = built.run().schema().labels();
    const auto same = [](const NamedOutput& o, const DeclaredLabel& l) { return o.name == l.name; };
    if (args.mode != Mode::kPredict && !std::ranges::equal(args.labels, declared, same)) declared.clear();
    runtime::ModelOutputs out = runtime::build_model(built.create(runtime::PluginKind::kModel, use), graph, args.mode,
                                                     args.features, args.labels, declared, optimizer.accumulate);
    EstimatorPieces pieces;
    pieces.predictions = out.predictions;
    pieces.loss = out.loss;
    pieces.export_outputs = out.signatures;
    for (const runtime::ModelOutputs::Hook& hook : out.hooks)
      hooks_of_mode(pieces, args.mode, hook).push_back(own_hook_of(hook));
    if (args.mode == Mode::kTrain) {
      runtime::add_train_op(graph, built.run().optimizer(optimizer), out);
      pieces.train_op = out.train_op;
    }
    if (args.mode == Mode::kEval)
      for (const runtime::ModelOutputs::Metric& m : out.metrics)
        pieces.eval_metric_ops[m.name] =
            m.update ? ops::Metric{m.value, m.update}
                     : ops::metrics::mean(m.value, examples_of(args.features.at(0).output), m.name + "_mean");
    auto insides = std::make_shared<const EstimatorSpec::Insides>(EstimatorSpec::Insides{out.initial_values});
    return EstimatorSpec(args.graph, args.mode, std::move(pieces), std::move(insides));
  };
}

}  // namespace belay

namespace belay::runtime {

void need_above_0(const char* option, const std::optional<std::int64_t>& value) {
  if (value && *value <= 0)
    fail(Code::kInvalidArgument, fmt::format("[B5052] {} must be above 0, got {}", option, *value));
}

void check_hooks(const std::string& list, const std::vector<OwnHook>& hooks) {
  for (std::size_t i = 0; i < hooks.size(); ++i)
    if (!hooks[i].plugin && !hooks[i].make)
      fail(Code::kInvalidArgument,
           fmt::format("[B5052] {}[{}] is no hook; make it by own_hook or plugin_hook", list, i));
}

}  // namespace belay::runtime
