// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator_run.h"

#include <filesystem>
#include <map>

#include "belay/ops/control.h"
#include "belay/ops/variables.h"
#include "runtime/monitored/default_pieces.h"
#include "runtime/ops/registry.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// Under which a checkpoint has the position of an input.
const std::map<Mode, std::string> kModeNames = {
    {Mode::kTrain, "train"}, {Mode::kEval, "eval"}, {Mode::kPredict, "predict"}};

std::string temporary_model_dir(Logger& log) {
  std::string path = (std::filesystem::temp_directory_path() / "belay-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    fail(Code::kPermissionDenied, "cannot make a directory '" + escaped(path) + "'; give the Estimator a model_dir");
  log.warning("",
              "no model_dir was given: the model goes into " + escaped(path) + ", which belongs to no later program");
  return path;
}

std::string model_dir_of(const EstimatorOptions& options, Logger& log) {
  const std::string& of_config = options.config.model_dir();
  if (!options.model_dir.empty() && !of_config.empty() && options.model_dir != of_config)
    fail(Code::kInvalidArgument, "the Estimator's model_dir is '" + escaped(options.model_dir) +
                                     "', that of its config '" + escaped(of_config) + "'; leave one of them out");
  const std::string& given = options.model_dir.empty() ? of_config : options.model_dir;
  return given.empty() ? temporary_model_dir(log) : std::filesystem::absolute(given).lexically_normal().string();
}

}  // namespace

EstimatorSettings::EstimatorSettings(ModelFn model_fn, EstimatorOptions given)
    : model(std::move(model_fn)),
      options(std::move(given)),
      world(world_or_system(options.clock, options.log, options.files, own_log)),
      model_dir(model_dir_of(options, world.log)) {
  if (!model) fail(Code::kInvalidArgument, "the Estimator was given no model function");
}

// ---- EstimatorRun ----

EstimatorRun::EstimatorRun(const EstimatorSettings& settings, Mode mode, const std::string& events_dir)
    : settings_(settings),
      mode_(mode),
      host_(settings.world, control_, host_options(events_dir)),
      ops_(make_op_registry()),
      graph_(*ops_),
      plugins_(host_, settings.options.plugins) {
  plugins_.add_ops(*ops_);
}

EstimatorRun::~EstimatorRun() = default;

RunHostOptions EstimatorRun::host_options(const std::string& events_dir) const {
  const RunConfig& config = settings_.options.config;
  RunHostOptions o;
  if (mode_ == Mode::kTrain) o.dir = settings_.model_dir;
  o.events_dir = events_dir;
  o.threads = config.options().threads;
  o.seed = config.seed();
  o.checkpoint.save_secs = 0;  // the Estimator adds the hook that saves
  o.checkpoint.max_to_keep = config.options().keep_checkpoint_max.value_or(0);
  o.session.save_summaries_steps = config.options().save_summary_steps.value_or(0);
  o.session.log_step_count_steps = config.options().log_step_count_steps.value_or(0);
  o.session.signal_grace_secs = 0;  // the program's signals are its own
  return o;
}

void EstimatorRun::build(const InputFn& input) {
  if (!input) fail(Code::kInvalidArgument, "the Estimator was given no input function");
  const EstimatorOptions& o = settings_.options;
  const belay::Graph g = graph_.handle();
  ops::create_global_step(g);
  InputResult in = input({g, mode_, o.params, o.config, *this});
  check_hooks("the input function's hooks", in.hooks);
  input_hooks_ = std::move(in.hooks);
  if (mode_ == Mode::kPredict) in.labels.clear();
  if (!in.features.empty()) batch_ = {in.features[0].output.operation()};
  spec_ = settings_.model({g, std::move(in.features), std::move(in.labels), mode_, o.params, o.config, *this});
  if (spec_->mode() != mode_ || spec_->graph().serial() != graph_.serial())
    fail(Code::kInvalidArgument, "the model function returned the EstimatorSpec of another call");
  for (const NamedOutput& p : model().predictions)
    if (!p.name.empty()) graph_.set_role(p.name, graph_.resolve(p.output.raw()));
  if (model().loss) graph_.set_role("loss", graph_.resolve(model().loss.raw()));
}

// ---- plugins ----

PluginInstance& EstimatorRun::create(PluginKind kind, const PluginUse& use) {
  return plugins_.create(plugins_.linked(kind, use), host_.monitor());
}

InputFeed::Tensors EstimatorRun::open_input(const PluginUse& use, std::int64_t prefetch) {
  RunInput& input = inputs_.emplace_back(
      RunInput{.name = kModeNames.at(mode_) + (inputs_.empty() ? "" : "_" + std::to_string(inputs_.size())),
               .monitor = host_.add_monitor()});
  input.prefetch = prefetch;
  input.instance = &plugins_.create(plugins_.linked(PluginKind::kInput, use), input.monitor);
  input.open(host_.options().seed);
  return input.feed->add_to_graph(graph_);
}

void EstimatorRun::add_hooks(SessionHost& session, const std::vector<OwnHook>& hooks) {
  for (const OwnHook& own : hooks) runtime::add_hook(session, plugins_, own);
}

// ---- checkpoints ----

void EstimatorRun::choose_checkpoint(const std::string& path) {
  PluginUse use;
  use.plugin = settings_.options.saver;
  host_.use_codec(saver_use(create(PluginKind::kSaver, use)));
  CheckpointChoice choice;
  if (!path.empty()) choice = {.kind = CheckpointChoice::Kind::kPath, .path = std::filesystem::absolute(path).string()};
  if (has_checkpoint(settings_.checkpoints(), choice)) choice_ = std::move(choice);
}

std::shared_ptr<Scaffold> EstimatorRun::scaffold(SessionHost& session) {
  ScaffoldOptions pieces = model().scaffold;
  const belay::Graph g = graph_.handle();
  if (pieces.local_init_op)
    pieces.local_init_op = ops::group(g, {pieces.local_init_op, default_local_init_op(g)}, "local_init_with_metrics");
  if (choice_) {
    pieces.init_op = ops::no_op(g, "restored");
    pieces.init_feeds = {};
    pieces.init_fn = [this](const Scaffold&, DirectSession& restored) {
      const UsedCheckpoint used = load_checkpoint(settings_.checkpoints(), *choice_, host_.codec(), restored);
      checkpoint_ = used.path;
      host_.log().info("", "restored step " + std::to_string(used.global_step) + " from " + escaped(used.path));
    };
    return std::make_shared<Scaffold>(std::move(pieces));
  }
  host_.log().info(
      "", "there is no checkpoint in " + escaped(settings_.model_dir) + ": the model starts from its initial values");
  if (settings_.options.warm_start_from) {
    session.add_init_fn(plugins_.linked(PluginKind::kInitFn, *settings_.options.warm_start_from));
    pieces.init_fn = [this, &session, own = std::move(pieces.init_fn)](const Scaffold& made, DirectSession& fresh) {
      session.call_init_fns(graph_, fresh);
      if (own) own(made, fresh);
    };
  }
  return std::make_shared<Scaffold>(std::move(pieces));
}

}  // namespace belay::runtime
