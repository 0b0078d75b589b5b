// SPDX-License-Identifier: Apache-2.0
// The plans of a session, one for each combination of fetches and feeds, and the states for their runs. [any thread]
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/session/direct_session.h"
#include "runtime/session/plan_state.h"

namespace belay::runtime {

struct CachedPlan {
  std::shared_ptr<const char> session;  // the identity_ of its session's PlanCache
  std::unique_ptr<Plan> plan;
  std::vector<Variable*> variables;  // by PlanVariable
  std::vector<Port> hook_fetches;    // the hooks' fetches that it was made for, besides the key

  // Leases a state to one run until give_back. The first state needs no lock.
  PlanState* lease() {
    PlanState* state = first.exchange(nullptr, std::memory_order_acquire);
    return state != nullptr ? state : lease_another();
  }
  void give_back(PlanState* state) noexcept {
    PlanState* none = nullptr;
    if (!first.compare_exchange_strong(none, state, std::memory_order_release)) keep(state);
  }
  PlanState* lease_another();
  void keep(PlanState* state) noexcept;

  std::atomic<PlanState*> first{nullptr};
  std::mutex mutex;
  std::vector<std::unique_ptr<PlanState>> states;
  std::vector<PlanState*> free;
};

class PlanCache {
 public:
  using VariablesByNode = std::unordered_map<std::uint32_t, Variable*>;
  // Borrows all of them. `global_step` returns the session's step. It is called if the graph has successions.
  PlanCache(const NodeGraph& graph, const VariablesByNode& variable_of, const DirectSessionOptions& options,
            std::function<std::int64_t()> global_step)
      : graph_(graph), variable_of_(variable_of), options_(options), global_step_(std::move(global_step)) {}
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // Returns the plan for the request; makes it if there is none. The request's sets remember it, and the places of
  // their values.
  std::shared_ptr<CachedPlan> plan_for(const RunRequest& request);
  // Drops the plan of these fetches after their run has ended.
  void forget(const FetchSet& fetches);
  // Returns the numbers of all plans, or of one set's plan, without programs_built.
  PlanStats stats(const FetchSet* of) const;

 private:
  std::shared_ptr<CachedPlan> find_or_make(const RunRequest& request);
  // True if the plan that the set found is for this step, as far as the step matters.
  bool is_of_now(const FetchSet& caller) const;
  void note_steps(FetchSet& caller, std::int64_t step, const CachedPlan* before);
  void check_ports(FetchSet& set, std::int64_t step) const;
  // Returns the key without the parts that hooks' fetches add (PlanKey::structural).
  PlanKey key_of_caller(const RunRequest& request, std::int64_t step) const;
  // Returns the plan of that key if it has slots for all wanted ports. Else it drops the plan, and `hook_fetches` gets
  // its ports.
  std::shared_ptr<CachedPlan> find(const PlanKey& key, const std::vector<Port>& wanted,
                                   std::vector<Port>& hook_fetches);
  std::shared_ptr<CachedPlan> make(const PlanKey& key, const std::vector<Port>& hook_fetches);
  static void attach(FetchSet& set, const std::shared_ptr<CachedPlan>& plan, bool is_hook_fetch);

  // Its plans own it. So a fetch set from a destroyed session never confuses this session with that one.
  const std::shared_ptr<const char> identity_ = std::make_shared<const char>('\0');
  const NodeGraph& graph_;
  const VariablesByNode& variable_of_;
  const DirectSessionOptions& options_;
  const std::function<std::int64_t()> global_step_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<CachedPlan>> plans_;  // the newest first; at most kMaxPlans
  std::atomic<std::uint64_t> plans_built_{0};
};

}  // namespace belay::runtime
