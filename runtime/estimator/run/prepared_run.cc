// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/prepared_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "belay/philox.h"
#include "runtime/estimator/run/rank_of_run.h"
#include "runtime/monitored/hooks/default_hooks.h"
#include "runtime/ops/registry.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The training itself writes the final export, while the evaluator of its checkpoints runs.
bool has_exports(const Manifest& manifest) {
  const RunMode mode = manifest.run.mode;
  if (trains(mode) || mode == RunMode::kExport) return true;
  return mode == RunMode::kContinuousEval &&
         std::any_of(manifest.exporters.begin(), manifest.exporters.end(),
                     [](const ExporterSection& e) { return e.when != ExportWhen::kFinal; });
}

Manifest with_defaults(Manifest manifest, bool default_hooks) {
  const bool training = trains(manifest.run.mode);
  if (!training)
    manifest.hooks.clear();
  else if (default_hooks)
    manifest.hooks = hooks_of_run(manifest);
  if (!training) manifest.scaffold.init_fn.clear();
  if (!has_exports(manifest)) manifest.exporters.clear();
  const std::string predicted = predict_input(manifest), exported = export_input(manifest);
  std::erase_if(manifest.inputs, [&](const auto& entry) {
    switch (manifest.run.mode) {
      case RunMode::kEvaluate: return !is_eval_input(entry.first);
      case RunMode::kContinuousEval:
        return !is_eval_input(entry.first) && (manifest.exporters.empty() || entry.first != exported);
      case RunMode::kPredict: return entry.first != predicted && entry.first != "train";
      case RunMode::kExport: return entry.first != exported;
      default:
        return entry.first == "predict" && !default_hooks;  // a replay or a worker reads only the inputs that it needs
    }
  });
  if (!manifest.scaffold.saver) manifest.scaffold.saver = plugin_use("safetensors", {}, "the default saver");
  return manifest;
}

// A worker's random numbers differ from the chief's. If each dropped out the same values, a dropout would be weaker.
RunHostOptions host_options(const Manifest& manifest, bool from_scratch, const std::optional<LaunchedPlace>& place) {
  RunHostOptions options;
  options.dir = manifest.run.dir;
  options.threads = static_cast<int>(manifest.run.threads);
  options.seed = manifest.run.seed;
  if (place) options.place = {place->rank, place->size, std::max(place->local_rank, 0), 0};
  if (place && place->rank != 0) options.seed = mix_key(manifest.run.seed, static_cast<std::uint64_t>(place->rank));
  options.min_steps = manifest.run.min_steps;
  options.marks_attempt = true;
  options.starts_over = from_scratch;
  options.checkpoint = manifest.checkpoint;
  options.session = manifest.session;
  return options;
}

}  // namespace

PreparedRun::PreparedRun(const Manifest& whole, PreparedRunOptions given, const Platform& platform,
                         Environment variables, RunControl& control)
    : place(place_of(whole, given, variables)),
      manifest(manifest_of_rank(whole, place)),
      options(std::move(given)),
      environment(std::move(variables)),
      host(platform, control, host_options(manifest, options.from_scratch, place)),
      resume(host.files(), host.log(), manifest, options.resume),
      ops(make_op_registry()),
      model(*ops, manifest.run.mode == RunMode::kPredict ? Mode::kPredict : Mode::kTrain,
            manifest.optimizer.accumulate),
      plugins(host, manifest, environment),
      training(host, {.saves = true, .recovers = recovers(whole, place)}) {
  for (const auto& [name, section] : manifest.inputs)
    inputs.emplace(name, RunInput{.name = name, .monitor = host.add_monitor(), .prefetch = section.prefetch});
  strategy =
      make_strategy({manifest, options, environment, host, plugins, schema, model, inputs, training}, whole, place);
}

PreparedRun::~PreparedRun() = default;

Manifest PreparedRun::uses() const { return with_defaults(manifest, strategy->default_hooks()); }

const RunInput* PreparedRun::input(const std::string& name) const {
  const auto found = inputs.find(name);
  return found == inputs.end() ? nullptr : &found->second;
}

CheckpointPlace PreparedRun::checkpoint_place() const { return {host.files(), host.log(), manifest.run.dir}; }

CheckpointChoice PreparedRun::checkpoint_choice() const {
  CheckpointChoice choice = parse_checkpoint_choice(manifest.run.checkpoint);
  if (choice.kind == CheckpointChoice::Kind::kPath && !choice.path.starts_with('/'))
    choice.path = manifest.directories.at(manifest.at("run.checkpoint")) + "/" + choice.path;
  return choice;
}

namespace {

// Returns "the evaluation of step 200 on [input.eval]"; empty: none is running.
std::string evaluating(const PreparedRun& run) {
  const Evaluation* evaluation = run.evaluations.running.load();
  if (evaluation == nullptr) return "";
  return fmt::format("the evaluation of step {} on [input.{}]", run.inputs.at(evaluation->name()).monitor.step.load(),
                     evaluation->name());
}

}  // namespace

std::string PreparedRun::activity() const {
  const std::string library = plugins.loading();
  if (!library.empty()) return "plugin '" + escaped(library) + "', which is being loaded";
  const std::string evaluation = evaluating(*this);
  const std::string text = calls_in_progress(host.monitors());
  return evaluation + (evaluation.empty() || text.empty() ? "" : ": ") + text;
}

}  // namespace belay::runtime
