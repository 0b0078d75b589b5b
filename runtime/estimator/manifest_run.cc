// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/manifest_run.h"

#include <algorithm>

#include "belay/philox.h"
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/names.h"
#include "runtime/estimator/data_problem.h"
#include "runtime/estimator/hooks_on_ranks.h"
#include "runtime/estimator/input_checks.h"
#include "runtime/estimator/monitored_training_session.h"
#include "runtime/estimator/plugin_problem.h"
#include "runtime/estimator/rank_of_run.h"
#include "runtime/estimator/run_hparams.h"
#include "runtime/estimator/scaffold_pieces.h"
#include "runtime/manifest/paths.h"
#include "runtime/manifest/unreached_steps.h"
#include "runtime/monitored/default_hooks.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/variable_groups.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// The final export is the training's own, beside which the evaluator of its checkpoints runs.
bool exports(const Manifest& manifest) {
  const RunMode mode = manifest.run.mode;
  if (trains(mode) || mode == RunMode::kExport) return true;
  return mode == RunMode::kContinuousEval &&
         std::any_of(manifest.exporters.begin(), manifest.exporters.end(),
                     [](const ExporterSection& e) { return e.when != ExportWhen::kFinal; });
}

// What the mode uses, and what the manifest leaves out: the default hooks and the default saver.
Manifest with_defaults(Manifest manifest, bool default_hooks) {
  const bool training = trains(manifest.run.mode);
  if (!training)
    manifest.hooks.clear();
  else if (default_hooks)
    manifest.hooks = hooks_of_run(manifest);
  if (!training) manifest.scaffold.init_fn.clear();
  if (!exports(manifest)) manifest.exporters.clear();
  const std::string predicted = predict_input(manifest), exported = export_input(manifest);
  std::erase_if(manifest.inputs, [&](const auto& entry) {
    switch (manifest.run.mode) {
      case RunMode::kEvaluate: return !is_eval_input(entry.first);
      case RunMode::kContinuousEval:
        return !is_eval_input(entry.first) && (manifest.exporters.empty() || entry.first != exported);
      case RunMode::kPredict: return entry.first != predicted && entry.first != "train";
      case RunMode::kExport: return entry.first != exported;
      default:
        return entry.first == "predict" && !default_hooks;  // a replay or a worker looks at no more than it needs
    }
  });
  if (!manifest.scaffold.saver) manifest.scaffold.saver = plugin_use("safetensors", {}, "the default saver");
  return manifest;
}

// A worker's random numbers are not the chief's: a dropout that left out the same everywhere would be weaker.
RunHostOptions host_options(const Manifest& manifest, bool from_scratch, const std::optional<LaunchedPlace>& place) {
  RunHostOptions options;
  options.dir = manifest.run.dir;
  options.threads = static_cast<int>(manifest.run.threads);
  options.seed = manifest.run.seed;
  if (place) options.place = {place->rank, place->size, std::max(place->local_rank, 0), 0};
  if (place && place->rank != 0) options.seed = mix_key(manifest.run.seed, static_cast<std::uint64_t>(place->rank));
  options.min_steps = manifest.run.min_steps;
  options.marks_attempt = true;
  options.starts_over = from_scratch;
  options.checkpoint = manifest.checkpoint;
  options.session = manifest.session;
  return options;
}

}  // namespace

ManifestRun::ManifestRun(Manifest manifest, ManifestRunOptions options, const Platform& platform,
                         Environment environment, RunControl& control)
    : place_(rank_of(manifest, options.replay != nullptr, options.place, environment)),
      manifest_(manifest_of_rank(manifest, place_)),
      options_(options),
      environment_(std::move(environment)),
      host_(platform, control, host_options(manifest_, options.from_scratch, place_)),
      resume_(host_.files(), host_.log(), manifest_, options.resume),
      ops_(make_op_registry()),
      model_(*ops_, manifest_.run.mode == RunMode::kPredict ? Mode::kPredict : Mode::kTrain,
             manifest_.optimizer.accumulate),
      plugins_(host_, manifest_, environment_),
      training_(host_, {.saves = true, .recovers = recovers(manifest, place_)}) {
  for (const auto& [name, section] : manifest_.inputs)
    inputs_.emplace(name, RunInput{.name = name, .monitor = host_.add_monitor(), .prefetch = section.prefetch});
  strategy_ = make_strategy({manifest_, options_, environment_, host_, plugins_, schema_, model_, inputs_, training_},
                            manifest, place_);
}

