// SPDX-License-Identifier: Apache-2.0
// What an operation is: its attributes, its shape rule, its gradient and its kernel. The definitions are in
// runtime/ops/, one file per family; a registry is an object built from an explicit list of families and passed on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "belay/graph.h"
#include "runtime/graph/attrs.h"
#include "runtime/graph/shape.h"

namespace belay::runtime {

class Kernel;
class HostKernel;
class NodeGraph;
class PluginOp;  // runtime/graph/plugin_op.h
struct KernelSpec;
struct Node;
struct OpDef;

// What a shape rule sees of a node, while the graph is built (partial shapes) and again when a plan is specialised
// (concrete ones). It checks dtypes too.
class InferContext {
 public:
  // graph: the graph of the node; only operations with bodies need it.
  InferContext(const OpDef& op, const std::string& name, const Attrs& attrs, std::vector<DType> dtypes,
               std::vector<Shape> shapes, const NodeGraph* graph = nullptr)
      : op_(op), name_(name), attrs_(attrs), dtypes_(std::move(dtypes)), shapes_(std::move(shapes)), graph_(graph) {}

  const OpDef& op() const noexcept { return op_; }
  const std::string& node_name() const noexcept { return name_; }
  const Attrs& attrs() const noexcept { return attrs_; }
  const NodeGraph* graph() const noexcept { return graph_; }
  std::size_t n_inputs() const noexcept { return dtypes_.size(); }
  DType dtype(std::size_t i) const noexcept { return dtypes_[i]; }
  const Shape& shape(std::size_t i) const noexcept { return shapes_[i]; }

  // Fails where no memory can hold it.
  void output(DType dtype, Shape shape);
  std::vector<std::pair<DType, Shape>>& outputs() noexcept { return outputs_; }

  // The message is "node 'dense/MatMul' (MatMul): " and `text`.
  [[noreturn]] void fail(const std::string& text) const;
  // Input i described for a message: "input 1 (float32 [2, ?])".
  std::string input_text(std::size_t i) const;

  // Checks that say what was expected and found.
  void need_rank(std::size_t i, std::int32_t rank) const;
  void need_scalar(std::size_t i) const { need_rank(i, 0); }
  void need_dtype(std::size_t i, DType dtype) const;
  void need_same_dtype(std::size_t i, std::size_t j) const;
  void need_float(std::size_t i) const;   // float32 or float64
  void need_number(std::size_t i) const;  // any but bool and string
  // An axis attribute, -rank..rank-1, as 0..rank-1.
  std::size_t axis(std::int64_t axis, std::int32_t rank) const;

 private:
  const OpDef& op_;
  const std::string& name_;
  const Attrs& attrs_;
  std::vector<DType> dtypes_;
  std::vector<Shape> shapes_;
  const NodeGraph* graph_;
  std::vector<std::pair<DType, Shape>> outputs_;
};

// The shape rule of what counts something.
inline void infer_count(InferContext& c) { c.output(DType::kInt64, Shape{}); }

// What a gradient function sees: the node's inputs, outputs and the gradients that arrive; it adds nodes and sets the
// gradients of the inputs.
class GradContext {
 public:
  GradContext(belay::Graph graph, const Node& node, std::vector<Output> inputs, std::vector<Output> outputs,
              std::vector<Output> grads, std::vector<bool> wanted)
      : graph_(graph),
        node_(node),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        grads_(std::move(grads)),
        wanted_(std::move(wanted)),
        result_(inputs_.size()) {}

  const belay::Graph& graph() const noexcept { return graph_; }
  const Node& node() const noexcept { return node_; }
  const Attrs& attrs() const noexcept;
  std::size_t n_inputs() const noexcept { return inputs_.size(); }
  const Output& input(std::size_t i) const noexcept { return inputs_[i]; }
  const Output& output(std::size_t i) const noexcept { return outputs_[i]; }
  // The incoming gradient of output i; empty if there is none.
  const Output& grad(std::size_t i = 0) const noexcept { return grads_[i]; }
  // False where input i's gradient is not needed: no node for it then.
  bool wanted(std::size_t i) const noexcept { return wanted_[i]; }
  void set(std::size_t i, const Output& grad) { result_[i] = grad; }
  const std::vector<Output>& result() const noexcept { return result_; }

