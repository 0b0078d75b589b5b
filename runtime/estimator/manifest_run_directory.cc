// SPDX-License-Identifier: Apache-2.0
// The run directory of a ManifestRun: what an earlier attempt left in it, and what this one begins with.
#include <algorithm>

#include "runtime/checkpoint/basename.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/checkpoint/sibling_run.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/run_hparams.h"
#include "runtime/monitored/attempt_mark.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

std::string ManifestRun::apart() const {
  const bool alone = trains(manifest_.run.mode) && !manifest_.cluster && strategy_->own_run() && !options_.place;
  return alone ? why_apart(environment_) : "";
}

void ManifestRun::take_directory() {
  try {
    host_.take_directory();
  } catch (const RunInUse& e) {
    const std::string why = apart();
    if (why.empty()) throw;
    throw RunInUse(e.code(), std::string(e.message()) + "; " + why);
  }
}

void ManifestRun::tell_last_attempt() const {
  const std::string& dir = manifest_.run.dir;
  try {
    if (dir.empty() || !host_.files().exists(dir)) return;
    const std::string how = AttemptMark::last_attempt(*host_.files().open_directory(dir));
    if (!how.empty()) host_.log().warning("", how);
  } catch (const Error&) {  // said by what needs the directory
  }
}

void ManifestRun::compare_with_earlier(Diagnostics& problems) {
  if (!trains(manifest_.run.mode)) return;
  resume_.look_at_files(plugins_.found());
  if (options_.from_scratch) return;
  const auto hooks = [&](const std::string& name) { return plugins_.info(PluginKind::kHook, name); };
  resume_.compare(plugins_.found(), hooks, environment_, problems);
  // A warm start's fit is that of other data.
  const auto& init_fns = manifest_.scaffold.init_fn;
  if (resume_.doubts_fit() && schema_.learned() != nullptr && schema_.learned()->plugin == training_plugin() &&
      std::none_of(init_fns.begin(), init_fns.end(), takes_schema))
    compare_fit(problems);
}

std::string ManifestRun::training_plugin() const {
  const auto found = plugins_.found().inputs.find("train");
  return found == plugins_.found().inputs.end() ? "" : found->second.info.name;
}

// The run's own input has the earlier training's fit: another instance fits anew, and is gone behind this.
void ManifestRun::compare_fit(Diagnostics& problems) {
  const ResolvedPlugin& found = plugins_.found().inputs.at("train");
  PluginInstances instances;
  try {
    const FoundUse use = plugins_.loaded(found);
    PluginInstance& input = instances.create(use.plugin, use.use, host_.services(), inputs_.at("train").monitor);
    resume_.compare_fit(differences_between(*schema_.learned(), InputFeed::learned_by(input, found.learned_options)),
                        manifest_.inputs.at("train").plugin_at, problems);
  } catch (const Error&) {  // said where it is opened
  }
}

void ManifestRun::compare_fingerprint(Diagnostics& problems) const {
  strategy_->compare_plugins(problems);
  if (trains(manifest_.run.mode) && !options_.from_scratch && strategy_->own_run())
    resume_.compare(fingerprint_of(host_.environment(), plugins_.registry()), strategy_->size(), problems);
}

void ManifestRun::open_directory() {
  if (!host_.has_directory()) return;
  host_.keep_directory();
  if (options_.from_scratch) start_over();
  say_new_run();
  write_manifest();
  training_.open_events();
  if (training_.events() != nullptr) write_run_hparams(*training_.events(), host_.clock(), manifest_);
}

// Where a name was mistyped this is the only sign of it.
void ManifestRun::say_new_run() {
  const OpenDirectory& run = host_.directory();
  begins_anew_ = !run.exists(kStateFileName) && basenames_in(run).empty();
  if (!begins_anew_ || !strategy_->own_run()) return;
  std::string text = "a new run in " + escaped(run.path());
  if (!options_.from_scratch)
    if (const auto sibling = find_sibling_run(host_.files(), run.path(), model_.graph.variables_digest()))
      text += "; " + escaped(sibling->path) + " holds checkpoints of this model, the newest of step " +
              std::to_string(sibling->step) + ": to go on from there, set run.dir";
  host_.log().info("", text);
}

// The last attempt's, and beside it each attempt's own.
void ManifestRun::write_manifest() {
  const std::string manifest = resume_.manifest_to_keep();
  const std::string attempt = std::to_string(host_.attempt());
  const std::string number = std::string(attempt.size() < 4 ? 4 - attempt.size() : 0, '0') + attempt;
  host_.directory().replace("manifest-" + number + ".toml", manifest);
  host_.directory().replace(kManifestName, manifest);
}

// Nothing is deleted: what an earlier run left goes into a directory beside it.
void ManifestRun::start_over() {
  OpenDirectory& run = host_.directory();
  std::vector<std::string> found;
  for (const std::string& name : run.entries())
    if (name != kLockName && name != kAttemptName && name != kAttemptsName && name.rfind("before-", 0) != 0)
      found.push_back(name);
  if (found.empty()) return;
  std::string aside;
  for (int i = 1;; ++i) {
    aside = "before-" + std::to_string(i);
    if (!run.exists(aside)) break;
  }
  run.make_directory(aside);
  for (const std::string& name : found)
    host_.files().rename(run.path() + "/" + name, run.path() + "/" + aside + "/" + name);
  run.sync();
  host_.log().info("", "--from-scratch: what an earlier run left is now in " + escaped(run.path()) + "/" + aside);
}

}  // namespace belay::runtime
