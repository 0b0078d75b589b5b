// SPDX-License-Identifier: Apache-2.0
// A ManifestRun as the replay of another run's steps.
#include <set>

#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/monitored_training_session.h"
#include "runtime/estimator/replay_capture.h"
#include "runtime/estimator/replay_guard.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// The names of the hooks that keep tensors and see all of them, and of those around a hook that may only watch.
constexpr const char *kCapture = "replay", *kWatch = "replay, all tensors";
constexpr const char *kBefore = "replay, before ", *kBehind = "replay, behind ";

}  // namespace

void ManifestRun::add_hook(const FoundUse& hook, std::size_t place) {
  const bool watches = options_.replay != nullptr && !options_.replay->what_if && place >= options_.replay->kept_hooks;
  if (!watches) {
    training_.add_hook(hook);
    return;
  }
  add_watching(hook.use.instance_name, [&] { training_.add_hook(hook); });
}

// `add` adds the hook of that name. What it writes is found by the guards, what it feeds is refused at once.
void ManifestRun::add_watching(const std::string& name, const std::function<void()>& add) {
  const ReplayGuard guard = guard_around(name);
  training_.add_hook(kBefore + name, guard.before);
  add();
  training_.hooks().all().back().refuse_feeds("leave that out, or see by --what-if what comes of it");
  training_.add_hook(kBehind + name, guard.behind);
}

void ManifestRun::add_own_hooks() {
  for (const OwnHook& own : options_.replay->own_hooks) {
    const auto add = [&] { runtime::add_hook(training_, plugins_, own); };
    if (options_.replay->what_if)
      add();
    else
      add_watching(own.name, add);
  }
}

void ManifestRun::add_capture() {
  const ReplayOptions& replay = *options_.replay;
  const ArrayPlace place{host_.environment(), manifest_.run.dir, [this] { return plugins_.other_saver("npz"); }};
  if (!replay.fetches.empty() || replay.batch)
    training_.add_hook(kCapture, capture_hook(model_, place, {.names = replay.fetches, .batch = replay.batch}));
  if (replay.watch)
    training_.add_hook(kWatch, watch_hook(model_, host_.environment(), [place, &replay](const WatchedStep& step) {
                         return replay.watch(step, place);
                       }));
}

void ManifestRun::compare_plugins(Diagnostics& problems) const {
  const ReplayOptions& replay = *options_.replay;
  for (const auto& [plugin, id] : fingerprint_of(host_.environment(), plugins_.registry()).plugins) {
    const auto before = replay.plugins.find(plugin);
    if (before == replay.plugins.end() || before->second == id) continue;
    const std::string text = "the plugin " + escaped(plugin) + " has changed: " + escaped(replay.steps.checkpoint) +
                             " was written with build " + escaped(before->second) + ", found is " + escaped(id);
    if (replay.what_if)
      host_.log().warning("", text);
    else
      problems.add({manifest_.file, 0, 0}, text,
                   "put that build of it into the plugin path, or see by --what-if what this one does");
  }
}

// All hooks but the new ones: those of the model and of evaluations, too.
ReplayedSteps ManifestRun::replayed_steps() {
  const ReplayOptions& replay = *options_.replay;
  std::set<std::string> in_some{kCapture, kWatch};
  const std::vector<ResolvedPlugin>& named = plugins_.found().hooks;
  for (std::size_t i = replay.kept_hooks; i < named.size(); ++i) {
    const std::string& name = named[i].instance_name;
    in_some.insert({name, kBefore + name, kBehind + name});
  }
  for (const OwnHook& own : replay.own_hooks) in_some.insert({own.name, kBefore + own.name, kBehind + own.name});
  ReplayedSteps steps = replay.steps;
  for (const SessionHook& hook : training_.hooks().all())
    if (!in_some.contains(hook.name())) steps.in_each.push_back(hook.name());
  return steps;
}

}  // namespace belay::runtime
