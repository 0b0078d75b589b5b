// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/direct_session.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "runtime/ops/kernels/parallel.h"
#include "runtime/platform/threads/floating_point.h"
#include "runtime/session/host_steps.h"
#include "runtime/session/plan_cache.h"
#include "runtime/session/plan_state.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMaxPrograms = 8;  // per stage and run state, for different dims

// Lets the kernels of a run ask whether it is cancelled, while it runs.
class Cancellable {
 public:
  Cancellable(KernelContext& context, const CancelToken& cancel) : context_(context) { context_.cancel = &cancel; }
  ~Cancellable() { context_.cancel = nullptr; }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;

 private:
  KernelContext& context_;
};

// A std::shared_lock; it can be empty.
class SharedGate {
 public:
  SharedGate(Gate& gate, bool take) : gate_(take ? &gate : nullptr) {
    if (gate_ != nullptr) gate_->lock_shared();
  }
  ~SharedGate() {
    if (gate_ != nullptr) gate_->unlock_shared();
  }
  SharedGate(const SharedGate&) = delete;
  SharedGate& operator=(const SharedGate&) = delete;

 private:
  Gate* gate_;
};

}  // namespace

bool FetchSet::is(const belay_output* outputs, std::size_t n) const noexcept {
  return n == outputs_.size() && std::equal(outputs, outputs + n, outputs_.begin(), same_output);
}

Run::~Run() {
  if (state_ != nullptr) plan_->give_back(state_);
}

belay_tensor Run::result(const FetchSet& fetches, std::size_t i) const {
  const std::uint32_t slot = fetches.slots_[i];
  if (slot == kNoValue) return belay_tensor{};
  belay_tensor value = state_->slots[slot].tensor.view();
  value.flags |= BELAY_TENSOR_READ_ONLY;
  return value;
}

DenseTensor Run::owned_result(const FetchSet& fetches, std::size_t i) const {
  const std::uint32_t slot = fetches.slots_[i];
  return slot == kNoValue ? DenseTensor() : state_->slots[slot].tensor;
}

DirectSession::DirectSession(NodeGraph& graph, std::shared_ptr<VariableStore> store, DirectSessionOptions options)
    : graph_(graph),
      store_(std::move(store)),
      options_(std::move(options)),
      plans_(std::make_unique<PlanCache>(graph_, variable_of_, options_, [this] { return global_step(); })) {
  clock_ = options_.clock == nullptr ? &system_clock() : options_.clock;
  if (!graph_.finalized())
    fail(Code::kFailedPrecondition, "[B5071] a session needs a finalized graph: call finalize() before it is made");
  std::set<std::uint32_t> global;
  std::set<std::uint32_t> trainable;
  for (const Port& p : graph_.collection(collections::kGlobalVariables)) global.insert(p.node);
  for (const Port& p : graph_.collection(collections::kTrainableVariables)) trainable.insert(p.node);
  for (std::uint32_t id = 0; id < graph_.size(); ++id) {
    const Node& n = graph_.node(id);
    if (n.op->effect == Effect::kVariable) {
      VariableStore& home = global.count(id) != 0 ? *store_ : local_store_;
      Variable& v =
          home.find_or_create(n.name, n.outputs[0].first, n.outputs[0].second.dims(), trainable.count(id) != 0);
      variable_of_[id] = &v;
      if (&home == store_.get()) variables_.push_back(&v);
    } else if (n.op->role == Role::kTable) {
      tables_[id] = std::make_unique<LookupTable>(n.name, n.attrs.dtype("key_dtype"), n.attrs.dtype("value_dtype"));
    } else if (n.op->role == Role::kQueue) {
      if (!options_.queues)
        fail(Code::kFailedPrecondition,
             "[B5071] the graph has the queue '" + n.name + "', but the session was given no queues");
      queues_[id] = options_.queues(n);
    }
  }
  std::sort(variables_.begin(), variables_.end(),
            [](const Variable* a, const Variable* b) { return a->name < b->name; });
  const auto& steps = graph_.collection(collections::kGlobalStep);
  if (steps.size() == 1) {
    const Node& n = variable_behind(graph_, steps[0]);
    global_step_ = variable_of_.at(n.id);
    global_step_name_ = n.name;
  }
}

DirectSession::~DirectSession() {
  close();
  wait_for_runs();
}

void DirectSession::close() {
  closed_ = true;
  cancellation_.cancel(Error(Code::kCancelled, "the session was closed"));
}

void DirectSession::wait_for_runs() {
  std::unique_lock lock(idle_mutex_);
  idle_.wait(lock, [&] { return active_runs_.load() == 0; });
}

belay::Session DirectSession::handle() { return belay::Session(&services_without_host(), to_handle(this)); }

Queue& DirectSession::queue(std::uint32_t node) {
  const auto it = queues_.find(node);
  if (it == queues_.end()) fail(Code::kInvalidArgument, "[B5074] '" + graph_.node(node).name + "' is not a queue");
  return *it->second;
}

