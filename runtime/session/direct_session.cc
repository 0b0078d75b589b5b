// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/direct_session.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_set>

#include "runtime/ops/parallel.h"
#include "runtime/platform/floating_point.h"
#include "runtime/session/plan_state.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMaxPlans = 64;
constexpr std::size_t kMaxPrograms = 8;  // per stage and run state: different dims

bool same(const belay_output& a, const belay_output& b) noexcept {
  return a.graph == b.graph && a.node == b.node && a.index == b.index;
}

PlanState* lease(CachedPlan& cached) {
  PlanState* state = cached.first.exchange(nullptr, std::memory_order_acquire);
  if (state != nullptr) return state;
  const std::lock_guard lock(cached.mutex);
  if (!cached.free.empty()) {
    state = cached.free.back();
    cached.free.pop_back();
    return state;
  }
  const Plan& plan = *cached.plan;
  auto made = std::make_unique<PlanState>();
  made->plan = &cached;
  made->values = RunValuesTable(plan.values.size());
  made->feed_dims.resize(plan.key.feeds.size());
  made->host_values.resize(plan.values.size());
  made->slots.resize(plan.slots.size());
  made->stages.resize(plan.stages.size());
  made->mask.resize(plan.slots.size());
  made->key.reserve(32);
  state = made.get();
  cached.states.push_back(std::move(made));
  return state;
}

// Appends those of `from` that are not in `to`.
void add_missing(const std::vector<Port>& from, std::vector<Port>& to) {
  std::unordered_set<std::uint64_t> known;
  for (const Port& p : to) known.insert(port_key(p));
  for (const Port& p : from)
    if (known.insert(port_key(p)).second) to.push_back(p);
}

// Of the outputs that somebody announced to fetch: values whose effects, if any, the base has too.
std::vector<Port> announced_values(const NodeGraph& graph, const PlanKey& key) {
  std::vector<Port> values;
  for (const Port& p : graph.announced())
    if (p.index != BELAY_OPERATION) values.push_back(p);
  const std::vector<Port> structural = structural_of(graph, key, values);
  std::erase_if(values, [&](Port p) { return std::find(structural.begin(), structural.end(), p) != structural.end(); });
  return values;
}

// Queue elements go back to their pools.
void drop_host_values(PlanState& state) noexcept {
  for (const PlanStage& stage : state.plan->plan->stages)
    for (const PlanHostStep& step : stage.host_steps)
      for (const ValueId v : step.outputs) state.host_values[v] = DenseTensor();
}

void give_back(CachedPlan& cached, PlanState* state) noexcept {
  PlanState* none = nullptr;
  if (cached.first.compare_exchange_strong(none, state, std::memory_order_release)) return;
  const std::lock_guard lock(cached.mutex);
  cached.free.push_back(state);
}

// The kernels of a run may ask whether it is cancelled, as long as it goes on.
class Cancellable {
 public:
  Cancellable(StepContext& context, const CancelToken& cancel) : context_(context) { context_.cancel = &cancel; }
  ~Cancellable() { context_.cancel = nullptr; }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;

 private:
  StepContext& context_;
};

// What a host kernel sees of a run.
class RunHostContext final : public HostContext {
 public:
  RunHostContext(DirectSession& session, const NodeGraph& graph, PlanState& state, const PlanHostStep& step,
                 const CancelToken& cancel)
      : session_(session), graph_(graph), state_(state), step_(step), cancel_(cancel) {}

  TensorView input(std::size_t i) override {
    const ValueId v = step_.inputs[i];
    const Plan& plan = *state_.plan->plan;
    const Dims& dims = *state_.values.dims[v];
    const DType dtype = plan.values[v].dtype;
    return TensorView(detail::raw_tensor(
        dtype, static_cast<std::int32_t>(dims.size()), dims.data(), state_.values.data[plan.values[v].root],
        static_cast<std::size_t>(count_of(dims)) * dtype_size(dtype), BELAY_TENSOR_READ_ONLY));
  }
  DenseTensor owned_input(std::size_t i) override {
    const ValueId root = state_.plan->plan->values[step_.inputs[i]].root;
    if (root == step_.inputs[i] && state_.host_values[root]) return state_.host_values[root];
    return DenseTensor(input(i));
  }
  void output(std::size_t i, DenseTensor value) override { state_.host_values[step_.outputs[i]] = std::move(value); }
  const std::string& variable_name(std::size_t i) override {
    return variable_behind(graph_, step_.node->inputs[i]).name;
  }
  bool variable_initialized(std::size_t i) override {
    return session_.variable(variable_behind(graph_, step_.node->inputs[i])).initialized.load();
  }
  Queue& queue(std::size_t i) override { return session_.queue(step_.node->inputs[i].node); }
  LookupTable& table(std::size_t i) override { return session_.table(step_.node->inputs[i].node); }
  const CancelToken& cancel() override { return cancel_; }
  void took(const std::string* input, const Position& position) override {
    for (TakenPosition& t : state_.taken)
      if (t.input == input) {
        t.position = position;
        t.fresh = true;
        return;
      }
    state_.taken.push_back({input, session_.store().position_slot(*input), position, true});
  }

