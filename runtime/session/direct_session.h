// SPDX-License-Identifier: Apache-2.0
// A session: a frozen graph and a store of variables. run() computes fetches. Several threads may call it.
//
//   runtime::NodeGraph graph(ops);            ... build through graph.handle() ...
//   graph.finalize();
//   runtime::DirectSession session(graph, store, options);
//   belay::Session s = session.handle();      // the SDK's view, the one that hooks get
//   float loss = s.run({loss_output})[0].scalar<float>();
//
// A run is atomic. At its end it changes all the variables that it writes. If it fails, is cancelled or is late, it
// changes none. The returned Run keeps the results until it is destroyed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "belay/runtime/session.h"
#include "belay/session.h"
#include "runtime/graph/lookup_table.h"
#include "runtime/graph/node_graph.h"
#include "runtime/graph/queue.h"
#include "runtime/platform/threads/cancellation.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/session/plan.h"
#include "runtime/session/program.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

using QueueFactory = std::function<std::unique_ptr<Queue>(const Node&)>;

// A program's options, and those of the host. Hooked runs use all of `threads`, others run on one thread.
struct DirectSessionOptions : SessionOptions {
  QueueFactory queues = {};  // runtime/data/make_queue.h; a graph with queues needs it
  Clock* clock = nullptr;    // null: the system's
};

// The options of a program's run, besides those of a hook.
struct CallerOptions : RunOptions {
  bool output_partition_graphs = false;
  std::vector<std::string> debug_tensor_watches = {};  // names of tensors whose values the metadata gets
};

// The facts about a run besides its results.
struct RunMetadata {
  CallerOptions options;                      // options of the run: the caller's and the hooks' together
  std::vector<TracedNode> nodes;              // if the trace level asked for them
  std::vector<std::string> partition_graphs;  // if wanted: a serialized GraphDef of the run's nodes; one process is one
                                              // partition
  std::vector<std::pair<std::string, DenseTensor>> watched;  // values of debug_tensor_watches, in their order
};

struct CachedPlan;  // plan_cache.h
class PlanCache;
struct PlanState;  // plan_state.h

inline bool same_output(const belay_output& a, const belay_output& b) noexcept {
  return a.graph == b.graph && a.node == b.node && a.index == b.index;
}

// A list of fetches for many runs. It remembers the plan and the places of its values. The caller owns it, and one run
// at a time uses it. For another session on the same graph, such as a recovery's, it is planned again. A session on
// another graph refuses it.
class FetchSet {
 public:
  FetchSet() = default;
  FetchSet(const belay_output* outputs, std::size_t n) : outputs_(outputs, outputs + n) {}
  explicit FetchSet(const std::vector<FetchRef>& fetches) {
    for (const FetchRef& f : fetches) outputs_.push_back(f.raw());
  }
  const std::vector<belay_output>& outputs() const noexcept { return outputs_; }
  bool is(const belay_output* outputs, std::size_t n) const noexcept;

 private:
  friend class DirectSession;
  friend class PlanCache;
  friend class Run;
  std::vector<belay_output> outputs_;
  std::vector<Port> ports_;  // outputs_, checked
  std::shared_ptr<CachedPlan> plan_;
  std::size_t structural_ = 0;  // how many of the plan's structural outputs are in this set
  SlotMask mask_;
  std::vector<std::uint32_t> slots_;
  std::vector<belay_output> feeds_;  // of the caller's set: the feeds for which plan_ was found
  // For the caller's set in a graph with successions: the global steps of plan_.
  std::int64_t from_step_ = 0, until_step_ = 0;
};

struct RunRequest {
  FetchSet* fetches = nullptr;                   // the caller's
  std::span<FetchSet* const> hook_fetches = {};  // the hooks'
  std::span<const belay_feed> feeds = {};
  std::int64_t timeout_ms = 0;
  std::int32_t trace_level = 0;
  bool full_team = false;
  RunMetadata* metadata = nullptr;
};

// A finished run. The destructor returns its memory.
class Run {
 public:
  Run(std::shared_ptr<CachedPlan> plan, PlanState* state) noexcept : plan_(std::move(plan)), state_(state) {}
  Run(Run&& o) noexcept : plan_(std::move(o.plan_)), state_(std::exchange(o.state_, nullptr)) {}
  Run& operator=(Run&& o) noexcept {
    std::swap(plan_, o.plan_), std::swap(state_, o.state_);
    return *this;
  }
  ~Run();
  // Returns value i of a set of the run. It is valid as long as this object.
  belay_tensor result(const FetchSet& fetches, std::size_t i) const;
  // Returns the same value, shared: it may outlive this object.
  DenseTensor owned_result(const FetchSet& fetches, std::size_t i) const;
  // False: the run has written a NaN or infinity into a trainable variable (Variable::begins_finite).
  // DirectSession::first_not_finite names its origin.
  bool finite() const noexcept;