 private:
  belay::Graph graph_;
  const Node& node_;
  std::vector<Output> inputs_;
  std::vector<Output> outputs_;
  std::vector<Output> grads_;
  std::vector<bool> wanted_;
  std::vector<Output> result_;
};

// What a node does besides computing its outputs from its inputs.
enum class Effect {
  kNone,      // a function of its inputs and attributes
  kRandom,    // and of the stream: never merged or folded
  kVariable,  // is a variable: its output is the value at the time of reading
  kQuery,     // asks about a variable (initialized?) without reading its value
  kWrite,     // writes variables, in the commit section
  kBlocking,  // may wait (queues): never under the store's gate
  kState,     // touches other session state (closes a queue) without waiting
};

// What a node is to the graph and its sessions, besides something that computes. Most operations are nothing of it.
enum class Role {
  kNone,
  kConstant,     // its value is its attribute `value`
  kPlaceholder,  // its value is what a run feeds
  kBodyInput,    // its value comes into a body from outside
  kIdentity,     // its value is its input's, under its own name
  kAssign,       // sets the variable of input 0 without reading it
  kQueue,        // is a queue of the session, made when the session is
  kTable,        // is a hash table of the session
  kStepMean,     // what it depends on runs once for each batch of a step
};

// For OpDef.ref_inputs: every input names a variable.
inline constexpr std::uint32_t kAllInputs = 0xffffffff;

struct OpDef {
  std::string name;
  std::string doc;
  // For docs/reference/ops.md: the names of the inputs ("x, scale"; "xs..." for any number), and the dtypes that it
  // takes.
  std::string inputs = {};
  std::string dtypes = {};
  int n_inputs = 0;  // -1: any number
  // What its nodes can be given; nothing else.
  std::vector<AttrDef> attrs = {};
  // Its shape rule checks what its nodes are given: of a plugin's operation, whose note declares it.
  bool checks_attrs = false;
  Role role = Role::kNone;
  Effect effect = Effect::kNone;
  // Bit i: input i names a variable (kWrite, kQuery), it is not read through the edge.
  std::uint32_t ref_inputs = 0;
  // Bit i: only the shape of input i matters, its value need not be alive.
  std::uint32_t shape_inputs = 0;
  // Bit i: output 0 may lie in the memory of input i, if that dies here and has the same size.
  std::uint32_t in_place = 0;
  // Output 0 is input 0's memory with another shape: no kernel runs.
  bool alias = false;
  // Element-wise: output 0 has the broadcast shape of the inputs.
  bool elementwise = false;
  // Output dims depend on the values, not on the inputs' dims (a dequeue): ends a segment.
  bool dynamic_shape = false;
  void (*infer)(InferContext&) = nullptr;
  // Null: no gradient passes (an error where one is wanted, unless stops_gradient).
  void (*gradient)(GradContext&) = nullptr;
  bool stops_gradient = false;
  // Null where nothing runs (variables, placeholders, constants, aliases).
  std::unique_ptr<Kernel> (*kernel)(const KernelSpec&) = nullptr;
  // Makes the float32 kernel of this operation together with the bias, activation or pooling behind it
  // (runtime/session/fusion.h). Null: nothing fuses behind it.
  std::unique_ptr<Kernel> (*fused_kernel)(const KernelSpec&) = nullptr;
  // Instead of kernel, where the operation waits or its output dims are known only afterwards.
  std::unique_ptr<HostKernel> (*host_kernel)(const KernelSpec&) = nullptr;
  // Attributes that name bodies (belay_graph_api.begin_body); their captures become inputs, behind the others.
  std::vector<std::string> bodies = {};
  // Of an operation that a plugin offers; null for the engine's own.
  std::shared_ptr<PluginOp> plugin = nullptr;
};

class OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;
  void add(OpDef def);
  // Null where it is not known.
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted

 private:
  std::unordered_map<std::string, std::unique_ptr<OpDef>> ops_;
};

}  // namespace belay::runtime
