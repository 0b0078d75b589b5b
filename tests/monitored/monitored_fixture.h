// SPDX-License-Identifier: Apache-2.0
// The layers of a monitored session need these: a graph, a clock that jumps over every wait, a log that is kept, and
// hooks.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/queues.h"
#include "belay/ops/variables.h"
#include "runtime/data/make_queue.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/loader/library/registry.h"
#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/monitored/run/run_environment.h"
#include "runtime/monitored/services/host_services.h"
#include "runtime/ops/registry.h"
#include "tests/monitored/jumping_clock.h"
#include "tests/monitored/probe.h"
#include "tests/session/session_fixture.h"  // error_of

namespace belay::runtime::testing {

class MonitoredTest : public ::testing::Test {
 protected:
  MonitoredTest()
      : log(make_logger(output(), LogFormat::kJson, LogLevel::kInfo, clock)),
        environment{clock,   *log,      posix_file_system(),
                    targets, interrupt, DirectSessionOptions{{1, 42}, make_queue, &clock}},
        ops(make_op_registry()),
        graph(*ops),
        g(graph.handle()),
        services(*log, clock, "", 42) {
    add_session_services(services);
    services.set_context(&environment);
  }

  template <class T>
  T& add_hook(const std::string& name, std::unique_ptr<T> hook, OnHookError on_error = OnHookError::kStop) {
    T& added = *hook;
    hooks.add(SessionHook(instances.add_hook(name, std::move(hook), services, monitor), *log, on_error));
    return added;
  }
  Probe& add_probe(const std::string& name, OnHookError on_error = OnHookError::kStop) {
    return add_hook(name, std::make_unique<Probe>(name, timeline), on_error);
  }
  // The calls of the hooks since the last look.
  Timeline new_events() { return std::exchange(timeline, {}); }
  // Whether a line of the log holds this.
  bool logged(const std::string& message) const { return log_text.find(message) != std::string::npos; }

  LogOutput output() {
    LogOutput kept;
    kept.write = [this](std::string_view text) {
      log_text += text;
      if (on_log) on_log(text);
      return true;
    };
    return kept;
  }

  JumpingClock clock;
  std::string log_text;
  std::function<void(std::string_view)> on_log;  // what a test does when something is logged
  std::unique_ptr<Logger> log;
  StoreTargets targets;
  CancellationSource interrupt;
  RunEnvironment environment;
  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  belay::Graph g;
  HostServices services;
  CallMonitor monitor, saver_monitor;  // of the session's thread, and of the saver's instance
  Timeline timeline;
  Registry registry;  // its plugins outlive their instances
  PluginInstances instances;
  HookSet hooks;
};

}  // namespace belay::runtime::testing
