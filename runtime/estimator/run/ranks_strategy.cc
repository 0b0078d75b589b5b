// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/ranks_strategy.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "belay/graph.h"
#include "runtime/data/input_feed.h"
#include "runtime/data/make_queue.h"
#include "runtime/estimator/resume/data_files.h"
#include "runtime/estimator/run/hooks_on_ranks.h"
#include "runtime/estimator/run/rank_of_run.h"
#include "runtime/manifest/show.h"
#include "runtime/monitored/run/fingerprint.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Its ranks are in one process: a program starts them, no launcher does.
constexpr std::string_view kThreadsOnly = "local";

RunRanks::Options ranks_options(const Manifest& whole, const LaunchedPlace& place) {
  RunRanks::Options ranks;
  ranks.seat = place.rank;
  ranks.seats = place.size;
  ranks.local_rank = place.local_rank;
  ranks.directory = whole.run.dir;
  ranks.max_wait_secs = whole.cluster->max_wait_secs;
  ranks.timeout_secs = whole.cluster->timeout_secs;
  if (whole.cluster->wire == Wire::kBf16) ranks.wire = DType::kBFloat16;
  ranks.plugin_meets = meets_elsewhere(*whole.cluster);
  ranks.on_lost = whole.cluster->on_lost_rank;
  ranks.min_ranks = static_cast<int>(whole.cluster->min_ranks.value_or(1));
  ranks.max_recoveries = whole.session.max_recoveries;
  ranks.queue = std::string(kInputScope) + "/" + ranks.input + "_queue";
  return ranks;
}

RankControl ranks_control(RunHost& host) {
  RunControl& control = host.control();
  return {.stopping = [&control] { return control.stopping(); },
          .stop = [&control](const std::string& why) { control.stop(why); },
          .warn = [&host](const std::string& whose) { host.log().warning("", whose); },
          .wakes = control.interrupt(),
          .waits = control.disk(),
          .monitor = host.add_monitor()};
}

// The session of one of several processes.
class OverRanks final : public SessionCreator {
 public:
  // `again`: makes a further session over the same variables; null: there is none if a rank was lost.
  OverRanks(std::shared_ptr<SessionCreator> inner, std::shared_ptr<SessionCreator> again, RunRanks& ranks, Logger& log)
      : inner_(std::move(inner)), again_(std::move(again)), ranks_(ranks), log_(log) {}
  CreatedSession create_session() override {
    if (again_ != nullptr && std::exchange(begun_, true)) ranks_.regroup();
    if (trained_ != nullptr && trained_->dirty()) trained_.reset();
    const bool trained = trained_ != nullptr;
    CreatedSession created = (trained ? again_ : inner_)->create_session();
    created = ranks_.alike(std::move(created), trained);
    if (again_ != nullptr) trained_ = created.session->shared_store();
    if (!ranks_.regrouped().empty()) log_.warning("", ranks_.regrouped());
    return created;
  }
  NodeGraph& graph() override { return inner_->graph(); }

 private:
  const std::shared_ptr<SessionCreator> inner_, again_;
  RunRanks& ranks_;
  Logger& log_;
  bool begun_ = false;
  std::shared_ptr<VariableStore> trained_;  // the variables that this process trained; null: none so far
};

}  // namespace

RanksStrategy::RanksStrategy(const RunParts& parts, const Manifest& whole, const LaunchedPlace& place)
    : RunStrategy(parts), place_(place), ranks_(ranks_options(whole, place), ranks_control(parts.host), events()) {
  if (const auto input = parts_.inputs.find(kTrainInput); input != parts_.inputs.end()) {
    input->second.shard = ranks_.meeting().rank();
    input->second.shards = ranks_.meeting().size();
  }
  parts_.host.use_queues(ranks_.over(make_queue));
}

RunRanks::Events RanksStrategy::events() {
  return {.over = [this] { hook_ranks_->left(); },
          .met =
              [this] {
                parts_.host.set_place(ranks_.meeting().place());
                parts_.training.set_place(ranks_.meeting().place());
                hook_ranks_->met();
              },
          .placed = [this](int rank, int size) { take_place(rank, size); },
          .take_schema = [this](const std::string& text) { take_schema(text); }};
}

// ---- before the session