ManifestRun::~ManifestRun() = default;

Manifest ManifestRun::uses() const { return with_defaults(manifest_, strategy_->default_hooks()); }

const RunInput* ManifestRun::input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : &found->second;
}

// ---- plugins ----

// All ranks read the chief's checkpoints: each has to deliver what the others do.
void ManifestRun::read_schema() {
  if (!trains(manifest_.run.mode)) return schema_.read(checkpoint_place(), checkpoint_choice());
  const std::string& directory = strategy_->directory();
  const CheckpointPlace place{host_.files(), host_.log(), directory};
  if (!options_.from_scratch && strategy_->own_run() && !directory.empty()) schema_.read_earlier(place);
  for (const PluginUse& use : manifest_.scaffold.init_fn) {
    if (schema_.learned() != nullptr || !takes_schema(use)) continue;
    for (const PluginOption& option : use.options) {
      const auto* from = std::get_if<std::string>(&option.value);
      if (option.key != "from" || from == nullptr) continue;
      Diagnostics said_by_the_plugin;
      const auto path = expand_path(*from, manifest_.directories, environment_, option.value_at, said_by_the_plugin);
      if (path) schema_.read_start(place, use, *path);
    }
  }
}

bool ManifestRun::find_plugins(Diagnostics& problems) {
  try {
    read_schema();
  } catch (const Error& e) {
    problems.add({manifest_.file, 0, 0}, std::string(e.message()), "take the file from another checkpoint of this run");
  }
  const auto& init_fns = manifest_.scaffold.init_fn;
  const bool training = trains(manifest_.run.mode),
             starts = std::any_of(init_fns.begin(), init_fns.end(), takes_schema);
  std::optional<TrainedOptions> trained = training && !starts ? std::nullopt : schema_.trained_options(training);
  // Of a checkpoint that does not say it, the manifest does.
  if (const auto train = manifest_.inputs.find("train"); !training && !trained && train != manifest_.inputs.end())
    trained = TrainedOptions{train->second.plugin, train->second.options, false};
  const bool usable = plugins_.find(uses(), problems, trained ? &*trained : nullptr);
  warn_of_other_options();
  const std::string reason = why_not(manifest_.session.precision, plugins_.cpu());
  if (!reason.empty())
    problems.add(manifest_.at("session.precision"), reason, "leave session.precision out, or write \"float32\"");
  const std::string no_team = why_no_team(host_.environment().session.threads);
  if (!no_team.empty())
    problems.add(manifest_.at("run.threads"), no_team, "unset OMP_THREAD_LIMIT, or leave run.threads out");
  check_cluster(problems);
  return usable;
}

void ManifestRun::check_cluster(Diagnostics& problems) const {
  if (!trains(manifest_.run.mode)) return;
  if (strategy_->own_run()) check_hooks_on_all_ranks(manifest_, uses().hooks, plugins_.found().hooks, problems);
  if (!manifest_.cluster) {
    if (options_.place && options_.place->size > 1)
      problems.add({manifest_.file, 0, 0},
                   "the program says that " + std::to_string(options_.place->size) +
                       " processes train together, and the manifest has no [cluster], which joins them",
                   "write [cluster] with a plugin, plugin = \"gloo\" say");
    return;
  }
  if (meets_elsewhere(*manifest_.cluster) && manifest_.cluster->on_lost_rank != OnLostRank::kStop)
    problems.add(manifest_.at("cluster.on_lost_rank"),
                 "with cluster.rendezvous the ranks have no directory in which those that are left find each other",
                 "leave one of the two out");
  else if (const auto& cluster = plugins_.found().cluster; cluster && cluster->info.option("communicator") != nullptr &&
                                                           manifest_.cluster->on_lost_rank != OnLostRank::kStop)
    problems.add(manifest_.at("cluster.on_lost_rank"),
                 "the ranks of " + double_quoted(cluster->info.name) +
                     " form no other group where one is lost: their launcher ends the job",
                 "leave it out; the same command goes on from the last checkpoint");
  strategy_->check_cluster(problems);
}