LookupTable& DirectSession::table(std::uint32_t node) {
  const auto it = tables_.find(node);
  if (it == tables_.end()) fail(Code::kInvalidArgument, "[B5074] '" + graph_.node(node).name + "' is not a table");
  return *it->second;
}

std::int64_t DirectSession::global_step() const noexcept {
  if (global_step_ == nullptr || !global_step_->initialized) return -1;
  const std::shared_lock gate(store_->gate());
  return *global_step_->value.data<std::int64_t>();
}

PlanStats DirectSession::plan_stats(const FetchSet* of) const {
  PlanStats stats = plans_->stats(of);
  stats.programs_built = programs_built_;
  return stats;
}

const Plan* DirectSession::plan_of(const FetchSet& fetches) const noexcept {
  return fetches.plan_ == nullptr ? nullptr : fetches.plan_->plan.get();
}

// ---- runs ----

Run DirectSession::run(const RunRequest& request) {
  struct Active {
    explicit Active(DirectSession& s) : session(s) { session.active_runs_.fetch_add(1); }
    ~Active() {
      if (session.active_runs_.fetch_sub(1) != 1 || !session.closed_) return;
      const std::lock_guard lock(session.idle_mutex_);
      session.idle_.notify_all();
    }
    DirectSession& session;
  } active(*this);
  if (closed_) fail(Code::kFailedPrecondition, "[B5070] Attempted to use a closed session");
  std::shared_ptr<CachedPlan> plan = plans_->plan_for(request);
  Run run(plan, plan->lease());
  // `run` leases the state, and returns it when `run` is destroyed, also if execute throws.
  PlanState& state = *run.state_;
  state.mask.clear();
  state.mask.add(request.fetches->mask_);
  for (const FetchSet* hook_fetch : request.hook_fetches) state.mask.add(hook_fetch->mask_);
  execute(state, request);
  return run;
}

void DirectSession::run_once(const std::vector<Port>& operations, const std::vector<belay_feed>& feeds) {
  std::vector<belay_output> outputs;
  outputs.reserve(operations.size());
  for (const Port& p : operations) outputs.push_back({graph_.serial(), p.node, p.index});
  FetchSet set(outputs.data(), outputs.size());
  RunRequest request;
  request.fetches = &set;
  request.feeds = feeds;
  request.full_team = true;
  run(request);
  plans_->forget(set);
}

void DirectSession::execute(PlanState& state, const RunRequest& request) {
  const Plan& plan = *state.plan->plan;
  const std::int64_t deadline = request.timeout_ms > 0 ? clock_->monotonic_ns() + request.timeout_ms * 1'000'000 : 0;
  const CancelToken cancel(cancellation_, *clock_, deadline);
  cancel.check();
  const Team team(plan.key.threads);
  state.key.clear();
  state.pass = 0;
  state.context_known = false;
  state.committed = false;
  state.finite = true;
  for (TakenPosition& t : state.taken) t.fresh = false;
  bind_feeds(state, request);
  const Cancellable cancellable(state.context, cancel);
  try {
    std::uint32_t s = 0;
    if (plan.passes.count > 1) {
      run_passes(state, request, cancel);
      s = plan.passes.stages;
    }
    for (; s < plan.stages.size(); ++s) run_stage(state, s, request, cancel);
    if (state.finite) drop_host_values(state);  // otherwise a caller may ask which value was wrong
  } catch (const Error& e) {
    drop_host_values(state);
    if (state.committed && plan.writes_shared)
      store_->mark_dirty(std::string("a run failed after it had written variables: ") + e.what());
    throw;
  }
}

// Each pass has the dims of its batch, and separate random numbers.
void DirectSession::run_passes(PlanState& state, const RunRequest& request, const CancelToken& cancel) {
  const PlanPasses& passes = state.plan->plan->passes;
  for (state.pass = 0;; ++state.pass) {
    state.key.resize(state.feed_key);
    state.context_known = false;
    for (std::uint32_t s = 0; s < passes.stages; ++s) run_stage(state, s, request, cancel);
    if (state.pass + 1 == passes.count) return;
  }
}

void DirectSession::bind_feeds(PlanState& state, const RunRequest& request) {
  const Plan& plan = *state.plan->plan;
  for (const belay_feed& f : request.feeds) {
    const ValueId v = plan.value_of({f.output.node, f.output.index});
    if (v == kNoValue) continue;
    const auto& [dtype, shape] = graph_.spec({f.output.node, f.output.index});
    const TensorView value(f.value);
    Dims& dims = state.feed_dims[plan.values[v].index];
    if (value.rank() == 0) {
      dims.clear();
    } else {
      dims.assign(f.value.dims, f.value.dims + f.value.rank);
    }
    if (value.dtype() != dtype || !shape.allows(dims))
      fail(Code::kInvalidArgument, "[B5072] cannot feed a " + std::string(dtype_name(value.dtype())) +
                                       " value of shape " + dims_text(dims) + " for '" +
                                       graph_.port_name({f.output.node, f.output.index}) + "', which is " +
                                       dtype_name(dtype) + " " + shape.text());
    state.values.data[v] = f.value.data;
    state.values.dims[v] = &dims;
  }
  for (const Dims& dims : state.feed_dims) {
    state.key.push_back(static_cast<std::int64_t>(dims.size()));
    for (const std::int64_t dim : dims) state.key.push_back(dim);
  }
  state.feed_key = state.key.size();
}

