// SPDX-License-Identifier: Apache-2.0
// A ManifestRun that is one of several processes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/data/input_feed.h"
#include "runtime/estimator/data_files.h"
#include "runtime/estimator/hooks_on_ranks.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/rank_of_run.h"
#include "runtime/manifest/show.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/platform/build_id.h"
#include "runtime/platform/crc32c.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// Whose ranks are in one process: a program starts them, no launcher does.
constexpr std::string_view kThreadsOnly = "local";

}  // namespace

// A process by itself is a group of one, so that one manifest serves both.
void ManifestRun::check_cluster(Diagnostics& problems) const {
  if (!trains(manifest_.run.mode)) return;
  if (options_.replay == nullptr) check_hooks_on_all_ranks(manifest_, uses().hooks, plugins_.found().hooks, problems);
  if (!manifest_.cluster) {
    if (options_.place && options_.place->size > 1)
      problems.add({manifest_.file, 0, 0},
                   "the program says that " + std::to_string(options_.place->size) +
                       " processes train together, and the manifest has no [cluster], which joins them",
                   "write [cluster] with a plugin, plugin = \"gloo\" say");
    return;
  }
  if (meets_elsewhere(*manifest_.cluster) && manifest_.cluster->on_lost_rank != OnLostRank::kStop)
    problems.add(manifest_.at("cluster.on_lost_rank"),
                 "with cluster.rendezvous the ranks have no directory in which those that are left find each other",
                 "leave one of the two out");
  else if (const auto& cluster = plugins_.found().cluster; cluster && cluster->info.option("communicator") != nullptr &&
                                                           manifest_.cluster->on_lost_rank != OnLostRank::kStop)
    problems.add(manifest_.at("cluster.on_lost_rank"),
                 "the ranks of " + double_quoted(cluster->info.name) +
                     " form no other group where one is lost: their launcher ends the job",
                 "leave it out; the same command goes on from the last checkpoint");
  if (ranks_ == nullptr && options_.place) return;
  if (ranks_ == nullptr) {
    if (const std::string reason = why_not_alone(environment_); !reason.empty())
      problems.add(manifest_.cluster->at, reason, "start one process; [cluster] may stay");
    return;
  }
  if (!options_.place && manifest_.cluster->plugin == kThreadsOnly)
    problems.add(manifest_.cluster->at,
                 "cluster \"local\" joins threads of one program, and " + place_->launcher + " has started " +
                     std::to_string(place_->size) + " processes",
                 "name a plugin that joins processes, plugin = \"gloo\" say");
  if (const auto min = manifest_.cluster->min_ranks; min && *min > ranks_->size())
    problems.add(manifest_.at("cluster.min_ranks"),
                 "cluster.min_ranks = " + std::to_string(*min) + ", and the launcher has started " +
                     std::to_string(ranks_->size()) + " processes",
                 "set it to at most that");
  if (ranks_->chief() && manifest_.run.dir.empty())
    problems.add(manifest_.cluster->at, "several processes need a run directory, and [run] names none",
                 "write dir = \"runs/NAME\" in [run]");
}

void ManifestRun::check_launch(Diagnostics& problems) const {
  if (ranks_ == nullptr || options_.place) return;
  if (const std::string why = why_lone(environment_); !why.empty())
    problems.add(manifest_.cluster->at, why, "start all of them: srun belay run " + manifest_.file);
}