void ManifestRun::warn_of_other_options() {
  for (const auto& [name, input] : plugins_.found().inputs)
    if (name != "train" || trains(manifest_.run.mode))
      for (const std::string& option : input.other_than_training)
        host_.log().warning("", "[input." + name + "] sets " + option +
                                    " otherwise than the training did: the model gets other values than it was "
                                    "trained on");
}

void ManifestRun::load_plugins(Diagnostics& problems) {
  if (const std::string why = apart(); !why.empty()) host_.log().warning("", why);
  plugins_.load();
  plugins_.add_ops(*ops_);
  const Manifest uses = this->uses();
  const ResolvedPlugins& found = plugins_.found();
  // One after the other, so that all that is wrong is reported at once.
  const auto create = [&](const PluginUse& use, const auto& f) {
    try {
      f();
    } catch (const Error& e) {
      if (e.code() != Code::kInvalidArgument) throw;
      add_plugin_problem(use, e, problems);
    }
  };
  create(*uses.scaffold.saver,
         [&] { host_.use_codec(saver_use(plugins_.create(plugins_.loaded(*found.saver), host_.saver_monitor()))); });
  create(*uses.model, [&] { model_instance_ = &plugins_.create(plugins_.loaded(*found.model), host_.monitor()); });
  for (const auto& [name, input] : found.inputs) {
    if (trains(manifest_.run.mode) && name == "predict") continue;  // only looked at, by check_predict_input()
    create(uses.inputs.at(name), [&, &input = input, &opened = inputs_.at(name)] {
      opened.instance = &plugins_.create(plugins_.loaded(input), opened.monitor);
    });
  }
  if (found.optimizer) create_optimizer(found, create);
  if (found.cluster) {
    create(*uses.cluster, [&] {
      strategy_->use_cluster(plugins_.create(plugins_.loaded(*found.cluster), strategy_->cluster_monitor()), uses);
    });
  }
  if (problems.empty()) {
    make_exporters();
    make_evals();
  }
  for (std::size_t i = 0; i < found.init_fns.size(); ++i)
    create_init_fn(found.init_fns[i], uses.scaffold.init_fn[i], problems);
  for (std::size_t i = 0; i < found.hooks.size(); ++i)
    create(uses.hooks[i], [&] { strategy_->add_hook(plugins_.loaded(found.hooks[i]), i); });
}

// It looks for its files then. A run that goes on from a checkpoint calls none, and needs none of them any more.
void ManifestRun::create_init_fn(const ResolvedPlugin& init_fn, const PluginUse& use, Diagnostics& problems) {
  try {
    training_.add_init_fn(plugins_.loaded(init_fn));
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    const bool goes_on = !strategy_->own_run() || (!options_.from_scratch && resume_.finds_checkpoint());
    if (e.code() != Code::kNotFound || !goes_on) return add_plugin_problem(use, e, problems);
    host_.log().info("", std::string(e.message()) + "; it is not needed: this run goes on from a checkpoint");
  }
}

