// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator_model.h"

#include <map>

#include "belay/ops/control.h"
#include "belay/ops/variables.h"
#include "runtime/monitored/default_pieces.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// Under which a checkpoint has the position of an input.
const std::map<Mode, std::string> kModeNames = {
    {Mode::kTrain, "train"}, {Mode::kEval, "eval"}, {Mode::kPredict, "predict"}};

}  // namespace

EstimatorModel::EstimatorModel(EstimatorRun& run, Mode mode, const InputFn& input)
    : run_(run), mode_(mode), graph_(run.ops()) {
  if (!input) fail(Code::kInvalidArgument, "the Estimator was given no input function");
  const EstimatorOptions& o = run.settings().options;
  const belay::Graph g = graph_.handle();
  ops::create_global_step(g);
  InputResult in = input({g, mode, o.params, o.config, *this});
  check_hooks("the input function's hooks", in.hooks);
  input_hooks_ = std::move(in.hooks);
  if (mode == Mode::kPredict) in.labels.clear();
  if (!in.features.empty()) batch_ = {in.features[0].output.operation()};
  spec_ = run.settings().model({g, std::move(in.features), std::move(in.labels), mode, o.params, o.config, *this});
  if (spec_->mode() != mode || spec_->graph().serial() != graph_.serial())
    fail(Code::kInvalidArgument, "the model function returned the EstimatorSpec of another call");
  for (const NamedOutput& p : pieces().predictions)
    if (!p.name.empty()) graph_.set_role(p.name, graph_.resolve(p.output.raw()));
  if (pieces().loss) graph_.set_role("loss", graph_.resolve(pieces().loss.raw()));
}

EstimatorModel::~EstimatorModel() = default;

InputFeed::Tensors EstimatorModel::open_input(const PluginUse& use, std::int64_t prefetch) {
  RunInput& input = inputs_.emplace_back(
      RunInput{.name = kModeNames.at(mode_) + (inputs_.empty() ? "" : "_" + std::to_string(inputs_.size())),
               .monitor = run_.host().add_monitor()});
  input.prefetch = prefetch;
  input.instance = &run_.plugins().create(run_.plugins().linked(PluginKind::kInput, use), input.monitor);
  input.open(run_.host().options().seed);
  return input.feed->add_to_graph(graph_);
}

void EstimatorModel::add_hooks(SessionHost& session, const std::vector<OwnHook>& hooks) {
  for (const OwnHook& own : hooks) runtime::add_hook(session, run_.plugins(), own);
}

ScaffoldOptions EstimatorModel::scaffold_pieces() const {
  ScaffoldOptions pieces = this->pieces().scaffold;
  const belay::Graph g = spec_->graph();
  if (pieces.local_init_op)
    pieces.local_init_op = ops::group(g, {pieces.local_init_op, default_local_init_op(g)}, "local_init_with_metrics");
  return pieces;
}

std::shared_ptr<Scaffold> EstimatorModel::filled(std::function<void(DirectSession&)> fill) {
  ScaffoldOptions pieces = scaffold_pieces();
  pieces.init_op = ops::no_op(spec_->graph(), "filled");
  pieces.init_feeds = {};
  pieces.initial_values = {};
  pieces.init_fn = [fill = std::move(fill)](const Scaffold&, DirectSession& session) { fill(session); };
  return std::make_shared<Scaffold>(std::move(pieces));
}

std::shared_ptr<Scaffold> EstimatorModel::scaffold(SessionHost& session) {
  if (run_.restores()) return filled([this](DirectSession& restored) { run_.restore(restored); });
  const EstimatorSettings& settings = run_.settings();
  run_.host().log().info(
      "", "there is no checkpoint in " + escaped(settings.model_dir) + ": the model starts from its initial values");
  ScaffoldOptions pieces = scaffold_pieces();
  if (settings.options.warm_start_from) {
    session.add_init_fn(run_.plugins().linked(PluginKind::kInitFn, *settings.options.warm_start_from));
    pieces.init_fn = [this, &session, own = std::move(pieces.init_fn)](const Scaffold& made, DirectSession& fresh) {
      session.call_init_fns(graph_, fresh);
      if (own) own(made, fresh);
    };
  }
  return std::make_shared<Scaffold>(std::move(pieces));
}

}  // namespace belay::runtime
