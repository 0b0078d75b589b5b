// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/monitored_training_session.h"

#include <algorithm>

#include "runtime/data/make_queue.h"
#include "runtime/events/graph_def.h"
#include "runtime/loader/cpu_features.h"
#include "runtime/monitored/default_hooks.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/monitored/host_services.h"
#include "runtime/ops/parallel.h"
#include "runtime/platform/spinning.h"

namespace belay::runtime {
namespace {

TrainingSessionOptions completed(TrainingSessionOptions o, std::unique_ptr<Logger>& own_log) {
  if (o.clock == nullptr) o.clock = &system_clock();
  if (o.files == nullptr) o.files = &posix_file_system();
  if (o.log == nullptr) {
    own_log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, *o.clock);
    o.log = own_log.get();
  }
  if (o.targets == nullptr) o.targets = std::make_shared<StoreTargets>();
  if (o.threads == 0) o.threads = available_threads();
  if (o.summary_dir.empty()) o.summary_dir = o.checkpoint_dir;
  if (!o.is_chief) o.checkpoint_dir = o.summary_dir = "";
  return o;
}

}  // namespace

OwnHook plugin_hook(const std::string& plugin, std::vector<std::pair<std::string, OptionValue>> options,
                    const std::string& name) {
  PluginUse use;
  use.plugin = plugin;
  use.name = name.empty() ? plugin : name;
  use.at.file = use.plugin_at.file = "hook \"" + use.name + "\"";
  for (auto& [key, value] : options) use.options.push_back({key, std::move(value), use.at, use.at});
  OwnHook hook;
  hook.name = use.name;
  hook.plugin = std::move(use);
  return hook;
}

MonitoredTrainingSession::MonitoredTrainingSession(NodeGraph& graph, TrainingSessionOptions options)
    : options_(completed(std::move(options), own_log_)),
      environment_{
          *options_.clock,
          *options_.log,
          *options_.files,
          *options_.targets,
          interrupt_,
          SessionOptions{options_.threads, options_.seed, make_queue, options_.clock, options_.session.precision}},
      services_(*options_.log, *options_.clock,
                options_.checkpoint_dir.empty() ? options_.summary_dir : options_.checkpoint_dir, options_.seed) {
  add_session_services(services_);
  services_.set_context(&environment_);
  services_.set_context(&events_);
  const std::string reason = why_not(options_.session.precision, CpuFeatures());
  if (!reason.empty()) fail(Code::kFailedPrecondition, reason + "; leave session.precision as it is");
  const std::string no_team = why_no_team(options_.threads);
  if (!no_team.empty()) fail(Code::kFailedPrecondition, no_team + "; unset it, or set the session's threads");
  const std::string warning = spinning_warning(options_.threads);
  if (!warning.empty()) options_.log->warning("", warning);
  for (const belay_module* module : options_.plugins) registry_.add_linked(module);
  open_directories();
  make_saver();
  make_hooks();
  MonitoredSessionOptions session;
  session.stop_grace_period_secs = options_.session.stop_grace_period_secs;
  session.recovery = {options_.session.max_recoveries, options_.session.recovery_backoff_secs};
  session.saver = saver_.get();
  session.monitor = &monitor_;
  session.on_recovery = [this](const Error& error, std::int64_t count) {
    options_.log->warning("", "recovery " + std::to_string(count) + ": " + error.what());
    if (events_.writer() != nullptr)
      events_.writer()->add_scalar("recoveries", std::max<std::int64_t>(monitor_.step, 0), static_cast<double>(count));
  };
  session_ = std::make_unique<MonitoredSession>(creator(graph), environment_, hooks_, std::move(session));
  if (events_.writer() != nullptr && options_.save_graph_def) events_.writer()->add_graph(serialized_graph_def(graph));
}

MonitoredTrainingSession::~MonitoredTrainingSession() {
  if (session_ != nullptr) {
    const EndReason& reason = session_->end_reason();
    if (reason.kind == EndReason::Kind::kNone) {
      options_.log->warning("", "the session was dropped without being closed: no hook's end was called");
    } else {
      options_.log->info("", "the session ended: " + reason.text);
    }
  }
  const std::int64_t step = session_ == nullptr ? -1 : session_->global_step();
  session_.reset();
  if (events_.writer() == nullptr) return;
  try {
    events_.writer()->add_session_log(EventWriter::kStop, std::max<std::int64_t>(step, 0));
    events_.writer()->flush();
  } catch (const Error& e) {
    options_.log->error("", e.what());
  }
}