 private:
  DirectSession& session_;
  const NodeGraph& graph_;
  PlanState& state_;
  const PlanHostStep& step_;
  const CancelToken& cancel_;
};

// A std::shared_lock that can be empty.
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
  return n == outputs_.size() && std::equal(outputs, outputs + n, outputs_.begin(), same);
}

Run::~Run() {
  if (state_ != nullptr) give_back(*plan_, state_);
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

DirectSession::DirectSession(NodeGraph& graph, std::shared_ptr<VariableStore> store, SessionOptions options)
    : graph_(graph), store_(std::move(store)), options_(std::move(options)) {
  clock_ = options_.clock == nullptr ? &system_clock() : options_.clock;
  if (!graph_.finalized())
    fail(Code::kFailedPrecondition, "a session needs a finalized graph: call finalize() before it is made");
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
    } else if (n.op->name == "HashTable") {
      tables_[id] = std::make_unique<LookupTable>(n.name, n.attrs.dtype("key_dtype"), n.attrs.dtype("value_dtype"));
    } else if (n.op->resource) {
      if (!options_.queues)
        fail(Code::kFailedPrecondition,
             "the graph has the queue '" + n.name + "', but the session was given no queues");
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
  std::unique_lock lock(idle_mutex_);
  idle_.wait(lock, [&] { return active_runs_.load() == 0; });
}

void DirectSession::close() {
  closed_ = true;
  cancellation_.cancel(Error(Code::kCancelled, "the session was closed"));
}

belay::Session DirectSession::handle() { return belay::Session(&session_services(), to_handle(this)); }

Queue& DirectSession::queue(std::uint32_t node) {
  const auto it = queues_.find(node);
  if (it == queues_.end()) fail(Code::kInvalidArgument, "'" + graph_.node(node).name + "' is not a queue");
  return *it->second;
}

LookupTable& DirectSession::table(std::uint32_t node) {
  const auto it = tables_.find(node);
  if (it == tables_.end()) fail(Code::kInvalidArgument, "'" + graph_.node(node).name + "' is not a table");
  return *it->second;
}

std::int64_t DirectSession::global_step() const noexcept {
  if (global_step_ == nullptr || !global_step_->initialized) return -1;
  const std::shared_lock gate(store_->gate());
  return *global_step_->value.data<std::int64_t>();
}

// ---- plans ----

// Each time: what the set found before may have been in another graph.
void DirectSession::check_ports(FetchSet& set) {
  set.ports_.clear();
  for (const belay_output& o : set.outputs_) {
    try {
      set.ports_.push_back(graph_.resolve(o));
      graph_.need_outside_bodies(set.ports_.back());
    } catch (const Error& e) {
      fail(e.code(), std::string("cannot fetch: ") + e.what());
    }
  }
}

std::shared_ptr<CachedPlan> DirectSession::plan_for(const RunRequest& request) {
  FetchSet& caller = *request.fetches;
  const std::shared_ptr<CachedPlan>& plan = caller.plan_;
  const int threads = request.full_team ? options_.threads : 1;
  if (plan != nullptr && plan->session == identity_ && plan->plan->key.threads == threads &&
      caller.feeds_.size() == request.feeds.size()) {
    bool serves = true;
    for (std::size_t i = 0; i < request.feeds.size(); ++i)
      serves = serves && same(request.feeds[i].output, caller.feeds_[i]);
    std::size_t structural = caller.structural_;
    for (const FetchSet* extra : request.extras) {
      serves = serves && extra->plan_ == plan;
      structural += extra->structural_;
    }
    if (serves && structural == plan->plan->key.structural.size()) return plan;
  }
  return find_or_make_plan(request);
}

std::shared_ptr<CachedPlan> DirectSession::find_or_make_plan(const RunRequest& request) {
  PlanKey key;
  check_ports(*request.fetches);
  key.fetches = request.fetches->ports_;
  key.threads = request.full_team ? options_.threads : 1;
  key.precision = options_.precision;
  for (const belay_feed& f : request.feeds) {
    const Port p = graph_.resolve(f.output);
    if (p.index == BELAY_OPERATION)
      fail(Code::kInvalidArgument, "'" + graph_.port_name(p) + "' is an operation and cannot be fed");
    key.feeds.push_back(p);
  }
  std::sort(key.feeds.begin(), key.feeds.end(), [](Port a, Port b) { return port_key(a) < port_key(b); });
  if (std::adjacent_find(key.feeds.begin(), key.feeds.end()) != key.feeds.end())
    fail(Code::kInvalidArgument, "one output is fed twice");
  std::vector<Port> wanted;
  for (FetchSet* extra : request.extras) {
    check_ports(*extra);
    wanted.insert(wanted.end(), extra->ports_.begin(), extra->ports_.end());
  }
  key.structural = structural_of(graph_, key, wanted);
  std::sort(key.structural.begin(), key.structural.end(), [](Port a, Port b) { return port_key(a) < port_key(b); });
  key.structural.erase(std::unique(key.structural.begin(), key.structural.end()), key.structural.end());

  const std::lock_guard lock(plans_mutex_);
  std::shared_ptr<CachedPlan> plan;
  std::vector<Port> extras;
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (!((*it)->plan->key == key)) continue;
    plan = *it;
    const bool complete =
        std::all_of(wanted.begin(), wanted.end(), [&](Port p) { return plan->plan->slot_of(p) != kNoValue; });
    if (!complete) {
      extras = plan->extras;
      plans_.erase(it);
      plan = nullptr;
    }
    break;
  }
  if (plan == nullptr) {
    add_missing(wanted, extras);
    if (!request.extras.empty()) add_missing(announced_values(graph_, key), extras);
    plan = make_cached_plan(key, extras);
    plans_.push_front(plan);
    if (plans_.size() > kMaxPlans) plans_.pop_back();
  }
  const auto attach = [&](FetchSet& set) {
    set.plan_ = plan;
    set.mask_.resize(plan->plan->slots.size());
    set.slots_.clear();
    set.structural_ = 0;
    for (const Port& p : set.ports_) {
      const std::uint32_t slot = p.index == BELAY_OPERATION ? kNoValue : plan->plan->slot_of(p);
      set.slots_.push_back(slot);
      if (slot != kNoValue) set.mask_.set(slot);
      if (&set != request.fetches && std::find(key.structural.begin(), key.structural.end(), p) != key.structural.end())
        ++set.structural_;
    }
  };
  attach(*request.fetches);
  request.fetches->feeds_.clear();
  for (const belay_feed& f : request.feeds) request.fetches->feeds_.push_back(f.output);
  for (FetchSet* extra : request.extras) attach(*extra);
  return plan;
}

