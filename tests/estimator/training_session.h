// SPDX-License-Identifier: Apache-2.0
// A program that trains with MonitoredTrainingSession: a graph, a clock, a place for its directories.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belay/ops/summaries.h"
#include "plugins/default_plugins.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "tests/monitored/event_files.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {

using Steps = std::vector<std::int64_t>;
inline constexpr std::int64_t kSecond = 1'000'000'000;

// A program's graph: a counter, a variable that goes with it, and a summary.
struct Program {
  explicit Program(const OpRegistry& ops) : graph(ops) {
    const belay::Graph g = graph.handle();
    step = ops::create_global_step(g);
    weight = ops::variable(g, "weight", Tensor(1.0f));
    ops::scalar_summary("weight", weight);
    const auto after = g.after({ops::assign_add(weight, ops::constant(g, Tensor(0.5f)))});
    train = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
  }
  NodeGraph graph;
  Output step, weight, train;
};

class TrainingSessionTest : public MonitoredTest {
 protected:
  TrainingSessionTest() : program(*ops) {}

  TrainingSessionSetup options(const std::string& checkpoint_dir) {
    TrainingSessionSetup o;
    o.plugins = default_plugins();
    o.checkpoint_dir = checkpoint_dir;
    o.checkpoint.save = SaveMode::kSync;  // tests look at what a run has saved when it returns
    o.threads = 1;
    o.logger = log.get();
    o.clock = &clock;
    return o;
  }
  // A hook of the session that is made with these options.
  Probe& probe_in(TrainingSessionSetup& o) {
    auto hook = std::make_unique<Probe>("probe", timeline);
    Probe& added = *hook;
    o.hooks.push_back(own_hook("probe", std::move(hook)));
    return added;
  }
  OwnHook probe(const std::string& name) { return own_hook(name, std::make_unique<Probe>(name, timeline)); }

  std::int64_t step_of(MonitoredTrainingSession& session) {
    return session->run({program.step})[0].scalar<std::int64_t>();
  }
  // A second passes with each step.
  std::int64_t train(MonitoredTrainingSession& session, int steps = 1) {
    std::int64_t step = -1;
    for (int i = 0; i < steps; ++i) {
      clock.advance(kSecond);
      step = session->run({program.train})[0].scalar<std::int64_t>();
    }
    return step;
  }
  // One start of the program: how far it is before and after so many steps.
  std::pair<std::int64_t, std::int64_t> start(TrainingSessionSetup o, int steps) {
    MonitoredTrainingSession session(program.graph, std::move(o));
    std::pair<std::int64_t, std::int64_t> out;
    session->scope([&] {
      out.first = step_of(session);
      if (steps > 0) train(session, steps);
      out.second = step_of(session);
    });
    return out;
  }
  std::vector<std::string> checkpoints_in(const std::string& path) {
    std::vector<std::string> names;
    for (const std::string& name : posix_file_system().open_directory(path)->entries())
      if (name.starts_with("model.ckpt")) names.push_back(name);
    return names;
  }

  Program program;
  TempDir temp;
};

}  // namespace belay::runtime::testing
