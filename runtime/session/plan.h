// SPDX-License-Identifier: Apache-2.0
// A plan: the nodes that a request needs, their order, and the places of waits and writes.
//
// A run is a sequence of stages. A main stage computes from its values. It holds the store's gate shared if it reads
// variables. Host kernels follow it; they may wait and hold no gate. Nodes that depend on a host kernel's output are in
// a later stage. That is specialised by the actual dims when it starts. The commit stage at the end has every write of
// a variable, and the nodes that depend on a write. It holds the gate exclusively. If a host kernel depends on a write,
// the graph has further stages after the commit and is not atomic.
//
// A step of several batches ("MeanOverBatches") runs its first stages once per batch, each time with the next one. It
// runs the others once. It is still one run with one commit.
//
// The base of a plan is the nodes that its writes and other effects need. Values that hooks fetch are hooks' fetches.
// If there are writes, values that the caller fetches are, too. Kernels are chosen and fused only for the base. A
// hook's fetch adds steps with a mask bit, or recomputes a value that a fused step swallowed. So fetching never changes
// a bit of any variable.
//
// A plan is made in four parts. schedule.h finds the needed nodes and their places. simplify.h finds nodes that need
// not run. fusion.h joins nodes into steps. emit.h writes the plan.
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

// The parts of a request that select its plan.
struct PlanKey {
  std::vector<Port> fetches;     // the caller's: values and operations
  std::vector<Port> feeds;       // sorted
  std::vector<Port> structural;  // hooks' fetches with effects (a dequeue, a write) that the base lacks; sorted
  int threads = 1;
  Precision precision = Precision::kFloat32;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

enum class ValueSource : std::uint8_t {
  kStep,  // a kernel writes it into the stage's arena
  kHost,  // a host kernel returns it
  kFeed,
  kConstant,
  kVariable,  // the variable's memory at the time of the read
};

struct PlanValue {
  Port port;
  DType dtype = DType::kInvalid;
  ValueSource source = ValueSource::kStep;
  ValueId root = kNoValue;  // owner of its memory: itself or, for an alias (Reshape, Identity), its input's root
  std::uint32_t index = 0;  // number of the feed, constant or variable
  std::uint32_t stage = 0;  // kStep: the stage that makes it
  bool exported = false;    // kStep, for a root: used outside its stage
};

// When a step runs: always (base), or if one of these fetch slots is wanted.
struct Condition {
  bool always = false;
  std::vector<std::uint32_t> slots;  // sorted
  void add(const Condition& other);  // true if either is true
  bool never() const noexcept { return !always && slots.empty(); }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelSpec&);

struct PlanStep {
  const Node* node = nullptr;
  std::vector<const Node*> members;     // for a fused step
  std::vector<std::uint32_t> operands;  // for an element-wise chain: see runtime/ops/kernels/elementwise_chain.h
  KernelFactory kernel = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::uint32_t shape_inputs = 0;
  std::uint32_t in_place = 0;
  bool writes = false;
  bool random = false;
  std::uint32_t slot = kNoValue;       // not kNoValue: a copy into this fetch slot
  std::vector<std::uint32_t> written;  // variables, for a writing step
  Condition condition;
};

struct PlanHostStep {
  const Node* node = nullptr;
  std::vector<ValueId> inputs;  // kNoValue if the input names a variable or a queue
  std::vector<ValueId> outputs;
};

struct PlanStage {
  bool commit = false;
  std::vector<PlanStep> steps;
  std::vector<PlanHostStep> host_steps;
  // Nodes whose output dims are computed when the stage is specialised, in order: those of the steps, with aliases.
  std::vector<const Node*> shapes;
  // Variables read here if the condition is true. They must be initialized then.
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
  std::vector<FetchSlot> slots;        // the caller's first, then hooks' fetches in the order of their first use
  std::vector<DenseTensor> constants;  // those of nodes "Const", and results computed for the plan
  std::vector<PlanVariable> variables;
  // Nodes that do not run (for reports): ids, ascending.
  std::vector<std::uint32_t> folded;                           // computed when the plan was made
  std::vector<std::pair<std::uint32_t, std::uint32_t>> twins;  // a node, and the earlier one that replaces it
  PlanPasses passes;
  bool atomic = true;
  // It writes a variable that a checkpoint has or sessions share: one that is not local.
  bool writes_shared = false;
  bool has_effects = false;

  std::uint32_t slot_of(Port port) const;  // kNoValue: the plan has none
  ValueId value_of(Port port) const;       // kNoValue
  std::unordered_map<std::uint64_t, std::uint32_t> slot_index;
  std::unordered_map<std::uint64_t, ValueId> value_index;
};

inline std::uint64_t port_key(Port p) noexcept { return (static_cast<std::uint64_t>(p.node) << 32) | p.index; }

// Returns those of `ports` whose closure has effects that the key's base lacks.
std::vector<Port> structural_of(const NodeGraph& graph, const PlanKey& base, const std::vector<Port>& ports);

// Running the plan reports an unfed placeholder, and a feed of another dtype or shape.
std::unique_ptr<Plan> make_plan(const NodeGraph& graph, const PlanKey& key, const std::vector<Port>& hook_fetches);

// Returns the variable that an input names: the node of the edge or, for a write, the variable that it writes.
const Node& variable_behind(const NodeGraph& graph, Port port);

}  // namespace belay::runtime