void ManifestRun::create_optimizer(const ResolvedPlugins& found,
                                   const std::function<void(const PluginUse&, const std::function<void()>&)>& create) {
  PluginInstance *optimizer = nullptr, *schedule = nullptr;
  const auto make = [&](const ResolvedPlugin& plugin, const PluginUse& use, PluginInstance*& instance) {
    create(use, [&] { instance = &plugins_.create(plugins_.loaded(plugin), host_.monitor()); });
  };
  make(*found.optimizer, optimizer_use(manifest_), optimizer);
  if (found.schedule) make(*found.schedule, *schedule_use(manifest_), schedule);
  std::vector<PluginInstance*> groups(found.optimizer_groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (found.optimizer_groups[i]) make(*found.optimizer_groups[i], optimizer_use(manifest_, i), groups[i]);
  if (optimizer == nullptr) return;
  optimizer_.emplace(OptimizerUse{manifest_.optimizer, *optimizer, schedule});
  optimizer_->groups = std::move(groups);
}

// ---- graphs ----

// Before there is a checkpoint. What the training learned decides how the inputs are read, so they may fit all the
// same: take_schema_of() builds everything again at the first checkpoint.
bool ManifestRun::build_evaluations_early() {
  Diagnostics of_data;
  build_evaluations(of_data);
  for (const Diagnostic& problem : of_data.sorted())
    host_.log().warning(
        "", "before the first checkpoint: " + problem.message + (problem.help.empty() ? "" : "; " + problem.help));
  return of_data.empty();
}

void ManifestRun::build_scaffold(Diagnostics& problems) {
  switch (manifest_.run.mode) {
    case RunMode::kEvaluate: build_evaluations(problems); return;
    case RunMode::kContinuousEval:
      if (!schema_.was_read() && !build_evaluations_early()) return;
      if (schema_.was_read()) build_evaluations(problems);
      if (exporters_ != nullptr) check_best_metric(problems);
      build_exports(problems);
      return;
    case RunMode::kPredict: build_prediction(problems); return;
    case RunMode::kExport: build_exports(problems); return;
    default: build_training(problems);
  }
}

namespace {

InputUse use_of(const std::string& input, RunMode mode) {
  if (mode == RunMode::kPredict || input == "predict") return InputUse::kPrediction;
  return input == "train" ? InputUse::kTraining : InputUse::kEvaluation;
}

}  // namespace

// What an input lacks may be known when there is a checkpoint.
void ManifestRun::add_missing_checkpoint(Diagnostics& problems) const {
  const std::string what = "nothing is known of the training's columns and classes: ", help = "train first";
  try {
    with_checkpoint(checkpoint_place(), checkpoint_choice(), [](const CheckpointReader&) {});
  } catch (const Error& e) {
    problems.add({manifest_.file, 0, 0}, what + std::string(e.message()), help);
  }
}

bool ManifestRun::open(RunInput& input, Diagnostics& problems) {
  const auto refused = [&] {
    if (!trains(manifest_.run.mode) && schema_.learned() == nullptr) add_missing_checkpoint(problems);
    if (schema_.start() != nullptr && input.name == "train")
      problems.add(
          schema_.start()->plugin_at, "this training takes columns and classes from where its values come from",
          "for a new last layer set schema = \"features\" here, and for data of another kind schema = \"none\"");
    return false;
  };
  try {
    input.schema = schema_.options(use_of(input.name, manifest_.run.mode), plugins_.found().inputs.at(input.name));
    input.open(manifest_.run.seed);
    for (const std::string& remark : input.feed->taken_by_place()) host_.log().warning("", remark);
    return true;
  } catch (const SchemaMismatch& e) {
    add_schema_problems(manifest_.inputs.at(input.name), e, problems, input.name == "train" && start_ == nullptr);
    return refused();
  } catch (const Error& e) {
    // Rows that do not fit a trained model are the manifest's mistake, and so is a model that was not trained; a
    // training's own file is damaged.
    const bool untrained = !trains(manifest_.run.mode) && !has_checkpoint(checkpoint_place(), checkpoint_choice());
    if (!is_of_manifest(e) && input.schema.learned == nullptr && !untrained) throw;
    if (add_data_problems(plugins_.found().inputs, e, problems)) return refused();
    if (!is_of_manifest(e)) throw;
    add_plugin_problem(manifest_.inputs.at(input.name), e, problems);
    return refused();
  }
}

namespace {

// "; classes of "label": 0 "no", 1 "yes"": words that a model has no place for.
std::string classes_text(const Schema* schema) {
  std::string text;
  if (schema == nullptr) return text;
  for (const auto& [what, words] : schema_rows(*schema))
    if (what.starts_with("classes of ")) text += "; " + what + ": " + words;
  return text;
}

}  // namespace

bool ManifestRun::build_model(RunInput& input, Diagnostics& problems) {
  try {
    strategy_->build(*model_instance_, input, declared_);
    return true;
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    const std::string message(e.message());
    const bool is_about_labels = message.find("label") != message.npos;
    add_plugin_problem(*manifest_.model, Error(e.code(), message + (is_about_labels ? classes_text(schema()) : "")),
                       problems);
    return false;
  }
}

// The predictions make a graph of their own; this one shows what is wrong before anything is read.
void ManifestRun::build_prediction(Diagnostics& problems) {
  check_predictions_end(problems);
  RunInput& input = inputs_.at(predict_input(manifest_));
  if (!open(input, problems)) return;
  const auto training = inputs_.find("train");
  if (schema_.learned() != nullptr)
    declared_ = schema_.labels();
  else if (declared_labels(input.feed->components()).empty() && training != inputs_.end() &&
           &training->second != &input)
    declared_ = declared_labels(
        InputFeed::declaration_of(*training->second.instance, training->second.options(manifest_.run.seed)));
  if (build_model(input, problems)) check_predict_keys(problems);
}

// Of text there are none to choose from.
void ManifestRun::check_predict_keys(Diagnostics& problems) const {
  if (!manifest_.predict.prompt.empty()) return;
  std::vector<std::string> there;
  for (const NamedOutput& p : model_.outputs.predictions) there.push_back(p.name);
  if (!schema_.class_names().empty() && std::find(there.begin(), there.end(), "class") != there.end())
    there.emplace_back(kClassName);
  for (const std::string& key : manifest_.predict.keys)
    if (std::find(there.begin(), there.end(), key) == there.end())
      problems.add(manifest_.at("predict.keys"), "the model has no prediction " + double_quoted(key),
                   "predict.keys (--keys) may name: " + joined(there));
}

void ManifestRun::build_training(Diagnostics& problems) {
  RunInput& input = inputs_.at("train");
  if (!open(input, problems)) return;
  schema_.learn(input.feed->schema());
  host_.keep_schema(schema_.text());
  if (!build_model(input, problems)) return;
  check_groups(problems);
  if (!problems.empty()) return;
  const bool is_whole = options_.most_eval_batches == 0 && strategy_->own_run();
  for (const std::string& warning : is_whole ? unreached_steps(manifest_) : std::vector<std::string>())
    host_.log().warning("", warning);
  strategy_->add_training(*optimizer_);
  if (strategy_->chief()) add_model_hooks(training_, plugins_, *model_instance_, model_.outputs);
  build_evaluations(problems);
  check_predict_input(problems);
  check_best_metric(problems);
  build_exports(problems);
  if (!problems.empty()) return;
  if (evals_) {
    for (std::unique_ptr<Evaluation>& evaluation : evaluations_) evals_->add(std::move(evaluation), model_.graph);
    evaluations_.clear();
  }
  pieces_ = scaffold_pieces_of(model_.graph, manifest_, problems);
  strategy_->add_hooks_of_graph();
  if (!problems.empty()) return;
  input.feed->prime();
  check_first_labels(*input.feed, model_.tensors.labels, model_.graph, *manifest_.model, plugins_.found().model->info,
                     problems);
}

void ManifestRun::check_groups(Diagnostics& problems) {
  for (const GroupProblem& problem : problems_of_groups(model_.graph.handle(), manifest_.optimizer.groups))
    problems.add(manifest_.at("optimizer.groups." + std::to_string(problem.group) + ".vars"), problem.message,
                 problem.help);
}

// A name that a hook asks the graph for in vain is the manifest's mistake; it is shown where it is written.
void ManifestRun::begin_hooks(Diagnostics& problems) {
  if (!trains(manifest_.run.mode)) return;
  try {
    training_.begin_hooks(model_.graph);
    check_hooks(problems);
    check_savable(problems);
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound && e.code() != Code::kInvalidArgument) throw;
    add_hook_problem(e, problems);
  }
}

