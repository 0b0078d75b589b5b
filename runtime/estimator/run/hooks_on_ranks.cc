// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/hooks_on_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "belay/nearest.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

const std::string& listed_name(const PluginUse& hook) { return hook.name.empty() ? hook.plugin : hook.name; }

void check_name(const Manifest& manifest, const std::string& name, Diagnostics& problems) {
  const auto named = std::count_if(manifest.hooks.begin(), manifest.hooks.end(),
                                   [&](const PluginUse& hook) { return listed_name(hook) == name; });
  if (named == 1) return;
  if (named > 1)
    return problems.add(manifest.at("session.hooks_on_all_ranks"),
                        fmt::format("[B5048] {} hooks are called {}", named, double_quoted(name)),
                        "write name = \"...\" in their tables, and list those names");
  std::vector<std::string> known;
  for (const PluginUse& hook : manifest.hooks)
    if (!listed_name(hook).empty()) known.push_back(listed_name(hook));
  problems.add(
      manifest.at("session.hooks_on_all_ranks"),
      "[B5048] the manifest has no [[hooks]] that is called " + double_quoted(name) + did_you_mean(name, known),
      "a hook is called by its name, else by its plugin's; a default hook is listed in [[hooks]] first");
}

}  // namespace

bool on_all_ranks(const Manifest& manifest, const PluginUse& hook) {
  const std::vector<std::string>& names = manifest.session.hooks_on_all_ranks;
  return std::find(names.begin(), names.end(), listed_name(hook)) != names.end();
}

void check_hooks_on_all_ranks(const Manifest& manifest, const std::vector<PluginUse>& hooks,
                              const std::vector<ResolvedPlugin>& found, Diagnostics& problems) {
  for (const std::string& name : manifest.session.hooks_on_all_ranks) check_name(manifest, name, problems);
  if (found.size() != hooks.size()) return;  // one was not found, and has a problem already
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!on_all_ranks(manifest, hooks[i])) continue;
    if (hooks[i].on_error == OnHookError::kDisable)
      problems.add(hooks[i].at,
                   "[B5048] on_error = \"disable\" would leave the hook " + double_quoted(listed_name(hooks[i])) +
                       " out on one rank, and the others might wait for it",
                   "take it out of session.hooks_on_all_ranks, or leave on_error out");
  }
}

}  // namespace belay::runtime
