// SPDX-License-Identifier: Apache-2.0
// A monitored session that counts its steps and is saved in a run directory, with the hooks that a test adds before it
// opens.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/loader/options/check_options.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {

class SavedSession : public SaverTest {
 protected:
  // From the newest checkpoint of the run directory, or from exactly this one.
  MonitoredSession& open(const std::string& exactly = "", MonitoredSessionOptions options = {}) {
    drop();
    saver_ = make_saver(saving);
    scaffold.saver = saver_;
    options.saver = saver_.get();
    options.monitor = &monitor;
    const auto creator = std::make_shared<ChiefSessionCreator>(
        graph, environment,
        ChiefSessionCreator::Options{.scaffold = std::make_shared<SessionScaffold>(scaffold),
                                     .checkpoint_dir = exactly.empty() ? run.path() : "",
                                     .checkpoint_filename_with_path = exactly});
    session_ = std::make_unique<MonitoredSession>(creator, environment, hooks, std::move(options));
    return *session_;
  }
  MonitoredSession& session() { return *session_; }
  RunSaver& saver() { return *saver_; }
  void drop() { session_.reset(); }
  std::int64_t train() { return session().run({train_op})[0].scalar<std::int64_t>(); }
  std::int64_t read() { return session().run({step})[0].scalar<std::int64_t>(); }
  // One of the default plugins, with these options.
  void add_plugin(const std::string& name, const std::vector<std::pair<std::string, OptionValue>>& options) {
    const RegisteredPlugin* plugin = registry.find(PluginKind::kHook, name, "");
    Diagnostics problems;
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = name;
    resolved.options = check_options(plugin->info, plugin_use(name, options, ""), {}, problems);
    ASSERT_TRUE(problems.empty()) << problems.text();
    hooks.add(SessionHook(instances.create(*plugin, resolved, services, monitor), *log));
  }

  ScaffoldOptions scaffold;
  RunSaverOptions saving;
  const Output step = ops::create_global_step(g);
  const Output train_op = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1}), "one"), "train");

 private:
  std::shared_ptr<RunSaver> saver_;
  std::unique_ptr<MonitoredSession> session_;
};

}  // namespace belay::runtime::testing
