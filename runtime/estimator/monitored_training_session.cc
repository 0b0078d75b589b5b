// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/monitored_training_session.h"

#include <algorithm>

#include "runtime/events/graph_def.h"
#include "runtime/loader/cpu_features.h"
#include "runtime/monitored/default_hooks.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/ops/parallel.h"
#include "runtime/platform/spinning.h"

namespace belay::runtime {
namespace {

World world_of(const TrainingSessionOptions& o, std::unique_ptr<Logger>& own_log) {
  Clock& clock = o.clock != nullptr ? *o.clock : system_clock();
  if (o.log == nullptr) own_log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, clock);
  return {clock, o.log != nullptr ? *o.log : *own_log, o.files != nullptr ? *o.files : posix_file_system()};
}

RunHostOptions run_options(const TrainingSessionOptions& o) {
  RunHostOptions run;
  if (o.is_chief) {
    run.dir = o.checkpoint_dir;
    run.events_dir = o.summary_dir;
  }
  run.threads = o.threads;
  run.seed = o.seed;
  run.checkpoint = o.checkpoint;
  run.session = o.session;
  run.session.signal_grace_secs = 0;  // the program's signals are its own
  return run;
}

// What this system cannot do; the spinning of waiting threads is a warning only.
void check_system(const RunHost& run) {
  const int threads = run.environment().session.threads;
  const std::string reason = why_not(run.options().session.precision, CpuFeatures());
  if (!reason.empty()) fail(Code::kFailedPrecondition, reason + "; leave session.precision as it is");
  const std::string no_team = why_no_team(threads);
  if (!no_team.empty()) fail(Code::kFailedPrecondition, no_team + "; unset it, or set the session's threads");
  const std::string warning = spinning_warning(threads);
  if (!warning.empty()) run.log().warning("", warning);
}

}  // namespace

OwnHook plugin_hook(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options,
                    const std::string& name) {
  OwnHook hook;
  hook.name = name.empty() ? plugin : name;
  hook.plugin = plugin_use(plugin, options, "hook \"" + hook.name + "\"");
  hook.plugin->name = hook.name;
  return hook;
}

MonitoredTrainingSession::MonitoredTrainingSession(NodeGraph& graph, TrainingSessionOptions options)
    : run_(world_of(options, own_log_), control_, run_options(options), options.targets),
      plugins_(run_, options.plugins),
      host_(run_, {.saves = true}) {
  check_system(run_);
  run_.take_directory();
  host_.open_events();
  make_saver(options.saver);
  make_hooks(options);
  session_ = host_.open(creator(graph, options));
  if (host_.events() != nullptr && options.save_graph_def) host_.events()->add_graph(serialized_graph_def(graph));
}

MonitoredTrainingSession::~MonitoredTrainingSession() {
  if (session_ != nullptr) {
    const EndReason& reason = session_->end_reason();
    if (reason.kind == EndReason::Kind::kNone) {
      run_.log().warning("", "the session was dropped without being closed: no hook's end was called");
    } else {
      run_.log().info("", "the session ended: " + reason.text);
    }
  }
  const std::int64_t step = session_ == nullptr ? -1 : session_->global_step();
  session_.reset();
  try {
    host_.close_events(step);
  } catch (const Error& e) {
    run_.log().error("", e.what());
  }
}

void MonitoredTrainingSession::make_saver(const std::string& name) {
  if (!run_.has_directory() && !plugins_.has(PluginKind::kSaver, name)) return;
  PluginUse use;
  use.plugin = name;
  run_.use_codec(saver_use(plugins_.create(plugins_.linked(PluginKind::kSaver, use), run_.monitor())));
  if (run_.has_directory()) run_.open_saver(fingerprint_of(run_.environment(), plugins_.registry()), host_.events());
}

void MonitoredTrainingSession::add_own(const std::vector<OwnHook>& hooks) {
  for (const OwnHook& own : hooks) {
    for (const SessionHook& other : host_.hooks().all())
      if (other.name() == own.name)
        fail(Code::kInvalidArgument, "two hooks are named \"" + own.name + "\": each needs a name of its own");
    if (own.plugin) {
      host_.add_hook(plugins_.linked(PluginKind::kHook, *own.plugin));
    } else {
      host_.add_hook(own.name, own.make);
    }
  }
}

void MonitoredTrainingSession::make_hooks(const TrainingSessionOptions& options) {
  const auto replaced = [&](const PluginUse& default_hook) {
    const auto names_it = [&](const OwnHook& own) { return own.plugin && own.plugin->plugin == default_hook.plugin; };
    return std::any_of(options.hooks.begin(), options.hooks.end(), names_it) ||
           std::any_of(options.chief_only_hooks.begin(), options.chief_only_hooks.end(), names_it);
  };
  if (options.is_chief) {
    add_own(options.chief_only_hooks);
    for (const PluginUse& use :
         training_session_hooks(options.session, options.checkpoint, host_.events() != nullptr, run_.has_directory()))
      if (!replaced(use)) host_.add_hook(plugins_.linked(PluginKind::kHook, use));
  }
  add_own(options.hooks);
}

std::shared_ptr<SessionCreator> MonitoredTrainingSession::creator(NodeGraph& graph,
                                                                  const TrainingSessionOptions& options) {
  ScaffoldOptions pieces = options.scaffold;
  pieces.saver = run_.saver();
  // Where summary_saver looks for it.
  if (pieces.summary_op) graph.replace_collection(collections::kSummaryOp, {graph.resolve(pieces.summary_op.raw())});
  auto scaffold = std::make_shared<Scaffold>(std::move(pieces));
  if (!options.is_chief)
    return std::make_shared<WorkerSessionCreator>(
        graph, run_.environment(),
        WorkerSessionCreator::Options{.scaffold = scaffold,
                                      .target = options.target,
                                      .max_wait_secs = options.max_wait_secs,
                                      .recovery_wait_secs = options.recovery_wait_secs});
  return std::make_shared<ChiefSessionCreator>(
      graph, run_.environment(),
      ChiefSessionCreator::Options{
          .scaffold = scaffold, .target = options.target, .checkpoint_dir = options.checkpoint_dir});
}

}  // namespace belay::runtime
