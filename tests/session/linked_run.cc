// SPDX-License-Identifier: Apache-2.0
#include "tests/session/linked_run.h"

#include "runtime/data/make_queue.h"
#include "runtime/loader/file/search.h"
#include "runtime/manifest/parse.h"
#include "runtime/monitored/hooks/default_hooks.h"
#include "runtime/monitored/services/host_services.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"

namespace belay::runtime::testing {
namespace {

std::unique_ptr<Logger> silent_logger() {
  LogOutput nowhere;
  nowhere.write = [](std::string_view) { return true; };
  return make_logger(nowhere, LogFormat::kText, LogLevel::kInfo, system_clock());
}

}  // namespace

LinkedRun::LinkedRun(const std::string& manifest, const std::vector<const belay_module*>& modules)
    : clock_(system_clock()),
      log_(silent_logger()),
      environment_{clock_, *log_, posix_file_system(), targets_, interrupt_, DirectSessionOptions{}},
      ops_(make_op_registry()),
      graph_(*ops_),
      services_(*log_, clock_, temp_ / "run", 42),
      directory_(RunDirectory::open(environment_.files, temp_ / "run", clock_, *log_)),
      events_(directory_.directory(), clock_, *log_) {
  for (const belay_module* module : modules) registry_.add_linked(module);
  resolve(manifest);
  const auto threads = static_cast<int>(manifest_.run.threads);
  environment_.session = {{.threads = threads == 0 ? available_threads() : threads,
                           .seed = manifest_.run.seed,
                           .precision = manifest_.session.precision},
                          make_queue,
                          &clock_};
  add_session_services(services_);
  services_.set_context(&environment_);
  services_.set_context(&events_);

  PluginInstance& input = create(resolved_.inputs.at("train"), input_monitor_);
  input_ = InputFeed::open(
      input, {.name = "train", .prefetch = manifest_.inputs.at("train").prefetch, .seed = manifest_.run.seed});
  const InputFeed::Tensors tensors = input_->add_to_graph(graph_);
  model_ = build_model(create(*resolved_.model, monitor_), graph_, Mode::kTrain, tensors.features, tensors.labels, {},
                       manifest_.optimizer.accumulate);
  add_train_op(graph_,
               {manifest_.optimizer, create(*resolved_.optimizer, monitor_),
                resolved_.schedule ? &create(*resolved_.schedule, monitor_) : nullptr},
               model_);
  train_op_.emplace(std::vector<FetchRef>{model_.train_op});
  call_.fetches = &*train_op_;

  const PluginInstance& codec = create(*resolved_.saver, monitor_);
  RunSaverOptions saving;
  saving.saver = {&codec.table<belay_saver_api>(), codec.self(), codec.plugin().info.name, codec.plugin().version};
  saving.events = events_.writer();
  saving.checkpoint.save = SaveMode::kSync;  // what a step costs is counted
  saver_ = std::make_shared<RunSaver>(environment_, directory_.directory(), saving);
  services_.set_context(saver_.get());
  reading_ = saver_->options().saver;
  services_.set_context(&reading_);
}

void LinkedRun::resolve(const std::string& manifest) {
  Diagnostics problems;
  const Environment environment = process_environment();
  std::optional<Manifest> parsed = parse_manifest({temp_ / "train.toml", manifest}, {}, environment, problems);
  if (!parsed) fail(Code::kInvalidArgument, problems.text());
  manifest_ = std::move(*parsed);
  manifest_.run.dir = directory_.path();
  manifest_.hooks = hooks_of_run(manifest_);
  manifest_.scaffold.saver.emplace().plugin = "safetensors";
  FilePolicy policy;
  const CpuFeatures cpu;
  const PluginSearch no_files({}, policy, cpu);
  PluginResolver resolver(registry_, no_files, policy, cpu, {manifest_.directories, environment}, problems);
  resolved_ = resolver.resolve(manifest_);
  resolver.resolve_optimizer(manifest_, resolved_);
  if (!problems.empty()) fail(Code::kInvalidArgument, problems.text());
}

PluginInstance& LinkedRun::create(const ResolvedPlugin& plugin, CallMonitor& monitor) {
  const RegisteredPlugin* linked = registry_.find(plugin.info.kind, plugin.info.name, "");
  if (linked == nullptr) fail(Code::kNotFound, "no module that is linked in has '" + plugin.info.name + "'");
  return instances_.create(*linked, plugin, services_, monitor);
}

void LinkedRun::add_hooks_of_manifest() {
  for (const ResolvedPlugin& hook : resolved_.hooks)
    hooks_.add(SessionHook(create(hook, monitor_), *log_, hook.on_error));
}

MonitoredSession& LinkedRun::start() {
  ScaffoldOptions pieces;
  pieces.saver = saver_;
  auto creator = std::make_shared<ChiefSessionCreator>(
      graph_, environment_,
      ChiefSessionCreator::Options{.scaffold = std::make_shared<SessionScaffold>(std::move(pieces)),
                                   .checkpoint_dir = directory_.path()});
  MonitoredSessionOptions options;
  options.saver = saver_.get();
  options.monitor = &monitor_;
  session_.emplace(creator, environment_, hooks_, options);
  return *session_;
}

}  // namespace belay::runtime::testing
