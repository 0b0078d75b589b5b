// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/estimator/run/prepare.h"
#include "runtime/monitored/run/fingerprint.h"

namespace belay::runtime {
namespace {

// A warm start has the fit of other data.
bool has_fit_of_earlier(const PreparedRun& run) {
  const auto& inputs = run.plugins.found().inputs;
  const auto train = inputs.find("train");
  const std::string plugin = train == inputs.end() ? "" : train->second.info.name;
  const auto& init_fns = run.manifest.scaffold.init_fn;
  return run.schema.learned() != nullptr && run.schema.learned()->plugin == plugin &&
         std::none_of(init_fns.begin(), init_fns.end(), takes_schema);
}

// The run's input has the earlier training's fit. So another instance fits again, and is destroyed after this.
void compare_fit(PreparedRun& run, Diagnostics& problems) {
  const ResolvedPlugin& found = run.plugins.found().inputs.at("train");
  PluginInstances instances;
  try {
    const FoundUse use = run.plugins.loaded(found);
    PluginInstance& input = instances.create(use.plugin, use.use, run.host.services(), run.inputs.at("train").monitor);
    run.resume.compare_fit(
        differences_between(*run.schema.learned(), InputFeed::learned_by(input, found.learned_options)),
        run.manifest.inputs.at("train").plugin_at, problems);
  } catch (const Error&) {  // the stage that opens the input reports it
  }
}

}  // namespace

void compare_with_earlier(PreparedRun& run, Diagnostics& problems) {
  if (!run.strategy->own_run()) return;
  if (!run.is_training()) return run.resume.warn_of_split_files(run.plugins.found());
  run.resume.look_at_files(run.plugins.found());
  if (run.options.from_scratch) return;
  const auto hooks = [&](const std::string& name) { return run.plugins.info(PluginKind::kHook, name); };
  run.resume.compare(run.plugins.found(), hooks, run.environment, problems);
  if (run.resume.doubts_fit() && has_fit_of_earlier(run)) compare_fit(run, problems);
}

void compare_fingerprint(const PreparedRun& run, Diagnostics& problems) {
  run.strategy->compare_plugins(problems);
  if (run.is_training() && !run.options.from_scratch && run.strategy->own_run())
    run.resume.compare(fingerprint_of(run.host.environment(), run.plugins.registry()), run.strategy->size(), problems);
}

}  // namespace belay::runtime
