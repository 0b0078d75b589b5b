// SPDX-License-Identifier: Apache-2.0
// A program that trains, with the hooks that a test names and time that passes when the test moves it. The hooks are
// the real plugins, in a real MonitoredTrainingSession.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/summaries.h"
#include "belay/ops/variables.h"
#include "belay/testing/error_of.h"
#include "plugins/default_plugins.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/ops/registry.h"
#include "tests/monitored/event_files.h"
#include "tests/monitored/jumping_clock.h"
#include "tests/monitored/probe.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {

using belay::testing::error_of;
using Steps = std::vector<std::int64_t>;
using PluginOptions = std::vector<std::pair<std::string, OptionValue>>;

// An integer option.
inline OptionValue n(std::int64_t value) { return value; }

// Keeps what is logged.
class KeptLog final : public Logger {
 public:
  struct Line {
    LogLevel level;
    std::string source, text;
  };
  void log(LogLevel level, std::string_view source, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back({level, std::string(source), std::string(text)});
  }
  bool enabled(LogLevel) const override { return true; }
  bool interactive() const override { return false; }
  void status_line(std::string_view) override {}
  void set_step(std::int64_t) override {}
  void flush() override {}

  // The messages of one hook, or of the session (""); of one level if it is given.
  std::vector<std::string> of(std::string_view source, std::optional<LogLevel> level = {}) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> texts;
    for (const Line& line : lines_)
      if (line.source == source && (!level || line.level == *level)) texts.push_back(line.text);
    return texts;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

// `train` advances the global step by `steps_per_run`, after what fetches it, and the weight, which is the loss too, by
// a half: from 1.
struct Trained {
  explicit Trained(const OpRegistry& ops, std::int64_t steps_per_run = 1, const std::string& scope = "",
                   const std::string& step_name = "global_step")
      : graph(ops), g(graph.handle()) {
    if (scope.empty()) {
      step = ops::variable(g, step_name, Tensor(std::int64_t{0}), ops::VariableKind::kGlobal);
    } else {
      const auto in = g.scope(scope);
      step = ops::variable(g, step_name, Tensor(std::int64_t{0}), ops::VariableKind::kGlobal);
    }
    g.collect(collections::kGlobalStep, step);
    weight = ops::variable(g, "weight", Tensor(1.0f));
    loss = ops::identity(weight, "loss");
    const Output stepped = ops::assign_add(step, ops::constant(g, Tensor(steps_per_run)));
    const Output changed = ops::assign_add(weight, ops::constant(g, Tensor(0.5f)));
    train = ops::group(g, {stepped, changed}, "train");
    increment = stepped;
  }
  NodeGraph graph;
  belay::Graph g;
  Output step, weight, loss, train;
  Output increment;  // the step alone
};

class HookConformance : public ::testing::Test {
 protected:
  HookConformance() : ops(make_op_registry()) { new_program(); }
  ~HookConformance() override { session.reset(); }

  // A new graph, for the next session.
  Trained& new_program(std::int64_t steps_per_run = 1, const std::string& scope = "",
                       const std::string& step_name = "global_step") {
    session.reset();
    program = std::make_unique<Trained>(*ops, steps_per_run, scope, step_name);
    return *program;
  }

  // A session without default hooks in the directory `run`.
  TrainingSessionSetup bare() {
    TrainingSessionSetup o;
    o.plugins = default_plugins();
    o.checkpoint_dir = run_directory();
    o.checkpoint.save_secs = 0;
    o.checkpoint.save = mode;
    o.checkpoint.max_to_keep = 0;
    o.session.save_summaries_steps = 0;
    o.session.log_step_count_steps = 0;
    o.threads = 1;
    o.logger = &log;
    o.clock = &clock;
    return o;
  }
  TrainingSessionSetup with(const std::string& plugin, PluginOptions options = {}) {
    TrainingSessionSetup o = bare();
    o.hooks.push_back(plugin_hook(plugin, std::move(options)));
    return o;
  }
  std::unique_ptr<Probe> probe(const std::string& name) { return std::make_unique<Probe>(name, timeline); }

  MonitoredSession& open(TrainingSessionSetup o) {
    session.reset();
    session = std::make_unique<MonitoredTrainingSession>(program->graph, std::move(o));
    (*session)->finish_save();
    return **session;
  }
  // So many runs, each after so many seconds, and each until what it saved is there.
  void run(int runs = 1, double seconds = 0) {
    for (int i = 0; i < runs; ++i) {
      clock.advance(static_cast<std::int64_t>(seconds * 1e9));
      (*session)->run({program->train});
      (*session)->finish_save();
    }
  }
  std::int64_t step() { return (*session)->raw_session()->handle().value(Fetch<std::int64_t>(program->step)); }
  void set_step(std::int64_t value) { (*session)->raw_session()->handle().assign("global_step", Tensor(value)); }
  // The same, with the global step at `step` from the start.
  static TrainingSessionSetup starting_at(std::int64_t step, TrainingSessionSetup o) {
    o.scaffold.init_fn = [step](Session& made) { made.assign("global_step", Tensor(step)); };
    return o;
  }
  // Returns the hook's own error for these options: "INVALID_ARGUMENT: give ...".
  std::string refused(const std::string& plugin, PluginOptions options = {}) {
    const std::string text = error_of([&] { open(with(plugin, std::move(options))); });
    const std::string where = "linked in, 1.0.0): ";
    const std::size_t at = text.find(where);
    return at == std::string::npos ? text : text.substr(0, text.find(": ") + 2) + text.substr(at + where.size());
  }

  std::string run_directory() const { return temp / "run"; }
  // Steps of the checkpoints in the run directory, sorted.
  Steps saved() const {
    Steps steps;
    const std::string prefix = "model.ckpt-";
    for (const std::string& name : posix_file_system().open_directory(run_directory())->entries())
      if (name.starts_with(prefix)) steps.push_back(std::stoll(name.substr(prefix.size())));
    std::sort(steps.begin(), steps.end());
    return steps;
  }
  // Steps at which the event file has a value of this tag.
  Steps written(const std::string& tag) const { return read_event_files(run_directory()).steps[tag]; }
  EventFiles events() const { return read_event_files(run_directory()); }
  // Closes the session and forgets it, so that its files are whole.
  void end() {
    (*session)->close();
    session.reset();
  }

  SaveMode mode = SaveMode::kSync;
  JumpingClock clock;
  KeptLog log;
  std::unique_ptr<OpRegistry> ops;
  TempDir temp;
  Timeline timeline;
  std::unique_ptr<Trained> program;
  std::unique_ptr<MonitoredTrainingSession> session;
};

}  // namespace belay::runtime::testing
