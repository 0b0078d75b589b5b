// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/hooks/default_hooks.h"

#include <algorithm>

namespace belay::runtime {
namespace {

PluginUse hook(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options = {}) {
  return plugin_use(plugin, options, "the default hook " + plugin);
}

}  // namespace

std::vector<PluginUse> training_session_hooks(const SessionSettings& session, const CheckpointSettings& checkpoint,
                                              bool has_events, bool has_checkpoints) {
  std::vector<PluginUse> hooks;
  if (has_events && session.log_step_count_steps > 0)
    hooks.push_back(hook("step_counter", {{"every_n_steps", session.log_step_count_steps}}));
  if (has_events) {
    std::vector<std::pair<std::string, OptionValue>> periods;
    if (session.save_summaries_steps.value_or(0) > 0) periods.emplace_back("save_steps", *session.save_summaries_steps);
    if (session.save_summaries_secs.value_or(0) > 0) periods.emplace_back("save_secs", *session.save_summaries_secs);
    if (!session.save_summaries_steps && !session.save_summaries_secs)
      periods.emplace_back("save_steps", std::int64_t{100});
    if (!periods.empty()) hooks.push_back(hook("summary_saver", periods));
  }
  if (has_checkpoints) {
    std::vector<std::pair<std::string, OptionValue>> periods;
    if (checkpoint.save_steps.value_or(0) > 0) periods.emplace_back("save_steps", *checkpoint.save_steps);
    if (checkpoint.save_secs.value_or(0) > 0) periods.emplace_back("save_secs", *checkpoint.save_secs);
    if (!checkpoint.save_steps && !checkpoint.save_secs) periods.emplace_back("save_secs", 600.0);
    if (!periods.empty()) hooks.push_back(hook("checkpoint_saver", periods));
  }
  return hooks;
}

std::vector<PluginUse> hooks_of_run(const Manifest& manifest) {
  std::vector<PluginUse> hooks;
  if (manifest.run.max_steps) hooks.push_back(hook("stop_at_step", {{"last_step", *manifest.run.max_steps}}));
  const bool kept = !manifest.run.dir.empty();
  std::vector<std::pair<std::string, OptionValue>> end;
  if (manifest.run.max_steps) end.emplace_back("max_steps", *manifest.run.max_steps);
  for (PluginUse& use : training_session_hooks(manifest.session, manifest.checkpoint, kept, kept)) {
    if (use.plugin == "summary_saver") {
      for (const auto& [key, value] : end) use.options.push_back({key, value, use.at, use.at});
      use.options.push_back({"last_loss", true, use.at, use.at});  // progress fetches it in any case
    }
    hooks.push_back(std::move(use));
  }
  hooks.push_back(hook("nan_tensor"));
  if (kept) hooks.push_back(hook("json_lines", end));
  hooks.push_back(hook("progress", end));
  std::erase_if(hooks, [&](const PluginUse& use) {
    return std::any_of(manifest.hooks.begin(), manifest.hooks.end(),
                       [&](const PluginUse& own) { return own.plugin == use.plugin; });
  });
  hooks.insert(hooks.end(), manifest.hooks.begin(), manifest.hooks.end());
  return hooks;
}

}  // namespace belay::runtime
