// SPDX-License-Identifier: Apache-2.0
// First-party hooks leave these in a run that has all of them: files that grow, their states in a checkpoint, weights.
// A run that lost its session, or was started again, leaves what an undisturbed one leaves.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/belay_process.h"

namespace belay::runtime::testing {

// The tables of a manifest: each hook that keeps something from step to step, and ends no training here.
inline std::string hooks_that_keep() {
  const std::vector<std::pair<const char*, const char*>> hooks = {
      {"activation_stats", "tensors = [\"value\"]\nevery_n_steps = 4"},
      {"csv_logger", "tensors = [\"loss\"]\nevery_n_steps = 1"},
      {"early_stopping", "patience = 1000\nevery_n_steps = 3"},
      {"gradient_norms", "every_n_steps = 4\nweights = true\nupdates = true"},
      {"histograms", "every_n_steps = 7"},
      {"history", "tensors = [\"loss\"]"},
      {"input_wait", "every_n_steps = 6"},
      {"json_lines", "every_n_steps = 1"},
      {"limit_batches", "batches = 1000\ncount_earlier_attempts = true"},
      {"logging_tensor", "tensors = [\"loss\"]\nevery_n_iter = 9"},
      {"lr_monitor", "every_n_steps = 4"},
      {"parameter_schedule", "variable = \"learning_rate_scale\"\nsteps = [0, 5]\nvalues = [1.0, 0.9]"},
      {"profiler", "save_steps = 12"},
      {"prometheus", ""},
      {"reduce_lr_on_plateau", "patience = 12\nmin_delta = 1e6\nevery_n_steps = 1\nfactor = 0.5"},
      {"running_average", "tensors = [\"loss\"]\nevery_n_steps = 1"},
      {"sample_dump", "tensors = [\"loss\"]\nevery_n_steps = 1"},
      {"spike_detection", "window = 5\ndeviations = 1"},
      {"state_digest", "every_n_steps = 3\noutput_file = \"digests.jsonl\""},
      {"step_counter", "every_n_steps = 4"},
      {"summary_saver", "save_steps = 4"},
      {"system_metrics", "every_n_steps = 7"},
      {"threshold_stop", "target = -1e9\nevery_n_steps = 3"},
      {"time_limit", "seconds = 1e6"},
      {"weight_averaging", "use_at_end = false"},
  };
  std::string tables;
  for (const auto& [plugin, options] : hooks)
    tables += std::string("[[hooks]]\nplugin = \"") + plugin + "\"\n" + options + "\n";
  return tables;
}

// Each of the other first-party hooks: a run of hooks_that_keep() has it by itself, or it keeps nothing (environment
// counts the recoveries). assign_metric needs an evaluation, and has its own test.
inline std::set<std::string> other_hooks() {
  return {"assign_metric",
          "checkpoint_saver",
          "environment",
          "feed_fn",
          "final_ops",
          "global_step_waiter",
          "model_summary",
          "nan_guard",
          "nan_tensor",
          "progress",
          "restore_best",
          "stop_after_n_evals",
          "stop_at_checkpoint_step",
          "stop_at_step",
          "stop_file",
          "summary_at_end"};
}

// By the file's or the hook's name, without what depends on the time that something took.
inline std::map<std::string, std::string> left_by_hooks(const std::string& run, int step) {
  std::map<std::string, std::string> left;
  for (const char* file : {"metrics.csv", "samples.jsonl", "history.json", "spikes.json"})
    left[file] = contents(run + "/" + file);
  const std::string checkpoint = run + "/model.ckpt-" + std::to_string(step);
  left["the variables"] = contents(checkpoint + "/model.safetensors");
  std::map<std::int64_t, std::string> digests;  // the last one of each step
  std::istringstream lines(contents(run + "/digests.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto fields = nlohmann::json::parse(line);
    if (fields.contains("state_digest")) digests[fields.at("step")] = fields.at("state_digest");
  }
  for (const auto& [at, digest] : digests) left["digests.jsonl"] += std::to_string(at) + " " + digest + "\n";
  const std::string shown = contents(run + "/metrics.prom");
  for (const char* metric : {"belay_global_step", "belay_loss", "belay_finished"}) {
    std::smatch found;
    if (std::regex_search(shown, found, std::regex(std::string("\n") + metric + "\\{.*\\} (.*)\n")))
      left["metrics.prom"] += std::string(metric) + " " + found[1].str() + "\n";
  }
  const std::set<std::string> of_time = {
      "seconds_since", "seconds",      "seconds_per_run", "waited",
      "whole",         "recent_whole", "recent_waited",   "measured"};  // a session's first step is not measured
  const auto state = nlohmann::json::parse(contents(checkpoint + "/state"), nullptr, false);
  if (!state.is_object()) return left;
  for (const auto& [hook, entries] : state.at("hook_states").items())
    for (const auto& [key, value] : entries.items())
      if (of_time.count(key) == 0) left["state of " + hook] += key + " = " + value.dump() + "\n";
  return left;
}

}  // namespace belay::runtime::testing
