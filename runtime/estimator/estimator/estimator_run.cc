// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator_run.h"

#include <fmt/core.h>

#include <filesystem>

#include "runtime/ops/registry.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string temporary_model_dir(Logger& log) {
  std::string path = (std::filesystem::temp_directory_path() / "belay-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    fail(Code::kPermissionDenied,
         "[B5009] cannot make a directory '" + escaped(path) + "'; give the Estimator a model_dir");
  log.warning("",
              "no model_dir was given: the model goes into " + escaped(path) + ", which belongs to no later program");
  return path;
}

std::string model_dir_of(const EstimatorOptions& options, Logger& log) {
  const std::string& of_config = options.config.model_dir();
  if (!options.model_dir.empty() && !of_config.empty() && options.model_dir != of_config)
    fail(Code::kInvalidArgument, "[B5052] the Estimator's model_dir is '" + escaped(options.model_dir) +
                                     "', that of its config '" + escaped(of_config) + "'; leave one of them out");
  const std::string& given = options.model_dir.empty() ? of_config : options.model_dir;
  return given.empty() ? temporary_model_dir(log) : std::filesystem::absolute(given).lexically_normal().string();
}

// Model and input functions see the config alone.
EstimatorOptions with_folder_in_config(EstimatorOptions options, const std::string& folder) {
  if (options.config.model_dir().empty())
    options.config = options.config.replace([&](RunConfigOptions& o) { o.model_dir = folder; });
  return options;
}

}  // namespace

EstimatorSettings::EstimatorSettings(ModelFn model_fn, EstimatorSetup given)
    : model(std::move(model_fn)),
      kept_log(given.kept_logger),
      platform(platform_or_system(given.clock, given.logger, given.files, own_log)),
      model_dir(model_dir_of(given, platform.log)),
      options(with_folder_in_config(std::move(given), model_dir)) {
  if (!model) fail(Code::kInvalidArgument, "[B5052] the Estimator was given no model function");
}

// ---- EstimatorRun ----

namespace {

RunHostOptions estimator_host_options(const EstimatorSettings& settings, Mode mode, const std::string& events_dir) {
  const RunConfig& config = settings.options.config;
  RunHostOptions o;
  if (mode == Mode::kTrain) o.dir = settings.model_dir;
  o.events_dir = events_dir;
  o.threads = config.options().threads;
  o.seed = config.seed();
  o.checkpoint.save_secs = 0;  // the Estimator adds the hook that saves
  o.checkpoint.save = config.options().save;
  o.checkpoint.max_to_keep = config.options().keep_checkpoint_max.value_or(0);
  o.checkpoint.keep_every_hours = config.options().keep_checkpoint_every_n_hours.value_or(0);
  o.session.save_summaries_steps = config.options().save_summary_steps.value_or(0);
  o.session.log_step_count_steps = config.options().log_step_count_steps.value_or(0);
  o.session.signal_grace_secs = 0;  // the program's signals are its own
  return o;
}

}  // namespace

EstimatorRun::EstimatorRun(const EstimatorSettings& settings, Mode mode, const std::string& events_dir)
    : settings_(settings),
      mode_(mode),
      host_(settings.platform, control_, estimator_host_options(settings, mode, events_dir)),
      ops_(make_op_registry()),
      plugins_(host_, settings.options.plugins) {
  plugins_.add_ops(*ops_);
  if (mode == Mode::kTrain) schema_.read_earlier(settings.checkpoints());
  if (mode == Mode::kTrain) read_start();
}

EstimatorRun::~EstimatorRun() = default;

PluginInstance& EstimatorRun::create(PluginKind kind, const PluginUse& use) {
  return plugins_.create(plugins_.linked(kind, use), host_.monitor());
}

OptimizerUse EstimatorRun::optimizer(const OptimizerSettings& settings) {
  const auto schedule = schedule_use(settings.learning_rate);
  OptimizerUse use{settings, create(PluginKind::kOptimizer, optimizer_use(settings)),
                   schedule ? &create(PluginKind::kSchedule, *schedule) : nullptr};
  for (const VariableGroup& group : settings.groups)
    use.groups.push_back(group.frozen() ? nullptr : &create(PluginKind::kOptimizer, optimizer_use(settings, group)));
  return use;
}

void EstimatorRun::read_start() {
  const std::optional<PluginUse>& start = settings_.options.warm_start_from;
  if (schema_.learned() != nullptr || !start) return;
  for (const PluginOption& option : start->options)
    if (const auto* from = std::get_if<std::string>(&option.value); from != nullptr && option.key == "from")
      schema_.read_start(settings_.checkpoints(), *start, *from);
}

void EstimatorRun::choose_checkpoint(const std::string& path) {
  host_.use_codec(saver());
  CheckpointChoice choice;
  if (!path.empty()) choice = {.kind = CheckpointChoice::Kind::kPath, .path = std::filesystem::absolute(path).string()};
  if (!has_checkpoint(settings_.checkpoints(), choice)) return read_start();
  schema_.read(settings_.checkpoints(), choice);
  choice_ = std::move(choice);
}

void EstimatorRun::restore(DirectSession& session) {
  const UsedCheckpoint used = load_checkpoint(settings_.checkpoints(), *choice_, host_.codec(), session);
  checkpoint_ = used.path;
  // It is a debug line, since a program may ask for predictions a thousand times a second.
  host_.log().log(mode_ == Mode::kPredict ? LogLevel::kDebug : LogLevel::kInfo, "",
                  fmt::format("restored step {} from {}", used.global_step, escaped(used.path)));
}

}  // namespace belay::runtime