void RanksStrategy::check_cluster(Diagnostics& problems) const {
  const ClusterSection& cluster = *parts_.manifest.cluster;
  if (!parts_.options.place && cluster.plugin == kThreadsOnly)
    problems.add(cluster.at,
                 fmt::format("[B5110] cluster \"local\" joins threads of one program, and {} has started {} processes",
                             place_.launcher, place_.size),
                 "name a plugin that joins processes, for instance plugin = \"gloo\"");
  if (const auto min = cluster.min_ranks; min && *min > size())
    problems.add(parts_.manifest.at("cluster.min_ranks"),
                 fmt::format("[B5110] cluster.min_ranks = {}, and the launcher has started {} processes", *min, size()),
                 "set it to at most that");
  if (chief() && directory().empty())
    problems.add(cluster.at, "[B5110] several processes need a run directory, and [run] names none",
                 "write dir = \"runs/NAME\" in [run]");
}

void RanksStrategy::check_launch(Diagnostics& problems) const {
  if (parts_.options.place) return;
  if (const std::string why = why_lone(parts_.environment); !why.empty())
    problems.add(parts_.manifest.cluster->at, fmt::format("[B5110] {}", why),
                 "start all of them: srun belay run " + parts_.manifest.file);
}

void RanksStrategy::use_cluster(PluginInstance& cluster, const Manifest& uses) {
  ranks_.meeting().use(cluster);
  std::vector<std::string> names;
  bool have_states = false;
  for (std::size_t i = 0; i < uses.hooks.size(); ++i) {
    if (!on_all_ranks(parts_.manifest, uses.hooks[i])) continue;
    const ResolvedPlugin& hook = parts_.plugins.found().hooks[i];
    names.push_back(hook.instance_name);
    have_states = have_states || hook.info.state.value_or(true);
  }
  if (have_states) ranks_.share_states(parts_.training.hooks());
  hook_ranks_ = &parts_.training.use_ranks(std::make_unique<HookRanks>(cluster, names, parts_.host.control().disk()));
}

void RanksStrategy::build(PluginInstance& model, const RunInput& input, const std::vector<DeclaredLabel>&) {
  parts_.model.build_over_ranks(model, input);
}

void RanksStrategy::add_training(const OptimizerUse& optimizer) {
  const ClusterSection& cluster = *parts_.manifest.cluster;
  parts_.model.add_training_over_ranks(
      optimizer, {.ranks = size(), .bucket_mib = cluster.bucket_mib, .rounds_gradients = cluster.wire == Wire::kBf16});
}

// If another run has the directory, its ranks must not hear of this one.
void RanksStrategy::refuse(const std::string& reason) {
  RunHost& host = parts_.host;
  if (!chief() || parts_.manifest.run.dir.empty() || reason.empty()) return;
  if (!why_lone(parts_.environment).empty()) return;  // no other rank was started
  try {
    if (!host.has_directory()) host.take_directory();
    ranks_.meeting().refuse(host.directory(), reason);
  } catch (const Error&) {
  }
}

// ---- the training

// These must be the same on all ranks.
RankVersions RanksStrategy::versions(const Manifest& alike) const {
  RankVersions versions;
  for (const ManifestValue& v : manifest_values(alike))
    versions.manifest.emplace_back((v.section.empty() ? "" : v.section + ".") + v.key, v.value);
  versions.program = crc32c(build_id());
  versions.builds = fingerprint_of(parts_.host.environment(), parts_.plugins.registry()).plugins;
  for (const auto& [file, at, by_variable] :
       training_files(parts_.host.files(), alike, parts_.plugins.found(), parts_.options.resume.exact))
    versions.files.push_back({file.option, file.path, file.bytes, file.ends, file.whole, by_variable});
  versions.schema = parts_.schema.text();
  return versions;
}

