// SPDX-License-Identifier: Apache-2.0
// A plan: which nodes a request needs, in what order, and where the run may block or write.
//
// A run is a sequence of stages. A main stage computes from what it has (the store's gate shared, if it reads
// variables); after it come host kernels that may wait, with no gate held. What depends on a host kernel's output
// belongs to a later stage, which is specialised by the actual dims when it starts. Every write of a variable, and what
// depends on a write, is in the commit stage at the end, under the exclusive gate. A graph where a host kernel
// depends on a write has further stages after the commit and is not atomic.
//
// A step of several batches ("MeanOverBatches") runs its first stages several times, each time with the next batch, and
// the others once: still one run with one commit.
//
// The base of a plan is what its writes and other effects need. Values that hooks fetch (and, beside writes, those that
// the caller fetches) are hooks' fetches: kernels are chosen and fused for the base alone, a hook's fetch adds steps
// behind a mask bit or recomputes beside a fused step what that swallowed. So fetching never changes a bit of any
// variable.
//
// Made in four parts: schedule.h finds what is needed and where it runs, simplify.h what need not run, fusion.h which
// nodes become one step, emit.h writes it all down.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/kernel.h"
#include "runtime/graph/node_graph.h"

namespace belay::runtime {

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = 0xffffffff;

// What a run may be asked for, and what decides which plan serves it.
struct PlanKey {
  std::vector<Port> fetches;     // the caller's: values and operations
  std::vector<Port> feeds;       // sorted
  std::vector<Port> structural;  // hooks' fetches whose own effects (a dequeue, a write) the base lacks; sorted
  int threads = 1;
  Precision precision = Precision::kFloat32;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

enum class ValueSource : std::uint8_t {
  kStep,  // a kernel writes it into the stage's arena
  kHost,  // a host kernel hands it over
  kFeed,
  kConstant,
  kVariable,  // the variable's memory, as it is when read
};

struct PlanValue {
  Port port;
  DType dtype = DType::kInvalid;
  ValueSource source = ValueSource::kStep;
  ValueId root = kNoValue;  // whose memory it is: itself or, for an alias (Reshape, Identity), its input's
  std::uint32_t index = 0;  // feed, constant or variable: which
  std::uint32_t stage = 0;  // kStep: where it is made
  bool exported = false;    // kStep, of a root: used outside its stage
};

// When a step runs: always (base), or when one of these fetch slots is asked for.
struct Condition {
  bool always = false;
  std::vector<std::uint32_t> slots;  // sorted
  void add(const Condition& other);  // when either holds
  bool never() const noexcept { return !always && slots.empty(); }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelSpec&);

struct PlanStep {
  const Node* node = nullptr;
  std::vector<const Node*> members;     // of a fused step
  std::vector<std::uint32_t> operands;  // of an element-wise chain: see runtime/ops/kernels/elementwise_chain.h
  KernelFactory kernel = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::uint32_t shape_inputs = 0;
  std::uint32_t in_place = 0;
  bool writes = false;
  bool random = false;
  std::uint32_t slot = kNoValue;       // a copy into this fetch slot
  std::vector<std::uint32_t> written;  // variables, for a writing step
  Condition condition;
};

struct PlanHostStep {
  const Node* node = nullptr;
  std::vector<ValueId> inputs;  // kNoValue where the input names a variable or a queue
  std::vector<ValueId> outputs;
};

struct PlanStage {
  bool commit = false;
  std::vector<PlanStep> steps;
  std::vector<PlanHostStep> host_steps;
  // Nodes whose output dims are worked out when the stage is specialised, in order: those of the steps, aliases
  // included.
  std::vector<const Node*> shapes;
  // Variables whose value is read here, and must be initialized, if the condition holds.
  std::vector<std::pair<std::uint32_t, Condition>> reads;
  bool random = false;
};

struct PlanVariable {
  const Node* node = nullptr;
};

struct FetchSlot {
  Port port;
  ValueId value = kNoValue;  // kNoValue: an operation
  bool always = false;       // the caller's
};

// The first `stages` of a plan run `count` times before the others run.
struct PlanPasses {
  std::int64_t count = 1;
  std::uint32_t stages = 0;
};

struct Plan {
  PlanKey key;
  std::vector<PlanValue> values;
  std::vector<PlanStage> stages;
  std::vector<FetchSlot> slots;        // the caller's first, then hooks' fetches in the order in which they came up
  std::vector<DenseTensor> constants;  // of nodes "Const", and what was computed when the plan was made
  std::vector<PlanVariable> variables;
  // What became of nodes that do not run (for reports): ids, ascending.
  std::vector<std::uint32_t> folded;                           // computed when the plan was made
  std::vector<std::pair<std::uint32_t, std::uint32_t>> twins;  // a node, and the earlier one that replaces it
  PlanPasses passes;
  bool atomic = true;
  // It writes a variable that a checkpoint holds, or that sessions share: one that is not local.
  bool writes_shared = false;
  bool has_effects = false;

  std::uint32_t slot_of(Port port) const;  // kNoValue where the plan has none
  ValueId value_of(Port port) const;       // kNoValue
  std::unordered_map<std::uint64_t, std::uint32_t> slot_index;
  std::unordered_map<std::uint64_t, ValueId> value_index;
};

inline std::uint64_t port_key(Port p) noexcept { return (static_cast<std::uint64_t>(p.node) << 32) | p.index; }

// Those of `ports` whose closure has effects that the key's base lacks.
std::vector<Port> structural_of(const NodeGraph& graph, const PlanKey& base, const std::vector<Port>& ports);

// Errors: an unfed placeholder, a feed of another dtype or shape is found when it runs.
std::unique_ptr<Plan> make_plan(const NodeGraph& graph, const PlanKey& key, const std::vector<Port>& hook_fetches);

// The variable that an input names: the node of the edge or, if that is a write, the variable that it writes.
const Node& variable_behind(const NodeGraph& graph, Port port);

}  // namespace belay::runtime
