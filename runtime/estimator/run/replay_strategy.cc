// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/replay_strategy.h"

#include <fmt/core.h>

#include <set>
#include <utility>
#include <vector>

#include "runtime/cluster/rank_positions.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/estimator/steps/replay_capture.h"
#include "runtime/estimator/steps/replay_guard.h"
#include "runtime/monitored/run/fingerprint.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The names of the hooks that keep tensors and see all of them. The last two are names of the hooks around a hook that
// may only watch.
constexpr const char *kCapture = "replay", *kWatch = "replay, all tensors";
constexpr const char *kBefore = "replay, before ", *kAfter = "replay, after ";

}  // namespace

void ReplayStrategy::add_hook(const FoundUse& hook, std::size_t place) {
  if (replay_.what_if || place < replay_.kept_hooks) return RunStrategy::add_hook(hook, place);
  add_watching(hook.use.instance_name, [&] { parts_.training.add_hook(hook); });
}

// `add` adds the hook of this name. The guards find what it writes, and a feed is refused at once.
void ReplayStrategy::add_watching(const std::string& name, const std::function<void()>& add) {
  const ReplayGuard guard = guard_around(name);
  parts_.training.add_hook(kBefore + name, guard.before);
  add();
  parts_.training.hooks().all().back().refuse_feeds("leave that out, or see by --what-if what comes of it");
  parts_.training.add_hook(kAfter + name, guard.behind);
}

void ReplayStrategy::add_hooks_of_graph() {
  add_own_hooks();
  add_capture();
}

void ReplayStrategy::add_own_hooks() {
  for (const OwnHook& own : replay_.own_hooks) {
    const auto add = [&] { runtime::add_hook(parts_.training, parts_.plugins, own); };
    if (replay_.what_if)
      add();
    else
      add_watching(own.name, add);
  }
}

void ReplayStrategy::add_capture() {
  const ArrayPlace place{parts_.host.environment(), parts_.manifest.run.dir,
                         [&plugins = parts_.plugins] { return plugins.other_saver("npz"); }};
  if (!replay_.fetches.empty() || replay_.batch)
    parts_.training.add_hook(kCapture,
                             capture_hook(parts_.model, place, {.names = replay_.fetches, .batch = replay_.batch}));
  if (replay_.watch)
    parts_.training.add_hook(
        kWatch, watch_hook(parts_.model, parts_.host.environment(),
                           [place, &replay = replay_](const WatchedStep& step) { return replay.watch(step, place); }));
}

void ReplayStrategy::compare_plugins(Diagnostics& problems) const {
  for (const auto& [plugin, id] : fingerprint_of(parts_.host.environment(), parts_.plugins.registry()).plugins) {
    const auto before = replay_.plugins.find(plugin);
    if (before == replay_.plugins.end() || before->second == id) continue;
    const std::string text = "the plugin " + escaped(plugin) + " has changed: " + escaped(replay_.steps.checkpoint) +
                             " was written with build " + escaped(before->second) + ", found is " + escaped(id);
    if (replay_.what_if)
      parts_.host.log().warning("", text);
    else
      problems.add({parts_.manifest.file, 0, 0}, fmt::format("[B5046] {}", text),
                   "put that build of it into the plugin path, or see by --what-if what this one does");
  }
}

// Chooses all hooks but the new ones, also those of the model and of evaluations.
void ReplayStrategy::choose_hooks() {
  std::set<std::string> in_some{kCapture, kWatch};
  const std::vector<ResolvedPlugin>& named = parts_.plugins.found().hooks;
  for (std::size_t i = replay_.kept_hooks; i < named.size(); ++i) {
    const std::string& name = named[i].instance_name;
    in_some.insert({name, kBefore + name, kAfter + name});
  }
  for (const OwnHook& own : replay_.own_hooks) in_some.insert({own.name, kBefore + own.name, kAfter + own.name});
  std::vector<std::string> in_each;
  for (const SessionHook& hook : parts_.training.hooks().all())
    if (!in_some.contains(hook.name())) in_each.push_back(hook.name());
  in_each_ = parts_.training.hooks().only(in_each);
}

// The checkpoint is of another run. The states of hooks that were left out on purpose have no owner. A hook of this run
// with such a name begins without a state.
std::shared_ptr<SessionCreator> ReplayStrategy::creator(ChiefSessionCreator::Options options) {
  choose_hooks();
  options.checkpoint_dir.clear();
  options.checkpoint_filename_with_path = replay_.steps.checkpoint;
  return chief_creator(std::move(options), [this](CreatedSession& created) {
    refuse_ranks(*created.session, kTrainInput);
    if (!created.restored) return;
    std::erase_if(created.restored->state.hook_states,
                  [this](const auto& state) { return replay_.steps.left_out.contains(state.first); });
  });
}

bool ReplayStrategy::goes_on(MonitoredSession& session, std::int64_t made, RunCall& call) {
  if (made >= replay_.steps.until) {
    replay_.steps.at_last(*session.raw_session());
    session.request_stop(fmt::format("replayed to step {}", made));
    return false;
  }
  const std::int64_t next = made + 1;
  call.hooks = next < replay_.steps.first || next > replay_.steps.last ? &in_each_ : nullptr;
  return true;
}

}  // namespace belay::runtime