// The chief holds the run's lock.
void RanksStrategy::meet() {
  RunHost& host = parts_.host;
  host.log().info("", fmt::format("rank {} of {}{}", rank(), size(),
                                  chief() ? ": waits for the other ranks"
                                          : ": waits for rank 0, which has hooks, checkpoints and events"));
  Manifest alike = manifest_of_worker(parts_.manifest);
  std::erase_if(alike.cluster->options, [this](const PluginOption& option) {
    const OptionInfo* info = parts_.plugins.found().cluster->info.option(option.key);
    return info != nullptr && info->watching;  // the process's value: an interface's name, a communicator's number
  });
  ranks_.set_versions(versions(alike));
  if (chief()) {
    ranks_.meeting().open_chief(host.directory(), host.attempt());
  } else {
    ranks_.meeting().open_worker(host.files());
  }
  if (chief() && !ranks_.files_differ().empty()) host.log().warning("", ranks_.files_differ());
}

std::shared_ptr<SessionCreator> RanksStrategy::creator(ChiefSessionCreator::Options options) {
  const RunHost& host = parts_.host;
  NodeGraph& graph = parts_.model.graph;
  ranks_.watch(host.trace(), host.saver().get());
  std::shared_ptr<SessionCreator> again;
  if (ranks_.meeting().regroups()) {
    options.target = "local:ranks";  // which a session after a recovery finds again
    again = std::make_shared<WorkerSessionCreator>(
        graph, host.environment(),
        WorkerSessionCreator::Options{.scaffold = options.scaffold, .target = options.target, .max_wait_secs = 0});
  }
  return std::make_shared<OverRanks>(
      std::make_shared<ChiefSessionCreator>(graph, host.environment(), std::move(options)), again, ranks_, host.log());
}

void RanksStrategy::part() {
  hook_ranks_->left();
  ranks_.end_together();
  ranks_.close();
}

// ---- the training's input

void RanksStrategy::take_place(int rank, int size) {
  const RunInput& input = train_input();
  if (input.shard != rank || input.shards != size) reopen_input(rank, size, nullptr);
}

// Another instance reads it, since an input is opened once.
void RanksStrategy::reopen_input(std::int64_t shard, std::int64_t shards, std::shared_ptr<const Schema> learned) {
  RunHost& host = parts_.host;
  RunInput& input = train_input();
  auto instances = std::make_unique<PluginInstances>();
  const FoundUse use = parts_.plugins.loaded(parts_.plugins.found().inputs.at(kTrainInput));
  PluginInstance& instance =
      instances->create(use.plugin, use.use, host.services(), input.monitor, host.number_of(use.label()));
  input.feed->reopen(instance, shard, shards, std::move(learned));
  input.instance = &instance;
  input.shard = shard, input.shards = shards;
  input_again_ = std::move(instances);
}

namespace {

// The graph was built for `built`. The schema may have the same names with another number of classes.
void check_same_form(const std::vector<InputComponent>& built, const std::vector<InputComponent>& now, int rank) {
  if (built.size() != now.size())
    fail(Code::kInvalidArgument,
         fmt::format("[B5109] [input.train] of rank {} has {} features and labels, and that of rank 0 has {}", rank,
                     built.size(), now.size()));
  for (std::size_t i = 0; i < built.size(); ++i) {
    const InputComponent& c = built[i];
    if (c.name == now[i].name && c.classes == now[i].classes && c.dtype == now[i].dtype && c.dims == now[i].dims)
      continue;
    const auto form = [](const InputComponent& of) {
      return std::string(dtype_name(of.dtype)) + " " + dims_text(of.dims) +
             (of.classes > 0 ? fmt::format(" of {} classes", of.classes) : "");
    };
    fail(Code::kInvalidArgument,
         fmt::format("[B5109] [input.train] of rank {} has {} as {}, and rank 0 has {} as {}; write in the input's "
                     "options what all ranks have, classes = [...] for instance",
                     rank, double_quoted(c.name), form(c), double_quoted(now[i].name), form(now[i])));
  }
}

}  // namespace

void RanksStrategy::take_schema(const std::string& text) {
  const RunInput& input = train_input();
  const std::vector<InputComponent> built = input.feed->components();
  parts_.schema.learn(parse_schema(text));
  try {
    reopen_input(input.shard, input.shards, parts_.schema.learned());
  } catch (const Error& e) {
    fail(Code::kInvalidArgument,
         fmt::format("[B5109] the data of rank {} does not match that of rank 0, which counts as the training's: {}",
                     rank(), e.message()));
  }
  check_same_form(built, input.feed->components(), rank());
  parts_.host.log().info("", "columns, classes and fitted values are those of rank 0");
}

}  // namespace belay::runtime
