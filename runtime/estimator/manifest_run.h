// SPDX-License-Identifier: Apache-2.0
// A run as its manifest composes it, stage by stage; each takes what the one before made, and nothing reaches back.
//
//   manifest -> plugins -> scaffold -> session -> hooks
//
//   ManifestRun run(manifest, options, world, environment, control);
//   run.find_plugins(problems)     // names and options against the notes; no plugin code runs
//   run.take_directory()           // the run directory made, locked, this attempt's mark put into it
//   run.load_plugins()             // libraries, then instances
//   run.build_scaffold()           // inputs opened, graph built; still nothing to keep
//   run.open_directory()           // from here on it stays
//   run.train(...)                 // a mode: the session with its hooks
//   run.evaluate(...)              // one pass over [input.eval]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/estimator/evaluate.h"
#include "runtime/estimator/run_plugins.h"
#include "runtime/estimator/train.h"

namespace belay::runtime {

struct ManifestRunOptions {
  bool from_scratch = false;  // checkpoints of the directory are moved aside, not restored
};

class ManifestRun {
 public:
  ManifestRun(Manifest manifest, ManifestRunOptions options, const World& world, Environment environment,
              RunControl& control);
  ~ManifestRun();
  ManifestRun(const ManifestRun&) = delete;
  ManifestRun& operator=(const ManifestRun&) = delete;

  // False where a plugin is the trouble (exit status 3 instead of 2); `problems` has all.
  bool find_plugins(Diagnostics& problems);
  // RunInUse; PERMISSION_DENIED and others. Until open_directory() the end of the run takes away what this made.
  void take_directory() { host_.take_directory(); }
  // A warning where the attempt before ended without a word. Changes nothing; for `belay check`.
  void tell_last_attempt() const;
  // LoadError; or an instance's own error.
  void load_plugins();
  // Opens the inputs (the first batch is fetched: an empty input shows) and builds the graph.
  void build_scaffold();
  // After take_directory(). PERMISSION_DENIED and others.
  void open_directory();
  // `on_step` after every step, on this thread. Where the directory's lock is lost it fails, and lock_lost() is true.
  TrainingResult train(const std::function<void()>& on_step);
  std::optional<EvalResult> evaluate(const std::function<void()>& on_batch);

  RunHost& host() noexcept { return host_; }
  const RunHost& host() const noexcept { return host_; }
  ModelGraph& model() noexcept { return model_; }
  const ModelGraph& model() const noexcept { return model_; }
  const Manifest& manifest() const noexcept { return manifest_; }
  const RunPlugins& plugins() const noexcept { return plugins_; }
  // By section. Null: it is not there.
  const RunInput* input(const std::string& name) const;
  // Labels of the hooks that on_error = "disable" took out.
  std::vector<std::string> disabled_hooks() { return training_.hooks().disabled(); }
  // What a plugin is doing at the moment; empty: none. Any thread.
  std::string activity() const;

 private:
  void write_manifest();
  void start_over();
  void say_new_run();

  const Manifest manifest_;
  const ManifestRunOptions options_;
  const Environment environment_;
  RunHost host_;
  std::unique_ptr<OpRegistry> ops_;
  ModelGraph model_;
  RunPlugins plugins_;
  std::map<std::string, RunInput> inputs_;  // by section
  SessionHost training_;
  PluginInstance* model_instance_ = nullptr;
  std::shared_ptr<VariableStore> trained_;  // that the training ended with
};

}  // namespace belay::runtime