 private:
  friend class DirectSession;
  std::shared_ptr<CachedPlan> plan_;
  PlanState* state_;
};

struct PlanStats {
  std::uint64_t plans_built = 0;     // number of graphs turned into plans
  std::uint64_t programs_built = 0;  // number of plans turned into kernels, for new dims
  std::size_t arena_bytes = 0;       // of all programs
  std::size_t arena_bound = 0;
};

class DirectSession : public std::enable_shared_from_this<DirectSession> {
 public:
  // The graph must be finalized and outlive the session. New variables of the graph are made in the store.
  DirectSession(NodeGraph& graph, std::shared_ptr<VariableStore> store, DirectSessionOptions options);
  ~DirectSession();
  DirectSession(const DirectSession&) = delete;
  DirectSession& operator=(const DirectSession&) = delete;

  Run run(const RunRequest& request);
  // Runs work that is done once (initialization): the plan is not kept.
  void run_once(const std::vector<Port>& operations, const std::vector<belay_feed>& feeds = {});

  // Cancels every run and refuses new ones. Further calls do nothing. The destructor waits until the runs have ended.
  void close();
  // Waits until no thread is inside a run. After close() they end soon, and none begins.
  void wait_for_runs();
  bool closed() const noexcept { return closed_.load(); }
  // Cancels the current runs with this reason, and all new ones before resume().
  void interrupt(const Error& reason) { cancellation_.cancel(reason); }
  void resume() { cancellation_.reset(); }

  NodeGraph& graph() noexcept { return graph_; }
  VariableStore& store() noexcept { return *store_; }
  const std::shared_ptr<VariableStore>& shared_store() const noexcept { return store_; }
  Clock& clock() noexcept { return *clock_; }
  belay::Session handle();
  Queue& queue(std::uint32_t node);
  LookupTable& table(std::uint32_t node);
  // The variable of a variable's node.
  Variable& variable(const Node& node) { return *variable_of_.at(node.id); }
  // The saved variables of the graph, sorted by name. Local ones are not among them.
  const std::vector<Variable*>& variables() const noexcept { return variables_; }
  // Returns the value of the graph's global_step; -1: there is none, or it is not initialized.
  std::int64_t global_step() const noexcept;
  const std::string& global_step_name() const noexcept { return global_step_name_; }
  // Returns the memory of all plans, or of one set's plan.
  PlanStats plan_stats(const FetchSet* of = nullptr) const;
  // Returns the plan of the set's last run; null: it has not run. Valid until the set runs another plan.
  const Plan* plan_of(const FetchSet& fetches) const noexcept;

  // Call it after a run if finite() was false. Returns the first value that was not finite, in the order of
  // computation, as far as it still exists. This is a batch of the run, else a trainable variable. "'input/x', element
  // 0 of [16, 4], is nan".
  std::string first_not_finite(const Run& run);

  // The coordinator for the SDK's Session. Its creator sets it. May be null.
  belay_coordinator* coordinator = nullptr;

 private:
  void execute(PlanState& state, const RunRequest& request);
  void run_passes(PlanState& state, const RunRequest& request, const CancelToken& cancel);
  void run_stage(PlanState& state, std::uint32_t stage, const RunRequest& request, const CancelToken& cancel);
  void find_context(PlanState& state) const;
  void run_program(Program& program, PlanState& state, const RunRequest& request);
  void bind_feeds(PlanState& state, const RunRequest& request);
  Program& program_for(PlanState& state, std::uint32_t stage);
  void check_initialized(const PlanState& state, std::uint32_t stage) const;
  void commit(PlanState& state, Program& program, const RunRequest& request, std::uint32_t stage);

  NodeGraph& graph_;
  std::shared_ptr<VariableStore> store_;
  VariableStore local_store_;
  DirectSessionOptions options_;
  Clock* clock_;
  CancellationSource cancellation_;
  std::atomic<bool> closed_{false};
  std::unordered_map<std::uint32_t, std::unique_ptr<Queue>> queues_;
  std::unordered_map<std::uint32_t, std::unique_ptr<LookupTable>> tables_;
  std::unordered_map<std::uint32_t, Variable*> variable_of_;  // by node
  std::vector<Variable*> variables_;
  Variable* global_step_ = nullptr;
  std::string global_step_name_;

  const std::unique_ptr<PlanCache> plans_;
  std::atomic<std::uint64_t> programs_built_{0};

  std::mutex idle_mutex_;
  std::condition_variable idle_;
  std::atomic<int> active_runs_{0};
};

}  // namespace belay::runtime