// With those of the hooks. What no checkpoint could hold is refused before anything is trained.
void ManifestRun::check_savable(Diagnostics& problems) const {
  const bool saves = !manifest_.run.dir.empty() && strategy_->own_run() && saves_by_itself(manifest_.checkpoint);
  if (!saves || !strategy_->chief()) return;
  const NodeGraph& graph = model_.graph;
  std::vector<TensorInfo> variables;
  for (const Port& p : graph.collection(collections::kGlobalVariables)) {
    const auto& [dtype, shape] = graph.spec(p);
    variables.push_back({graph.node(p.node).name, dtype, shape.dims()});
  }
  try {
    check_index_holds(variables);
  } catch (const Error& e) {
    problems.add(manifest_.model->plugin_at, e.what());
  }
}

// The message begins with the hook's name.
void ManifestRun::add_hook_problem(const Error& error, Diagnostics& problems) const {
  const Error e(error.code(), std::string(error.message()) + about_evaluations(std::string(error.message())));
  const Manifest uses = this->uses();
  const std::vector<ResolvedPlugin>& found = plugins_.found().hooks;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (e.message().starts_with("hook " + double_quoted(found[i].instance_name) + " "))
      return add_plugin_problem(uses.hooks[i], e, problems);
  problems.add({manifest_.file, 0, 0}, e.what());
}

