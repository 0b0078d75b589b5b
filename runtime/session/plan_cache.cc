// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/plan_cache.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

namespace belay::runtime {
namespace {

constexpr std::size_t kMaxPlans = 64;

// Appends the ports of `from` that `to` lacks.
void add_missing(const std::vector<Port>& from, std::vector<Port>& to) {
  std::unordered_set<std::uint64_t> known;
  for (const Port& p : to) known.insert(port_key(p));
  for (const Port& p : from)
    if (known.insert(port_key(p)).second) to.push_back(p);
}

// Returns the announced fetches of values. If one has effects, the base must have them, too.
std::vector<Port> announced_values(const NodeGraph& graph, const PlanKey& key) {
  std::vector<Port> values;
  for (const Port& p : graph.announced())
    if (p.index != BELAY_OPERATION) values.push_back(p);
  const std::vector<Port> structural = structural_of(graph, key, values);
  std::erase_if(values, [&](Port p) { return std::find(structural.begin(), structural.end(), p) != structural.end(); });
  return values;
}

bool in_order(Port a, Port b) noexcept { return port_key(a) < port_key(b); }

}  // namespace

PlanState* CachedPlan::lease_another() {
  const std::lock_guard lock(mutex);
  if (!free.empty()) {
    PlanState* state = free.back();
    free.pop_back();
    return state;
  }
  auto made = std::make_unique<PlanState>();
  made->plan = this;
  made->values = RunValuesTable(plan->values.size());
  // This is done here and not with the first program, since a stage with only host steps has no program.
  for (std::uint32_t v = 0; v < plan->values.size(); ++v)
    if (const PlanValue& value = plan->values[v]; value.root == v && value.source == ValueSource::kConstant)
      made->values.set_constant(v, plan->constants[value.index]);
  made->feed_dims.resize(plan->key.feeds.size());
  made->host_values.resize(plan->values.size());
  made->slots.resize(plan->slots.size());
  made->stages.resize(plan->stages.size());
  made->mask.resize(plan->slots.size());
  made->key.reserve(32);
  states.push_back(std::move(made));
  return states.back().get();
}

void CachedPlan::keep(PlanState* state) noexcept {
  const std::lock_guard lock(mutex);
  free.push_back(state);
}

std::shared_ptr<CachedPlan> PlanCache::plan_for(const RunRequest& request) {
  FetchSet& caller = *request.fetches;
  const std::shared_ptr<CachedPlan>& plan = caller.plan_;
  const int threads = request.full_team ? options_.threads : 1;
  if (plan != nullptr && plan->session == identity_ && plan->plan->key.threads == threads &&
      caller.feeds_.size() == request.feeds.size() && is_of_now(caller)) {
    bool serves = true;
    for (std::size_t i = 0; i < request.feeds.size(); ++i)
      serves = serves && same_output(request.feeds[i].output, caller.feeds_[i]);
    std::size_t structural = caller.structural_;
    for (const FetchSet* hook_fetch : request.hook_fetches) {
      serves = serves && hook_fetch->plan_ == plan;
      structural += hook_fetch->structural_;
    }
    if (serves && structural == plan->plan->key.structural.size()) return plan;
  }
  return find_or_make(request);
}

bool PlanCache::is_of_now(const FetchSet& caller) const {
  if (graph_.successions().empty()) return true;
  const std::int64_t step = global_step_();
  return caller.from_step_ <= step && step < caller.until_step_;
}

// Call it under the lock. It drops a plan that the next steps do not run, with its memory.
void PlanCache::note_steps(FetchSet& caller, std::int64_t step, const CachedPlan* before) {
  if (graph_.successions().empty()) return;
  caller.from_step_ = step;
  caller.until_step_ = graph_.successions().next_after(step);
  if (before != nullptr && before != caller.plan_.get())
    plans_.remove_if([&](const auto& plan) { return plan.get() == before; });
}

std::shared_ptr<CachedPlan> PlanCache::find_or_make(const RunRequest& request) {
  const std::int64_t step = graph_.successions().empty() ? 0 : global_step_();
  const bool outlived = request.fetches->plan_ != nullptr && !is_of_now(*request.fetches);
  const std::shared_ptr<CachedPlan> before = outlived ? request.fetches->plan_ : nullptr;
  PlanKey key = key_of_caller(request, step);
  std::vector<Port> wanted;
  for (FetchSet* hook_fetch : request.hook_fetches) {
    check_ports(*hook_fetch, step);
    wanted.insert(wanted.end(), hook_fetch->ports_.begin(), hook_fetch->ports_.end());
  }
  key.structural = structural_of(graph_, key, wanted);
  std::sort(key.structural.begin(), key.structural.end(), in_order);
  key.structural.erase(std::unique(key.structural.begin(), key.structural.end()), key.structural.end());
  const std::lock_guard lock(mutex_);
  std::vector<Port> hook_fetches;
  std::shared_ptr<CachedPlan> plan = find(key, wanted, hook_fetches);
  if (plan == nullptr) {
    add_missing(wanted, hook_fetches);
    if (!request.hook_fetches.empty()) add_missing(announced_values(graph_, key), hook_fetches);
    plan = make(key, hook_fetches);
    plans_.push_front(plan);
    if (plans_.size() > kMaxPlans) plans_.pop_back();
  }
  attach(*request.fetches, plan, false);
  note_steps(*request.fetches, step, before.get());
  request.fetches->feeds_.clear();
  for (const belay_feed& f : request.feeds) request.fetches->feeds_.push_back(f.output);
  for (FetchSet* hook_fetch : request.hook_fetches) attach(*hook_fetch, plan, true);
  return plan;
}

// It checks each time, since the set may have found its ports in another graph.
void PlanCache::check_ports(FetchSet& set, std::int64_t step) const {
  set.ports_.clear();
  for (const belay_output& o : set.outputs_) {
    try {
      set.ports_.push_back(graph_.successions().at_step(graph_.resolve(o), step));
      graph_.need_outside_bodies(set.ports_.back());
    } catch (const Error& e) {
      fail(e.code(), std::string("cannot fetch: ") + e.what());
    }
  }
}

PlanKey PlanCache::key_of_caller(const RunRequest& request, std::int64_t step) const {
  check_ports(*request.fetches, step);
  PlanKey key;
  key.fetches = request.fetches->ports_;
  key.threads = request.full_team ? options_.threads : 1;
  key.precision = options_.precision;
  for (const belay_feed& f : request.feeds) {
    const Port p = graph_.resolve(f.output);
    if (p.index == BELAY_OPERATION)
      fail(Code::kInvalidArgument, "[B5072] '" + graph_.port_name(p) + "' is an operation and cannot be fed");
    key.feeds.push_back(p);
  }
  std::sort(key.feeds.begin(), key.feeds.end(), in_order);
  if (std::adjacent_find(key.feeds.begin(), key.feeds.end()) != key.feeds.end())
    fail(Code::kInvalidArgument, "[B5072] one output is fed twice");
  return key;
}

std::shared_ptr<CachedPlan> PlanCache::find(const PlanKey& key, const std::vector<Port>& wanted,
                                            std::vector<Port>& hook_fetches) {
  const auto it = std::find_if(plans_.begin(), plans_.end(), [&](const auto& p) { return p->plan->key == key; });
  if (it == plans_.end()) return nullptr;
  const Plan& plan = *(*it)->plan;
  if (std::all_of(wanted.begin(), wanted.end(), [&](Port p) { return plan.slot_of(p) != kNoValue; })) return *it;
  hook_fetches = (*it)->hook_fetches;
  plans_.erase(it);
  return nullptr;
}

std::shared_ptr<CachedPlan> PlanCache::make(const PlanKey& key, const std::vector<Port>& hook_fetches) {
  auto cached = std::make_shared<CachedPlan>();
  cached->session = identity_;
  cached->plan = make_plan(graph_, key, hook_fetches);
  cached->hook_fetches = hook_fetches;
  for (const PlanVariable& v : cached->plan->variables) cached->variables.push_back(variable_of_.at(v.node->id));
  ++plans_built_;
  return cached;
}

void PlanCache::attach(FetchSet& set, const std::shared_ptr<CachedPlan>& plan, bool is_hook_fetch) {
  const std::vector<Port>& structural = plan->plan->key.structural;
  set.plan_ = plan;
  set.mask_.resize(plan->plan->slots.size());
  set.slots_.clear();
  set.structural_ = 0;
  for (const Port& p : set.ports_) {
    const std::uint32_t slot = p.index == BELAY_OPERATION ? kNoValue : plan->plan->slot_of(p);
    set.slots_.push_back(slot);
    if (slot != kNoValue) set.mask_.set(slot);
    if (is_hook_fetch && std::find(structural.begin(), structural.end(), p) != structural.end()) ++set.structural_;
  }
}

void PlanCache::forget(const FetchSet& fetches) {
  const std::lock_guard lock(mutex_);
  plans_.remove(fetches.plan_);
}

PlanStats PlanCache::stats(const FetchSet* of) const {
  PlanStats stats;
  stats.plans_built = plans_built_;
  const std::lock_guard lock(mutex_);
  for (const auto& cached : plans_) {
    if (of != nullptr && of->plan_ != cached) continue;
    const std::lock_guard states(cached->mutex);
    for (const auto& state : cached->states)
      for (const StageState& stage : state->stages)
        for (const auto& program : stage.programs) {
          stats.arena_bytes += program->arena_bytes();
          stats.arena_bound += program->arena_bound();
        }
  }
  return stats;
}

}  // namespace belay::runtime