std::shared_ptr<CachedPlan> DirectSession::make_cached_plan(const PlanKey& key, const std::vector<Port>& extras) {
  auto cached = std::make_shared<CachedPlan>();
  cached->session = identity_;
  cached->plan = make_plan(graph_, key, extras);
  cached->extras = extras;
  for (const PlanVariable& v : cached->plan->variables) cached->variables.push_back(&variable(*v.node));
  ++plans_built_;
  return cached;
}

PlanStats DirectSession::plan_stats(const FetchSet* of) const {
  PlanStats stats;
  stats.plans_built = plans_built_;
  stats.programs_built = programs_built_;
  const std::lock_guard lock(plans_mutex_);
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
  if (closed_) fail(Code::kFailedPrecondition, "Attempted to use a closed session");
  std::shared_ptr<CachedPlan> plan = plan_for(request);
  Run run(plan, lease(*plan));
  // The state is reached through the lease; it goes back when `run` dies, also when execute throws.
  PlanState& state = *run.state_;
  state.mask.clear();
  state.mask.add(request.fetches->mask_);
  for (const FetchSet* extra : request.extras) state.mask.add(extra->mask_);
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
  const std::lock_guard lock(plans_mutex_);
  plans_.remove(set.plan_);
}

void DirectSession::execute(PlanState& state, const RunRequest& request) {
  const Plan& plan = *state.plan->plan;
  const std::int64_t deadline = request.timeout_ms > 0 ? clock_->monotonic_ns() + request.timeout_ms * 1'000'000 : 0;
  const CancelToken cancel(cancellation_, *clock_, deadline);
  cancel.check();
  const Team team(plan.key.threads);
  state.key.clear();
  state.context_known = false;
  state.committed = false;
  state.finite = true;
  for (TakenPosition& t : state.taken) t.fresh = false;
  bind_feeds(state, request);
  const Cancellable cancellable(state.context, cancel);
  try {
    for (std::uint32_t s = 0; s < plan.stages.size(); ++s) run_stage(state, s, request, cancel);
    if (state.finite) drop_host_values(state);  // else somebody may ask what was wrong
  } catch (const Error& e) {
    drop_host_values(state);
    if (state.committed) store_->mark_dirty(std::string("a run failed after it had written variables: ") + e.what());
    throw;
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
      fail(Code::kInvalidArgument, "cannot feed a " + std::string(dtype_name(value.dtype())) + " value of shape " +
                                       dims_text(dims) + " for '" + graph_.port_name({f.output.node, f.output.index}) +
                                       "', which is " + dtype_name(dtype) + " " + shape.text());
    state.values.data[v] = f.value.data;
    state.values.dims[v] = &dims;
  }
  for (const Dims& dims : state.feed_dims) {
    state.key.push_back(static_cast<std::int64_t>(dims.size()));
    state.key.insert(state.key.end(), dims.begin(), dims.end());
  }
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
    if (value.source == ValueSource::kConstant) {
      state.values.set_constant(static_cast<ValueId>(v), plan.constants[value.index]);
    } else if (value.source == ValueSource::kVariable) {
      const Variable& variable = *state.plan->variables[value.index];
      state.values.set(static_cast<ValueId>(v), variable.value, variable.version);
    }
  }
  auto program = std::make_unique<Program>(graph_, plan, s, state.values, state.slots, options_.seed);
  program->key = state.key;
  ++programs_built_;
  // Lay the arena out for it at once: the states' owner sees the memory that a warm run needs.
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
    if (read) fail(Code::kFailedPrecondition, "Attempting to use uninitialized value " + v.name);
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
  if (!stage.host_steps.empty()) run_host_steps(state, s, request, cancel);
}