void MonitoredTrainingSession::open_directories() {
  FileSystem& files = *options_.files;
  if (!options_.checkpoint_dir.empty())
    directory_ = RunDirectory::open(files, options_.checkpoint_dir, *options_.clock, *options_.log);
  if (options_.summary_dir.empty()) return;
  if (options_.summary_dir == options_.checkpoint_dir) {
    events_ = RunEvents(directory_->directory(), *options_.clock, *options_.log);
  } else {
    summary_directory_ = files.make_directories(options_.summary_dir);
    events_ = RunEvents(*summary_directory_, *options_.clock, *options_.log);
  }
}

PluginInstance& MonitoredTrainingSession::create(PluginKind kind, const PluginUse& use) {
  const RegisteredPlugin* plugin = registry_.find(kind, use.plugin, "");
  if (plugin == nullptr)
    fail(Code::kNotFound, std::string("there is no ") + kind_name(kind) + " \"" + use.plugin +
                              "\" among the session's plugins: give it belay::default_plugins()");
  Diagnostics problems;
  ResolvedPlugin resolved;
  resolved.info = plugin->info;
  resolved.instance_name = use.name.empty() ? use.plugin : use.name;
  resolved.options = check_options(plugin->info, use, {}, problems);
  if (!problems.empty()) fail(Code::kInvalidArgument, problems.text());
  return instances_.create(*plugin, resolved, services_, monitor_);
}

void MonitoredTrainingSession::make_saver() {
  if (!directory_ && registry_.find(PluginKind::kSaver, options_.saver, "") == nullptr) return;
  PluginUse use;
  use.plugin = options_.saver;
  saver_use_ = saver_use(create(PluginKind::kSaver, use));
  services_.set_context(&saver_use_);
  if (!directory_) return;
  RunSaverOptions saving;
  saving.saver = saver_use_;
  saving.series.max_to_keep = options_.checkpoint.max_to_keep;
  saving.series.write.refuse_non_finite = options_.checkpoint.refuse_non_finite;
  saving.on_save_error = options_.checkpoint.on_save_error;
  saving.fingerprint = fingerprint_of(environment_, registry_);
  saving.events = events_.writer();
  saver_ = std::make_shared<RunSaver>(environment_, directory_->directory(), saving);
  services_.set_context(saver_.get());
}

void MonitoredTrainingSession::add_own(std::vector<OwnHook>& hooks) {
  for (const OwnHook& own : hooks) {
    for (const SessionHook& other : hooks_.all())
      if (other.name() == own.name)
        fail(Code::kInvalidArgument, "two hooks are named \"" + own.name + "\": each needs a name of its own");
    hooks_.add(SessionHook(own.plugin ? create(PluginKind::kHook, *own.plugin)
                                      : instances_.add_hook(own.name, own.make, services_, monitor_),
                           *options_.log));
  }
}

bool MonitoredTrainingSession::replaced(const PluginUse& default_hook) const {
  const auto names_it = [&](const OwnHook& own) { return own.plugin && own.plugin->plugin == default_hook.plugin; };
  return std::any_of(options_.hooks.begin(), options_.hooks.end(), names_it) ||
         std::any_of(options_.chief_only_hooks.begin(), options_.chief_only_hooks.end(), names_it);
}

void MonitoredTrainingSession::make_hooks() {
  if (options_.is_chief) {
    add_own(options_.chief_only_hooks);
    for (const PluginUse& use : training_session_hooks(options_.session, options_.checkpoint,
                                                       events_.writer() != nullptr, directory_.has_value()))
      if (!replaced(use)) hooks_.add(SessionHook(create(PluginKind::kHook, use), *options_.log));
  }
  add_own(options_.hooks);
}

std::shared_ptr<SessionCreator> MonitoredTrainingSession::creator(NodeGraph& graph) {
  ScaffoldOptions pieces = options_.scaffold;
  pieces.saver = saver_;
  // Where summary_saver looks for it.
  if (pieces.summary_op) graph.replace_collection(collections::kSummaryOp, {graph.resolve(pieces.summary_op.raw())});
  auto scaffold = std::make_shared<Scaffold>(std::move(pieces));
  if (!options_.is_chief)
    return std::make_shared<WorkerSessionCreator>(
        graph, environment_,
        WorkerSessionCreator::Options{.scaffold = scaffold,
                                      .target = options_.target,
                                      .max_wait_secs = options_.max_wait_secs,
                                      .recovery_wait_secs = options_.recovery_wait_secs});
  return std::make_shared<ChiefSessionCreator>(
      graph, environment_,
      ChiefSessionCreator::Options{
          .scaffold = scaffold, .target = options_.target, .checkpoint_dir = options_.checkpoint_dir});
}

}  // namespace belay::runtime
