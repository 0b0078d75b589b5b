// SPDX-License-Identifier: Apache-2.0
// An input and models to evaluate: "numbers" counts 1, 2, 3, ... in batches of two, "scaled" multiplies it, "above"
// finds the larger ones.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/estimator/evaluation/evaluation.h"
#include "runtime/loader/library/registry.h"
#include "tests/monitored/monitored_fixture.h"

extern "C" {
extern const belay_module belay_module_v0;
}

namespace belay::runtime::testing {

using Metrics = std::vector<std::pair<std::string, double>>;
using OptionList = std::vector<std::pair<std::string, OptionValue>>;

// If its option asks for it, "numbers" waits here until the test lets it continue.
class Gatekeeper {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waits_ = false;
  bool open_ = false;
};
inline Gatekeeper* gatekeeper = nullptr;  // of the test that runs

// The first base, so that the monitors outlive the instances that report to them.
struct InputMonitors {
  std::vector<std::unique_ptr<CallMonitor>> monitors;  // of the feeding threads
};

class EvaluationTest : protected InputMonitors, public MonitoredTest {
 protected:
  EvaluationTest() {
    registry.add_linked(&belay_module_v0);
    new_run();
  }
  // With one thread, unless the options ask for more.
  void new_run(RunHostOptions options = {}) {
    options.threads = std::max(options.threads, 1);
    run_host = std::make_unique<RunHost>(Platform{clock, *log, posix_file_system()}, control, std::move(options));
  }

  PluginInstance& create(PluginKind kind, const std::string& name, CallMonitor& of, const OptionList& options = {}) {
    const RegisteredPlugin* plugin = registry.find(kind, name, "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = name;
    for (const auto& [key, value] : options) resolved.options.add(key, value, plugin->info.option(key)->type);
    return instances.create(*plugin, resolved, services, of);
  }
  RunInput& open(const std::string& name, const OptionList& options = {}) {
    CallMonitor& of = *monitors.emplace_back(std::make_unique<CallMonitor>());
    RunInput& input = opened.emplace_back(RunInput{.name = name, .monitor = of});
    input.instance = &create(PluginKind::kInput, "numbers", of, options);
    input.open(42);
    return input;
  }
  void add_made(const std::string& name, const PluginInstance::MakeHook& make) {
    hooks.add(SessionHook(instances.add_hook(name, make, services, monitor), *log));
  }
  PluginInstance& model(const OptionList& options = {}, const std::string& name = "scaled") {
    return create(PluginKind::kModel, name, monitor, options);
  }

  RunControl control;
  std::unique_ptr<RunHost> run_host;
  std::list<RunInput> opened;
};

inline bool always() { return true; }

}  // namespace belay::runtime::testing
