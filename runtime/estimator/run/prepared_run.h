// SPDX-License-Identifier: Apache-2.0
// A run of a manifest: what its stages have found, opened and built. prepare() fills it in, stage by stage (prepare.h).
// Afterwards a function of its mode uses it.
//
//   PreparedRun run(manifest, options, platform, environment, control);
//   prepare(run, problems, Preparation::kRun, calls);
//   const TrainingResult result = train(run, progress);       // or the function of another mode
//
// [main], except activity()
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/run_plugins.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/estimator/resume/model_schema.h"
#include "runtime/estimator/resume/resume_check.h"
#include "runtime/estimator/run/prepared_run_options.h"
#include "runtime/estimator/run/run_evaluations.h"
#include "runtime/estimator/run/run_exports.h"
#include "runtime/estimator/run/run_strategy.h"

namespace belay::runtime {

struct PreparedRun {
  // `whole`: the manifest of all processes. Platform and control are borrowed.
  PreparedRun(const Manifest& whole, PreparedRunOptions given, const Platform& platform, Environment variables,
              RunControl& control);
  ~PreparedRun();
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;

  bool is_training() const noexcept { return trains(manifest.run.mode); }
  bool keep_going() const { return !host.control().stopping(); }
  // Returns the manifest, completed by the default hooks and the default saver. It lacks the parts that the mode does
  // not use.
  Manifest uses() const;
  // Finds it by section; null: there is none.
  const RunInput* input(const std::string& name) const;
  // The checkpoint that a mode other than training uses.
  CheckpointPlace checkpoint_place() const;
  CheckpointChoice checkpoint_choice() const;
  // The plugin's callback that runs at the moment; empty: none. [any thread]
  std::string activity() const;

  const std::optional<LaunchedPlace> place;  // among several processes; none: this one trains alone
  const Manifest manifest;                   // the part of this process
  const PreparedRunOptions options;
  const Environment environment;
  RunHost host;
  ResumeCheck resume;
  const std::unique_ptr<OpRegistry> ops;
  ModelGraph model;
  RunPlugins plugins;
  ModelSchema schema;
  std::map<std::string, RunInput> inputs;  // by section
  RunEvaluations evaluations;
  RunExports exports;
  SessionHost training;  // its hooks borrow members before it
  PluginInstance* model_instance = nullptr;
  std::optional<OptimizerUse> optimizer;  // of a training
  ScaffoldOptions pieces;                 // those of the manifest
  std::vector<DeclaredLabel> declared;    // the training's labels, for a prediction whose input has none
  bool names_found = false;               // prepare() has read the plugins' notes
  bool begins_anew = true;                // the opened directory held no checkpoint
  std::unique_ptr<RunStrategy> strategy;  // it is destroyed before its parts
};

}  // namespace belay::runtime