// Called under the gate: another session of the store may be committing a step. A stage that holds no gate has nothing
// random in it, and needs no counter.
void DirectSession::find_context(PlanState& state) const {
  if (state.context_known) return;
  state.context.counter = global_step_ != nullptr && global_step_->initialized.load(std::memory_order_acquire)
                              ? static_cast<std::uint64_t>(*global_step_->value.data<std::int64_t>())
                              : 0;
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

void DirectSession::run_host_steps(PlanState& state, std::uint32_t s, const RunRequest& request,
                                   const CancelToken& cancel) {
  const bool traced = request.trace_level > 0 && request.metadata != nullptr;
  const PlanStage& stage = state.plan->plan->stages[s];
  std::vector<std::unique_ptr<HostKernel>>& kernels = state.stages[s].host_kernels;
  for (std::size_t i = kernels.size(); i < stage.host_steps.size(); ++i) {
    const KernelSpec spec{*stage.host_steps[i].node, {}, {}, state.plan->plan->key.threads, options_.seed};
    kernels.push_back(stage.host_steps[i].node->op->host_kernel(spec));
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const PlanHostStep& step = stage.host_steps[i];
    RunHostContext context(*this, graph_, state, step, cancel);
    const std::int64_t start = traced ? clock_->monotonic_ns() : 0;
    try {
      kernels[i]->run(context);
    } catch (const Error& e) {
      fail(e.code(), "node '" + step.node->name + "' (" + step.node->op->name + "): " + e.what());
    }
    std::size_t bytes = 0;
    for (std::size_t o = 0; o < step.outputs.size(); ++o) {
      const ValueId v = step.outputs[o];
      const DenseTensor& value = state.host_values[v];
      const auto& [dtype, shape] = step.node->outputs[o];
      if (!value || value.dtype() != dtype || !shape.allows(value.dims()))
        fail(Code::kInvalidArgument,
             "node '" + step.node->name + "' (" + step.node->op->name + "): output " + std::to_string(o) + " is " +
                 (value ? dtype_name(value.dtype()) + (" " + dims_text(value.dims())) : "missing") + ", expected " +
                 dtype_name(dtype) + " " + shape.text());
      state.values.data[v] = value.data();
      state.values.dims[v] = &value.dims();
      state.key.push_back(static_cast<std::int64_t>(value.dims().size()));
      state.key.insert(state.key.end(), value.dims().begin(), value.dims().end());
      bytes += value.bytes();
    }
    if (traced)
      request.metadata->nodes.push_back(
          {step.node->name, step.node->op->name, start, clock_->monotonic_ns(), bytes, step.node->id});
  }
}

}  // namespace belay::runtime
