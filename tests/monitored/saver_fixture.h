// SPDX-License-Identifier: Apache-2.0
// A run directory and a saver that writes safetensors into it, besides what every monitored test has. It saves at the
// boundary, unless a test about saving in the background asks for that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/default_plugins.h"
#include "runtime/monitored/run/run_directory.h"
#include "runtime/monitored/saving/run_saver.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {

class SaverTest : public MonitoredTest {
 protected:
  SaverTest() : run(RunDirectory::open(posix_file_system(), temp / "run", clock, *log)) {
    for (const belay_module* module : default_plugins()) registry.add_linked(module);
    const RegisteredPlugin* plugin = registry.find(PluginKind::kSaver, "safetensors", "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = "safetensors";
    codec = &instances.create(*plugin, resolved, services, saver_monitor);
  }
  // The run's saver; in another directory than the run's only for what restores.
  std::shared_ptr<RunSaver> make_saver(RunSaverOptions options = {}) {
    if (options.saver.table == nullptr)
      options.saver = {&codec->table<belay_saver_api>(), codec->self(), codec->plugin().info.name,
                       codec->plugin().version};
    options.checkpoint.save = mode;
    auto saver = std::make_shared<RunSaver>(environment, run.directory(), std::move(options));
    services.set_context(saver.get());
    reading = saver->options().saver;
    services.set_context(&reading);
    return saver;
  }
  std::shared_ptr<DirectSession> open_session() {
    return std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
  }
  std::vector<std::string> checkpoints() {
    std::vector<std::string> names;
    for (const std::string& name : run.directory().entries())
      if (name.starts_with("model.ckpt")) names.push_back(name);
    return names;
  }

  SaveMode mode = SaveMode::kSync;
  TempDir temp;
  RunDirectory run;
  PluginInstance* codec = nullptr;
  SaverUse reading;
};

}  // namespace belay::runtime::testing