std::string ManifestRun::apart() const {
  const bool alone = trains(manifest_.run.mode) && !manifest_.cluster && options_.replay == nullptr && !options_.place;
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

void ManifestRun::use_cluster(PluginInstance& cluster) {
  if (ranks_ == nullptr) return;
  ranks_->use(cluster);
  std::vector<std::string> names;
  const Manifest uses = this->uses();
  bool have_states = false;
  for (std::size_t i = 0; i < uses.hooks.size(); ++i) {
    if (!on_all_ranks(manifest_, uses.hooks[i])) continue;
    const ResolvedPlugin& hook = plugins_.found().hooks[i];
    names.push_back(hook.instance_name);
    have_states = have_states || hook.info.state.value_or(true);
  }
  if (have_states) ranks_->share_states(training_.hooks());
  hook_ranks_ = std::make_unique<HookRanks>(cluster, names, host_.control().disk());
  training_.use_ranks(*hook_ranks_);
}

// If another run has the directory, its ranks must not hear of this one.
void ManifestRun::refuse_ranks(const std::string& reason) {
  if (ranks_ == nullptr || !ranks_->chief() || manifest_.run.dir.empty() || reason.empty()) return;
  if (!why_lone(environment_).empty()) return;  // no other rank was started
  try {
    if (!host_.has_directory()) host_.take_directory();
    ranks_->refuse(host_.directory(), reason);
  } catch (const Error&) {
  }
}

// The chief holds the run's lock.
void ManifestRun::meet_ranks() {
  host_.log().info("", "rank " + std::to_string(ranks_->rank()) + " of " + std::to_string(ranks_->size()) +
                           (ranks_->chief() ? ": waits for the other ranks"
                                            : ": waits for rank 0, which has hooks, checkpoints and events"));
  Manifest alike = manifest_of_worker(manifest_);
  std::erase_if(alike.cluster->options, [this](const PluginOption& option) {
    const OptionInfo* info = plugins_.found().cluster->info.option(option.key);
    return info != nullptr && info->watching;  // the process's own: an interface's name, a communicator's number
  });
  RunRanks::Versions versions;
  for (const ManifestValue& v : manifest_values(alike))
    versions.manifest.emplace_back((v.section.empty() ? "" : v.section + ".") + v.key, v.value);
  versions.program = crc32c(build_id());
  versions.builds = fingerprint_of(host_.environment(), plugins_.registry()).plugins;
  for (const auto& [file, at, by_variable] :
       training_files(host_.files(), alike, plugins_.found(), options_.resume.exact))
    versions.files.push_back({file.option, file.path, file.bytes, file.ends, file.whole, by_variable});
  versions.schema = schema_.text();
  ranks_->set_versions(std::move(versions));
  if (ranks_->chief()) {
    ranks_->open_chief(host_.directory(), host_.attempt());
  } else {
    ranks_->open_worker(host_.files());
  }
  if (ranks_->chief() && !ranks_->files_differ().empty()) host_.log().warning("", ranks_->files_differ());
}

void ManifestRun::take_place(int rank, int size) {
  const RunInput& input = inputs_.at("train");
  if (input.shard != rank || input.shards != size) reopen_training(rank, size, nullptr);
}

// What reads the training's input is another instance, since an input is opened once.
void ManifestRun::reopen_training(std::int64_t shard, std::int64_t shards, std::shared_ptr<const Schema> learned) {
  RunInput& input = inputs_.at("train");
  auto instances = std::make_unique<PluginInstances>();
  const FoundUse use = plugins_.loaded(plugins_.found().inputs.at("train"));
  PluginInstance& instance =
      instances->create(use.plugin, use.use, host_.services(), input.monitor, host_.number_of(use.label()));
  input.feed->reopen(instance, shard, shards, std::move(learned));
  input.instance = &instance;
  input.shard = shard, input.shards = shards;
  input_again_ = std::move(instances);
}

namespace {

// The graph was built for `built`. The schema may have the same names with another number of classes.
void check_same_form(const std::vector<InputComponent>& built, const std::vector<InputComponent>& now, int rank) {
  if (built.size() != now.size())
    fail(Code::kInvalidArgument, "[input.train] of rank " + std::to_string(rank) + " has " +
                                     std::to_string(built.size()) + " features and labels, and that of rank 0 has " +
                                     std::to_string(now.size()));
  for (std::size_t i = 0; i < built.size(); ++i) {
    const InputComponent& c = built[i];
    if (c.name == now[i].name && c.classes == now[i].classes && c.dtype == now[i].dtype && c.dims == now[i].dims)
      continue;
    const auto form = [](const InputComponent& of) {
      return std::string(dtype_name(of.dtype)) + " " + dims_text(of.dims) +
             (of.classes > 0 ? " of " + std::to_string(of.classes) + " classes" : "");
    };
    fail(Code::kInvalidArgument,
         "[input.train] of rank " + std::to_string(rank) + " has " + double_quoted(c.name) + " as " + form(c) +
             ", and rank 0 has " + double_quoted(now[i].name) + " as " + form(now[i]) +
             "; say in the input's options what all ranks have, classes = " + "[...] for instance");
  }
}

}  // namespace

void ManifestRun::take_schema(const std::string& text) {
  const RunInput& input = inputs_.at("train");
  const std::vector<InputComponent> built = input.feed->components();
  schema_.learn(parse_schema(text));
  try {
    reopen_training(input.shard, input.shards, schema_.learned());
  } catch (const Error& e) {
    fail(Code::kInvalidArgument,
         "the data of rank " + std::to_string(ranks_->rank()) +
             " does not match that of rank 0, which counts as the training's: " + std::string(e.message()));
  }
  check_same_form(built, input.feed->components(), ranks_->rank());
  host_.log().info("", "columns, classes and fitted values are those of rank 0");
}

}  // namespace belay::runtime