// ---- modes ----

TrainingResult ManifestRun::train(const std::function<void()>& progress,
                                  const std::function<void(const std::string& ends)>& on_session) {
  progress_ = progress;
  if (host_.has_directory())
    host_.open_saver(fingerprint_of(host_.environment(), plugins_.registry()), training_.events(),
                     resume_.manifest_to_keep());
  strategy_->meet();
  TrainingOptions options;
  options.max_steps = manifest_.run.max_steps;
  TimeShares times(host_, training_.events());
  const PublishesActivity publishing(times.activity());
  options.on_session = [&](const std::string& ends) {
    if (on_session) on_session(ends);
    times.start();
  };
  options.on_step = progress;
  options.scaffold = pieces_;
  options.evals = evals_ ? &*evals_ : nullptr;
  TrainingResult result = run_training(options);
  strategy_->part();
  times.stop();
  result.shares = times.shares();
  if (keep_going() && !result.checkpoint.empty() && result.save_error.empty()) host_.note_finished(result.global_step);
  trained_ = result.trained;
  trained_step_ = result.global_step;
  made_steps_ = result.steps > 0;
  return result;
}

// A run that was stopped has not ended: the next attempt goes on with it.
TrainingResult ManifestRun::run_training(const TrainingOptions& options) {
  const auto note_end = [&](bool success) {
    if (training_.events() != nullptr && keep_going()) write_run_end(*training_.events(), host_.clock(), success);
  };
  try {
    TrainingResult result = runtime::train(training_, model_, options, *strategy_);
    note_end(!is_untrained(result));
    return result;
  } catch (...) {
    note_end(false);
    throw;
  }
}

std::string ManifestRun::activity() const {
  const std::string library = plugins_.loading();
  if (!library.empty()) return "plugin '" + escaped(library) + "', which is being loaded";
  const std::string evaluation = evaluating();
  const std::string text = calls_in_progress(host_.monitors());
  return evaluation + (evaluation.empty() || text.empty() ? "" : ": ") + text;
}

// "the evaluation of step 200 on [input.eval]"; empty: there is none under way.
std::string ManifestRun::evaluating() const {
  const Evaluation* evaluation = evaluating_.load();
  if (evaluation == nullptr) return "";
  return "the evaluation of step " + std::to_string(inputs_.at(evaluation->name()).monitor.step) + " on [input." +
         evaluation->name() + "]";
}

}  // namespace belay::runtime
