// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/monitored_training_session.h"

#include <algorithm>

#include "runtime/events/graph_def.h"
#include "runtime/monitored/hooks/default_hooks.h"
#include "runtime/monitored/run/fingerprint.h"

namespace belay::runtime {
namespace {

RunHostOptions run_options(const TrainingSessionSetup& o) {
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

}  // namespace

OwnHook plugin_hook(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options,
                    const std::string& name) {
  OwnHook hook;
  hook.name = name.empty() ? plugin : name;
  hook.plugin = plugin_use(plugin, options, "hook \"" + hook.name + "\"");
  hook.plugin->name = hook.name;
  return hook;
}

namespace {

void check_name(SessionHost& session, const std::string& name) {
  for (const SessionHook& other : session.hooks().all())
    if (other.name() == name)
      fail(Code::kInvalidArgument, "[B5047] two hooks are named \"" + name + "\": give each hook another name");
}

}  // namespace

void add_model_hooks(SessionHost& session, RunPlugins& plugins, const PluginInstance& model,
                     const ModelOutputs& outputs) {
  for (const ModelOutputs::Hook& hook : outputs.hooks) {
    const FoundUse found = plugins.brought(hook.use, model);
    try {
      check_name(session, hook.use.name);
    } catch (const Error& e) {
      fail(e.code(), model.label() + " brings a hook: " + e.what());
    }
    session.add_hook(found);
  }
}

void add_hook(SessionHost& session, RunPlugins& plugins, const OwnHook& hook) {
  check_name(session, hook.name);
  if (hook.plugin) {
    session.add_hook(plugins.linked(PluginKind::kHook, *hook.plugin));
  } else {
    session.add_hook(hook.name, hook.make);
  }
}

struct MonitoredTrainingSession::OwnRun {
  explicit OwnRun(const TrainingSessionSetup& o)
      : run(platform_or_system(o.clock, o.logger, o.files, log), control, run_options(o), o.targets),
        plugins(run, o.plugins) {}

  std::unique_ptr<Logger> log;  // null: the program's
  RunControl control;
  RunHost run;
  RunPlugins plugins;
};

std::string ended_text(const EndReason& reason) {
  const bool by_queue = reason.text.find("is closed and has insufficient elements") != std::string::npos;
  return reason.kind == EndReason::Kind::kEndOfInput && by_queue ? "the input ended" : reason.text;
}

MonitoredTrainingSession::MonitoredTrainingSession(NodeGraph& graph, TrainingSessionSetup options)
    : MonitoredTrainingSession(std::make_unique<OwnRun>(options), graph, options) {}

MonitoredTrainingSession::MonitoredTrainingSession(std::unique_ptr<OwnRun> own, NodeGraph& graph,
                                                   const TrainingSessionSetup& options)
    : own_(std::move(own)),
      run_(own_->run),
      plugins_(own_->plugins),
      host_(run_, {.saves = true, .recovers = options.recovers}) {
  start(graph, options);
}

MonitoredTrainingSession::MonitoredTrainingSession(RunHost& run, RunPlugins& plugins, NodeGraph& graph,
                                                   const TrainingSessionSetup& options)
    : run_(run), plugins_(plugins), host_(run_, {.saves = true, .recovers = options.recovers}) {
  start(graph, options);
}

void MonitoredTrainingSession::start(NodeGraph& graph, const TrainingSessionSetup& options) {
  check_one_source({.checkpoint_dir = options.checkpoint_dir,
                    .checkpoint_filename_with_path = options.checkpoint_filename_with_path});
  check_system(run_);
  if (!run_.has_directory()) run_.take_directory();
  host_.open_events();
  make_saver(options);
  make_hooks(options);
  run_.keep_directory();
  session_ = host_.open(creator(graph, options));
  if (host_.events() != nullptr && options.save_graph_def) host_.events()->add_graph(serialized_graph_def(graph));
}

MonitoredTrainingSession::~MonitoredTrainingSession() {
  if (session_ != nullptr) {
    const EndReason& reason = session_->end_reason();
    if (reason.kind == EndReason::Kind::kNone) {
      run_.log().warning("", "the session was dropped without being closed: no hook's end was called");
    } else {
      run_.log().info("", "the session ended: " + ended_text(reason));
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

void MonitoredTrainingSession::make_saver(const TrainingSessionSetup& options) {
  restored_from_ = options.checkpoint_filename_with_path;
  const bool needed = run_.has_directory() || !restored_from_.empty();
  if (!needed && !plugins_.has(PluginKind::kSaver, options.saver)) return;
  run_.use_codec(plugins_.linked_saver(options.saver, run_.saver_monitor()));
  if (run_.has_directory()) run_.open_saver(fingerprint_of(run_.environment(), plugins_.registry()), host_.events());
}

void MonitoredTrainingSession::add_own(const std::vector<OwnHook>& hooks) {
  for (const OwnHook& own : hooks) add_hook(host_, plugins_, own);
}

void MonitoredTrainingSession::make_hooks(const TrainingSessionSetup& options) {
  const auto replaced = [&](const PluginUse& default_hook) {
    const auto names_it = [&](const OwnHook& own) { return own.plugin && own.plugin->plugin == default_hook.plugin; };
    return std::any_of(options.hooks.begin(), options.hooks.end(), names_it) ||
           std::any_of(options.chief_only_hooks.begin(), options.chief_only_hooks.end(), names_it);
  };
  if (options.is_chief) {
    add_own(options.chief_only_hooks);
    const RunHostOptions& settings = run_.options();
    for (const PluginUse& use :
         training_session_hooks(settings.session, settings.checkpoint, host_.events() != nullptr, run_.has_directory()))
      if (!replaced(use)) host_.add_hook(plugins_.linked(PluginKind::kHook, use));
  }
  add_own(options.hooks);
}

std::shared_ptr<SessionCreator> MonitoredTrainingSession::creator(NodeGraph& graph,
                                                                  const TrainingSessionSetup& options) {
  ScaffoldOptions pieces{options.scaffold, options.initial_values};
  pieces.saver = run_.saver();
  // The init functions are made when they are called. If a checkpoint is restored, their files need not exist.
  if (options.is_chief && !options.init_fns.empty())
    pieces.host_init = [this, &graph, uses = options.init_fns](const SessionScaffold&, DirectSession& session) {
      if (!host_.has_init_fns())
        for (const PluginUse& use : uses) host_.add_init_fn(plugins_.linked(PluginKind::kInitFn, use));
      host_.call_init_fns(graph, session);
    };
  // summary_saver looks for the operation there.
  if (pieces.summary_op) graph.replace_collection(collections::kSummaryOp, {graph.resolve(pieces.summary_op.raw())});
  auto scaffold = std::make_shared<SessionScaffold>(std::move(pieces));
  if (!options.is_chief)
    return std::make_shared<WorkerSessionCreator>(
        graph, run_.environment(),
        WorkerSessionCreator::Options{.scaffold = scaffold,
                                      .target = options.target,
                                      .max_wait_secs = options.max_wait_secs,
                                      .recovery_wait_secs = options.recovery_wait_secs});
  return std::make_shared<ChiefSessionCreator>(
      graph, run_.environment(),
      ChiefSessionCreator::Options{.scaffold = scaffold,
                                   .target = options.target,
                                   .checkpoint_dir = run_.options().dir,
                                   .checkpoint_filename_with_path = restored_from_,
                                   .codec = run_.codec()});
}

}  // namespace belay::runtime
