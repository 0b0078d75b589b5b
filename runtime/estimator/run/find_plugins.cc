// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "runtime/estimator/run/hooks_on_ranks.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/estimator/run/rank_of_run.h"
#include "runtime/manifest/paths.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// A training that begins with another model's values may read its inputs in the same way as the other training.
void read_start(PreparedRun& run, const CheckpointPlace& place) {
  for (const PluginUse& use : run.manifest.scaffold.init_fn) {
    if (run.schema.learned() != nullptr || !takes_schema(use)) continue;
    for (const PluginOption& option : use.options) {
      const auto* from = std::get_if<std::string>(&option.value);
      if (option.key != "from" || from == nullptr) continue;
      Diagnostics said_by_the_plugin;
      const auto path =
          expand_path(*from, run.manifest.directories, run.environment, option.value_at, said_by_the_plugin);
      if (path) run.schema.read_start(place, use, *path);
    }
  }
}

// All ranks read the chief's checkpoints, since each must deliver the same.
void read_schema(PreparedRun& run) {
  if (!run.is_training()) return run.schema.read(run.checkpoint_place(), run.checkpoint_choice());
  const std::string& directory = run.strategy->directory();
  const CheckpointPlace place{run.host.files(), run.host.log(), directory};
  if (!run.options.from_scratch && run.strategy->own_run() && !directory.empty()) run.schema.read_earlier(place);
  read_start(run, place);
}

// The options that inputs inherit from the training.
std::optional<TrainedOptions> trained_options(const PreparedRun& run) {
  const auto& init_fns = run.manifest.scaffold.init_fn;
  const bool starts = std::any_of(init_fns.begin(), init_fns.end(), takes_schema);
  if (run.is_training()) return starts ? run.schema.trained_options(true) : std::nullopt;
  if (std::optional<TrainedOptions> trained = run.schema.trained_options()) return trained;
  // The checkpoint does not have them, so those of the manifest count.
  const auto train = run.manifest.inputs.find("train");
  if (train == run.manifest.inputs.end()) return std::nullopt;
  return TrainedOptions{train->second.plugin, train->second.options, false};
}

void check_cluster(const PreparedRun& run, Diagnostics& problems) {
  const std::optional<ClusterSection>& section = run.manifest.cluster;
  const std::optional<ResolvedPlugin>& plugin = run.plugins.found().cluster;
  if (!section) {
    if (const auto& place = run.options.place; place && place->size > 1)
      problems.add(
          {run.manifest.file, 0, 0},
          fmt::format("[B5110] the program is one of {} processes that train together, and the manifest has no "
                      "[cluster], which joins them",
                      place->size),
          "write [cluster] with a plugin, for instance plugin = \"gloo\"");
    return;
  }
  const bool goes_on = section->on_lost_rank != LostRank::kStop;
  if (goes_on && meets_elsewhere(*section))
    problems.add(
        run.manifest.at("cluster.on_lost_rank"),
        "[B5110] with cluster.rendezvous the ranks have no directory in which those that are left find each other",
        "leave one of the two out");
  else if (goes_on && plugin && plugin->info.option("communicator") != nullptr)
    problems.add(run.manifest.at("cluster.on_lost_rank"),
                 "[B5110] the ranks of " + double_quoted(plugin->info.name) +
                     " form no other group if one is lost: their launcher ends the job",
                 "leave it out; the same command continues from the last checkpoint");
  run.strategy->check_cluster(problems);
}

// Reports the settings that this machine cannot have.
void check_machine(const PreparedRun& run, Diagnostics& problems) {
  const std::string reason = why_not(run.manifest.session.precision, run.plugins.cpu());
  if (!reason.empty())
    problems.add(run.manifest.at("session.precision"), fmt::format("[B5044] {}", reason),
                 "leave session.precision out, or write \"float32\"");
  const std::string no_team = why_no_team(run.host.environment().session.threads);
  if (!no_team.empty())
    problems.add(run.manifest.at("run.threads"), fmt::format("[B5045] {}", no_team),
                 "unset OMP_THREAD_LIMIT, or leave run.threads out");
}

}  // namespace

bool find_plugins(PreparedRun& run, Diagnostics& problems) {
  try {
    read_schema(run);
  } catch (const Error& e) {
    problems.add({run.manifest.file, 0, 0}, std::string(e.message()),
                 "take the file from another checkpoint of this run");
  }
  const std::optional<TrainedOptions> trained = trained_options(run);
  const Manifest uses = run.uses();
  const bool usable = run.plugins.find(uses, problems, trained ? &*trained : nullptr);
  check_machine(run, problems);
  if (!run.is_training()) return usable;
  if (run.strategy->own_run()) check_hooks_on_all_ranks(run.manifest, uses.hooks, run.plugins.found().hooks, problems);
  check_cluster(run, problems);
  return usable;
}

}  // namespace belay::runtime
