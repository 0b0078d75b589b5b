// SPDX-License-Identifier: Apache-2.0
// A training run inside this program, of plugins linked into it: what `belay run` puts together, with every part in
// reach.
//
//   LinkedRun run("[run]\nmax_steps = 100\n...", modules);   // plugins, inputs, graph, run directory
//   run.add_hook("probe", std::make_unique<Probe>());          // hooks are called in the order in which they are added
//   run.add_hooks_of_manifest();                               // the defaults, then those of [[hooks]]
//   MonitoredSession& session = run.start();
//   session.run(run.train_call());
//
// The run directory is a temporary one, gone afterwards; the log goes nowhere. Errors are thrown. [one thread]
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/events/event_service.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/loader/library/registry.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/monitored/run/run_directory.h"
#include "runtime/monitored/saving/run_saver.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {

class LinkedRun {
 public:
  // `manifest`: its content, without run.dir. The modules hold all plugins that it names and the default ones.
  LinkedRun(const std::string& manifest, const std::vector<const belay_module*>& modules);

  template <class T>
  void add_hook(const std::string& name, std::unique_ptr<T> hook) {
    hooks_.add(SessionHook(instances_.add_hook(name, std::move(hook), services_, monitor_), *log_));
  }
  void add_hooks_of_manifest();

  MonitoredSession& start();
  const RunCall& train_call() const noexcept { return call_; }
  const ModelOutputs& model() const noexcept { return model_; }

 private:
  PluginInstance& create(const ResolvedPlugin& plugin, CallMonitor& monitor);
  void resolve(const std::string& manifest);

  TempDir temp_;
  Clock& clock_;
  std::unique_ptr<Logger> log_;
  StoreTargets targets_;
  CancellationSource interrupt_;
  Registry registry_;
  Manifest manifest_;
  ResolvedPlugins resolved_;
  RunEnvironment environment_;
  std::unique_ptr<OpRegistry> ops_;
  NodeGraph graph_;
  CallMonitor monitor_;
  CallMonitor input_monitor_;  // of the feeding thread
  HostServices services_;
  PluginInstances instances_;
  std::shared_ptr<InputFeed> input_;
  ModelOutputs model_;
  HookSet hooks_;
  RunDirectory directory_;
  RunEvents events_;
  std::shared_ptr<RunSaver> saver_;
  SaverUse reading_;
  std::optional<FetchSet> train_op_;
  RunCall call_;
  std::optional<MonitoredSession> session_;
};

}  // namespace belay::runtime::testing