Program& DirectSession::program_for(PlanState& state, std::uint32_t s) {
  StageState& stage = state.stages[s];
  for (std::size_t i = 0; i < stage.programs.size(); ++i) {
    if (stage.programs[i]->key != state.key) continue;
    if (i != 0)
      std::rotate(stage.programs.begin(), stage.programs.begin() + static_cast<std::ptrdiff_t>(i),
                  stage.programs.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return *stage.programs[0];
  }
  const Plan& plan = *state.plan->plan;
  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    const PlanValue& value = plan.values[v];
    if (value.root != v) continue;
    if (value.source == ValueSource::kVariable) {
      const Variable& variable = *state.plan->variables[value.index];
      state.values.set(static_cast<ValueId>(v), variable.value, variable.version);
    } else if (value.source == ValueSource::kStep && graph_.node(value.port.node).op->role == Role::kQueue) {
      state.values.data[v] = &queue(value.port.node);  // for a kernel that refers to the queue itself
    }
  }
  auto program = std::make_unique<Program>(graph_, plan, s, state.values, state.slots, options_.seed);
  program->key = state.key;
  ++programs_built_;
  // The arena gets the program's size at once. So the owner of the states sees the memory of a warm run.
  stage.arena.at_least(program->arena_bytes());
  const std::lock_guard lock(state.plan->mutex);
  stage.programs.insert(stage.programs.begin(), std::move(program));
  if (stage.programs.size() > kMaxPrograms) stage.programs.pop_back();
  return *stage.programs[0];
}

void DirectSession::check_initialized(const PlanState& state, std::uint32_t s) const {
  for (const auto& [index, condition] : state.plan->plan->stages[s].reads) {
    const Variable& v = *state.plan->variables[index];
    if (v.initialized.load(std::memory_order_acquire)) continue;
    bool read = condition.always;
    for (const std::uint32_t slot : condition.slots) read = read || state.mask.test(slot);
    if (read) fail(Code::kFailedPrecondition, "[B5073] Attempting to use uninitialized value " + v.name);
  }
}

void DirectSession::run_stage(PlanState& state, std::uint32_t s, const RunRequest& request, const CancelToken& cancel) {
  const PlanStage& stage = state.plan->plan->stages[s];
  if (!stage.steps.empty() || !stage.shapes.empty()) {
    cancel.check();
    Program& program = program_for(state, s);
    const bool moved = program.bind(state.stages[s].arena.at_least(program.arena_bytes()), state.values);
    if (moved || state.stages[s].published != &program) {
      program.publish(state.values);
      state.stages[s].published = &program;
    }
    const KernelMode mode;
    if (stage.commit) {
      commit(state, program, request, s);
    } else {
      const bool gated = !stage.reads.empty() || stage.random;
      const SharedGate gate(store_->gate(), gated);
      if (gated) find_context(state);
      check_initialized(state, s);
      run_program(program, state, request);
    }
  }
  if (!stage.host_steps.empty()) run_host_steps(*this, state, s, request, cancel, options_.seed);
}

// It is called under the gate, since another session of the store may be committing a step. A stage without a gate has
// nothing random in it, and needs no counter.
void DirectSession::find_context(PlanState& state) const {
  if (state.context_known) return;
  state.context.counter = global_step_ != nullptr && global_step_->initialized.load(std::memory_order_acquire)
                              ? static_cast<std::uint64_t>(*global_step_->value.data<std::int64_t>())
                              : 0;
  const PlanPasses& passes = state.plan->plan->passes;
  state.context.counter =
      state.context.counter * static_cast<std::uint64_t>(passes.count) + static_cast<std::uint64_t>(state.pass);
  state.context_known = true;
}

void DirectSession::run_program(Program& program, PlanState& state, const RunRequest& request) {
  if (request.trace_level > 0 && request.metadata != nullptr) {
    program.run_traced(state.mask, state.context, *clock_, request.metadata->nodes);
  } else {
    program.run(state.mask, state.context);
  }
}

void DirectSession::commit(PlanState& state, Program& program, const RunRequest& request, std::uint32_t s) {
  const std::unique_lock gate(store_->gate());
  cancellation_.check();
  find_context(state);
  check_initialized(state, s);
  program.check_writes(state.mask, state.context);
  run_program(program, state, request);
  program.for_each_written(state.mask, [&](std::uint32_t index) {
    Variable& v = *state.plan->variables[index];
    v.initialized.store(true, std::memory_order_release);
    v.version.fetch_add(1, std::memory_order_relaxed);
    state.finite = state.finite && v.begins_finite();
  });
  for (TakenPosition& t : state.taken)
    if (t.fresh) *t.slot = t.position, t.fresh = false;
  state.committed = true;
}

}  // namespace belay::runtime
