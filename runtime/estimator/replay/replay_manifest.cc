// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/replay_manifest.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/estimator/resume/data_files.h"
#include "runtime/estimator/resume/manifest_changes.h"
#include "runtime/loader/file/cpu_features.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/loader/file/search.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/monitored/hooks/default_hooks.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns NAME or FILE.so, each perhaps with {OPTIONS}, as a manifest.
ManifestSource hook_source(const std::string& hook) {
  const std::size_t brace = hook.find('{');
  std::string options;
  if (brace != hook.npos) {
    if (hook.back() != '}')
      fail(Code::kInvalidArgument,
           "[B5004] --hook is \"" + escaped(hook) +
               "\", must be a name, or a name and its options as in gradient_norms{every_n_steps = 1}");
    options = hook.substr(brace + 1, hook.size() - brace - 2);
  }
  const std::string name = hook.substr(0, brace);
  const bool file = name.find('/') != name.npos;
  const std::string use = file ? "file = " + toml_string(std::filesystem::absolute(name).lexically_normal().string())
                               : "plugin = " + toml_string(name);
  const bool empty = options.find_first_not_of(" \t") == options.npos;
  return {"--hook " + name, "hooks = [{ " + use + (empty ? "" : ", " + options) + " }]\n"};
}

// Adds the name of an omitted hook. Without a name it adds those of the uses of its plugin.
void add_names(const PluginUse& use, const RunState& state, std::set<std::string>& names) {
  names.insert(use.name.empty() ? use.plugin : use.name);
  if (!use.name.empty()) return;
  for (const auto& [name, entries] : state.hook_states)
    if (name.starts_with(use.plugin + "_") && name.find_first_not_of("0123456789", use.plugin.size() + 1) == name.npos)
      names.insert(name);
}

void keep_what_counts(const RunState& state, const Environment& environment, ReplayManifest& replay) {
  Manifest& manifest = replay.manifest;
  FilePolicy policy;
  const PluginSearch search(plugin_search_path(manifest.plugins.path, environment), policy, CpuFeatures());
  std::vector<PluginUse> kept;
  for (PluginUse& use : hooks_of_run(manifest)) {
    if (is_watching(use, search))
      add_names(use, state, replay.left_out);
    else
      kept.push_back(std::move(use));
  }
  replay.kept_hooks = kept.size();
  manifest.hooks = std::move(kept);
}

// Evaluations change no number, but a hook may act on their results.
void leave_evaluations_out(Manifest& manifest) {
  std::erase_if(manifest.inputs, [](const auto& input) { return is_eval_input(input.first); });
  manifest.eval = EvalSettings();
  manifest.metrics.clear();
}

void save_nothing(Manifest& manifest) {
  const std::string basename = manifest.checkpoint.basename;
  manifest.checkpoint = CheckpointSettings();
  manifest.checkpoint.basename = basename;
  manifest.checkpoint.save_secs = 0;
  manifest.checkpoint.save_steps = 0;
  manifest.exporters.clear();
}

}  // namespace

bool is_watching(const PluginUse& hook, const PluginSearch& search) {
  if (hook.plugin.empty() || !hook.file.empty()) return false;
  try {
    return only_watches(search.find(PluginKind::kHook, hook.plugin).info);
  } catch (const LoadError&) {
    return false;
  }
}

std::optional<ReplayManifest> replay_manifest(const ReplayRequest& request, const ReplayPlan& plan,
                                              const std::string& directory, const Environment& environment,
                                              Diagnostics& problems) {
  const ManifestSource attempt{plan.manifest_file, plan.manifest};
  std::optional<Manifest> manifest = parse_manifest(attempt, data_file_sets(plan.manifest), environment, problems);
  std::vector<ManifestSource> sources;
  for (const std::string& hook : request.hook_texts) sources.push_back(hook_source(hook));
  for (const std::string& file : request.hook_files)
    if (std::optional<ManifestSource> source = read_manifest(file, problems)) sources.push_back(std::move(*source));
  if (!manifest || !problems.empty()) return std::nullopt;
  ReplayManifest replay{std::move(*manifest)};
  for (const std::string& folder : request.plugin_path)
    replay.manifest.plugins.path.push_back(std::filesystem::absolute(folder).lexically_normal().string());
  keep_what_counts(plan.checkpoint->state(), environment, replay);
  for (const ManifestSource& source : sources) {
    // A later list replaces the earlier one, so no layer has the run's hooks.
    const std::vector<ManifestSource> layers{attempt, {plan.manifest_file, "hooks = []\n"}, source};
    const std::optional<Manifest> with = parse_manifest(layers, {}, environment, problems);
    if (!with || !problems.empty()) return std::nullopt;
    replay.manifest.hooks.insert(replay.manifest.hooks.end(), with->hooks.begin(), with->hooks.end());
    replay.manifest.directories.others.insert(with->directories.others.begin(), with->directories.others.end());
  }
  for (const OwnHook& own : request.hooks)
    if (own.plugin) replay.manifest.hooks.push_back(*own.plugin);
  replay.manifest.run.mode = RunMode::kTrain;
  replay.manifest.run.dir = directory;
  replay.manifest.run.max_steps.reset();
  save_nothing(replay.manifest);
  if (replay.kept_hooks == 0) leave_evaluations_out(replay.manifest);
  return replay;
}

}  // namespace belay::runtime
