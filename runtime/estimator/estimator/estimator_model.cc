// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator_model.h"

#include <fmt/core.h>

#include <map>

#include "belay/ops/control.h"
#include "belay/ops/variables.h"
#include "belay/runtime/default_graph.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/monitored/saving/default_pieces.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// A checkpoint keeps the position of an input under this name.
const std::map<Mode, std::string> kModeNames = {
    {Mode::kTrain, "train"}, {Mode::kEval, "eval"}, {Mode::kPredict, "predict"}};

InputUse use_of(Mode mode) {
  return mode == Mode::kTrain  ? InputUse::kTraining
         : mode == Mode::kEval ? InputUse::kEvaluation
                               : InputUse::kPrediction;
}

}  // namespace

EstimatorModel::EstimatorModel(EstimatorRun& run, Mode mode, const InputFn& input)
    : run_(run), mode_(mode), graph_(run.ops()) {
  if (!input) fail(Code::kInvalidArgument, "[B5052] the Estimator was given no input function");
  const EstimatorOptions& o = run.settings().options;
  const belay::Graph g = graph_.handle();
  ops::create_global_step(g);
  const DefaultGraph scope(g);
  InputResult in = input({g, mode, o.params, o.config, this});
  check_hooks("the input function's hooks", in.hooks);
  input_hooks_ = std::move(in.hooks);
  if (mode == Mode::kPredict) in.labels.clear();
  if (inputs_.empty()) match_own(in);
  if (!in.features.empty()) batch_ = {in.features[0].output.operation()};
  spec_ = run.settings().model({g, std::move(in.features), std::move(in.labels), mode, o.params, o.config, this});
  if (spec_->mode() != mode || spec_->graph().serial() != graph_.serial())
    fail(Code::kInvalidArgument, "[B5052] the model function returned the EstimatorSpec of another call");
  for (const NamedOutput& p : pieces().predictions)
    if (!p.name.empty()) graph_.set_role(p.name, graph_.resolve(p.output.raw()));
  if (pieces().loss) graph_.set_role("loss", graph_.resolve(pieces().loss.raw()));
}

EstimatorModel::~EstimatorModel() = default;

namespace {

InputComponent component_of(const NamedOutput& output, bool label, const InputNames& names) {
  InputComponent c{label, output.name, output.output.dtype(), output.output.dims(), output.classes, {}, {}};
  const auto named = [&](const auto& all) {
    const auto found = all.find(output.name);
    return found == all.end() ? std::vector<std::string>() : found->second;
  };
  c.columns = named(names.columns);
  c.class_names = named(names.class_names);
  if (!c.class_names.empty()) c.classes = static_cast<std::int64_t>(c.class_names.size());
  if (!c.columns.empty() && (c.dims.size() < 2 || static_cast<std::size_t>(c.dims.back()) != c.columns.size()))
    fail(Code::kInvalidArgument, fmt::format("[B5053] the input function names {} columns of {}, which is {}",
                                             c.columns.size(), single_quoted(c.name), dims_text(c.dims)));
  return c;
}

// A queue's element cannot be reordered here, but the program's function can do it.
void refuse_other_order(const SchemaMatch& match, const Schema& trained) {
  if (!match.moves_elements()) return;
  std::string order;
  for (const auto& [what, names] : schema_rows(trained)) order += (order.empty() ? "" : "; ") + what + ": " + names;
  fail(
      Code::kInvalidArgument,
      "[B5026] the input function has columns or classes in another order than the training; give them as they were: " +
          order);
}

}  // namespace

void EstimatorModel::match_own(InputResult& in) {
  Schema own;
  for (const NamedOutput& f : in.features) own.components.push_back(component_of(f, false, in.names));
  for (const NamedOutput& l : in.labels) own.components.push_back(component_of(l, true, in.names));
  ModelSchema& schema = run_.schema();
  const bool says_names = !in.names.columns.empty() || !in.names.class_names.empty();
  if (schema.learned() != nullptr) {
    const SchemaMatch match =
        match_schema(*schema.learned(), own, {kModeNames.at(mode_), use_of(mode_), {}, !says_names});
    if (!match.problems.empty()) throw SchemaMismatch(match.problems);
    for (const std::string& remark : match.by_place) run_.host().log().warning("", remark);
    refuse_other_order(match, *schema.learned());
    std::vector<NamedOutput> ordered;
    for (const InputComponent& c : match.components)
      for (const NamedOutput& f : in.features)
        if (!c.label && f.name == c.name) ordered.push_back(f);
    for (const NamedOutput& f : in.features)  // an id is for predictions
      if (std::none_of(ordered.begin(), ordered.end(), [&](const NamedOutput& o) { return o.name == f.name; }))
        ordered.push_back(f);
    in.features = std::move(ordered);
  }
  if (mode_ != Mode::kTrain || own.components.empty()) return;
  schema.learn(own);
  run_.host().keep_schema(schema.text());
}

