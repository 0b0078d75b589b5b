// SPDX-License-Identifier: Apache-2.0
// A program that fits y = 3 x + 2, with a folder for what it writes.
#pragma once

#include <belay/ops/math.h>
#include <belay/ops/random.h>
#include <belay/ops/reductions.h>
#include <belay/ops/variables.h>
#include <belay/runtime/graph.h>
#include <belay/runtime/training_session.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plugins/default_plugins.h"
#include "tests/platform/temp_dir.h"

namespace belay {

class ProgramTest : public ::testing::Test {
 protected:
  // The operation of a training step.
  static Output line(OwnedGraph& graph,
                     const OptimizerSettings& optimizer = {.learning_rate = {.learning_rate = 0.1}}) {
    const Output x = ops::random_uniform(graph, {64}, -1, 1);
    const Output y = x * 3.0 + 2.0;
    const Output weight = ops::variable(graph, "weight", Tensor(0.0f));
    const Output bias = ops::variable(graph, "bias", Tensor(0.0f));
    return graph.minimize(ops::reduce_mean(ops::square(weight * x + bias - y), {}, false, "loss"), optimizer);
  }
  TrainingSessionOptions options(const std::string& folder = {}) {
    TrainingSessionOptions o{.checkpoint_dir = folder.empty() ? "" : temp / folder, .threads = 1};
    o.log = log_options();
    return o;
  }
  LogOptions log_options() {
    LogOptions o;
    o.write = [this](std::string_view line) { log += line; };
    return o;
  }
  // Trains up to a global step; returns it.
  std::int64_t train_to(const std::string& folder, std::int64_t last_step) {
    OwnedGraph graph(default_plugins());
    const Output train = line(graph);
    TrainingSessionOptions o = options(folder);
    o.hooks.push_back(plugin_hook("stop_at_step", {{"last_step", last_step}}));
    MonitoredTrainingSession session(graph, o);
    session.scope([&] {
      while (!session.should_stop()) session.run({train});
    });
    return session.global_step();
  }

  std::string log;
  runtime::TempDir temp;
};

}  // namespace belay