InputFeed::Tensors EstimatorModel::open_input(const PluginUse& use, std::int64_t prefetch) {
  RunInput& input = inputs_.emplace_back(
      RunInput{.name = kModeNames.at(mode_) + (inputs_.empty() ? "" : fmt::format("_{}", inputs_.size())),
               .monitor = run_.host().add_monitor()});
  input.prefetch = prefetch;
  ModelSchema& schema = run_.schema();
  const bool training = mode_ == Mode::kTrain;
  const std::optional<PluginUse>& start = run_.settings().options.warm_start_from;
  const bool starts = start && takes_schema(*start);
  const std::optional<TrainedOptions> trained = training && !starts ? std::nullopt : schema.trained_options(training);
  const FoundUse found = run_.plugins().linked(PluginKind::kInput, use, trained ? &*trained : nullptr);
  // A training that continues inherits nothing, and logs the options that differ.
  const std::optional<TrainedOptions> earlier = trained ? std::nullopt : schema.trained_options();
  const FoundUse compared = earlier ? run_.plugins().linked(PluginKind::kInput, use, &*earlier) : found;
  for (const std::string& option : compared.use.other_than_training)
    run_.host().log().warning("", found.label() + " sets " + option +
                                      " otherwise than the training did: the model gets other values than it was "
                                      "trained on");
  input.instance = &run_.plugins().create(found, input.monitor);
  input.schema = schema.options(use_of(mode_), found.use);
  input.open(run_.host().options().seed);
  for (const std::string& remark : input.feed->taken_by_place()) run_.host().log().warning("", remark);
  if (training) {
    schema.learn(input.feed->schema());
    run_.host().keep_schema(schema.text());
  }
  return input.feed->add_to_graph(graph_);
}

void EstimatorModel::add_hooks(SessionHost& session, const std::vector<OwnHook>& hooks) {
  for (const OwnHook& own : hooks) runtime::add_hook(session, run_.plugins(), own);
}

ScaffoldOptions EstimatorModel::scaffold_pieces() const {
  ScaffoldOptions pieces{this->pieces().scaffold, initial_values()};
  const belay::Graph g = spec_->graph();
  if (pieces.local_init_op)
    pieces.local_init_op = ops::group(g, {pieces.local_init_op, default_local_init_op(g)}, "local_init_with_metrics");
  return pieces;
}

std::shared_ptr<SessionScaffold> EstimatorModel::filled(std::function<void(DirectSession&)> fill) {
  ScaffoldOptions pieces = scaffold_pieces();
  pieces.init_op = ops::no_op(spec_->graph(), "filled");
  pieces.init_feeds = {};
  pieces.initial_values = {};
  pieces.init_fn = {};
  pieces.host_init = [fill = std::move(fill)](const SessionScaffold&, DirectSession& session) { fill(session); };
  return std::make_shared<SessionScaffold>(std::move(pieces));
}

std::shared_ptr<SessionScaffold> EstimatorModel::scaffold(SessionHost& session) {
  if (run_.restores()) return filled([this](DirectSession& restored) { run_.restore(restored); });
  const EstimatorSettings& settings = run_.settings();
  run_.host().log().info(
      "", "there is no checkpoint in " + escaped(settings.model_dir) + ": the model starts from its initial values");
  ScaffoldOptions pieces = scaffold_pieces();
  if (settings.options.warm_start_from) {
    session.add_init_fn(run_.plugins().linked(PluginKind::kInitFn, *settings.options.warm_start_from));
    pieces.host_init = [this, &session](const SessionScaffold&, DirectSession& fresh) {
      session.call_init_fns(graph_, fresh);
    };
  }
  return std::make_shared<SessionScaffold>(std::move(pieces));
}

}  // namespace belay::runtime
