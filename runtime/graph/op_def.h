// SPDX-License-Identifier: Apache-2.0
// Defines an operation: its attributes, its shape rule, its gradient and its kernel. The definitions are in
// runtime/ops/, one file per family. A registry is an object, built from an explicit list of families and passed on.
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

// A shape rule's view of a node. The rule runs while the graph is built (partial shapes), and again when a plan is
// specialised (concrete ones). It also checks dtypes.
class InferContext {
 public:
  // `graph` is the graph of the node. Only operations with bodies need it.
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

  // Fails if no memory can hold it.
  void output(DType dtype, Shape shape);
  std::vector<std::pair<DType, Shape>>& outputs() noexcept { return outputs_; }

  // Fails with "node 'dense/MatMul' (MatMul): " and `text`.
  [[noreturn]] void fail(const std::string& text) const;
  // Describes input i for a message: "input 1 (float32 [2, ?])".
  std::string input_text(std::size_t i) const;

  // These checks fail with the expected and the found value.
  void need_rank(std::size_t i, std::int32_t rank) const;
  void need_scalar(std::size_t i) const { need_rank(i, 0); }
  void need_dtype(std::size_t i, DType dtype) const;
  void need_same_dtype(std::size_t i, std::size_t j) const;
  void need_float(std::size_t i) const;   // float32 or float64
  void need_number(std::size_t i) const;  // any but bool and string
  // Returns an axis attribute, -rank..rank-1, as 0..rank-1.
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

// The shape rule of operations that count something.
inline void infer_count(InferContext& c) { c.output(DType::kInt64, Shape{}); }

// A gradient function's view: the node's inputs, outputs and incoming gradients. The function adds nodes and sets the
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
  // Returns the incoming gradient of output i; empty: there is none.
  const Output& grad(std::size_t i = 0) const noexcept { return grads_[i]; }
  // False: input i's gradient is not needed, so no node should be added for it.
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

// The effects of a node besides computing its outputs from its inputs.
enum class Effect {
  kNone,      // depends only on its inputs and attributes
  kRandom,    // also depends on the stream: never merged or folded
  kVariable,  // is a variable: its output is the value at the time of the read
  kQuery,     // asks about a variable (is it initialized?) without reading its value
  kWrite,     // writes variables, in the commit section
  kBlocking,  // may wait (queues): never under the store's gate
  kState,     // changes other session state (closes a queue) without waiting
};

// A node's role for the graph and its sessions, besides computing. Most operations have none.
enum class Role {
  kNone,
  kConstant,     // its value is its attribute `value`
  kPlaceholder,  // a run feeds its value
  kBodyInput,    // its value comes from outside of the body
  kIdentity,     // has its input's value under a separate name
  kAssign,       // sets the variable of input 0 without reading it
  kQueue,        // is a queue of the session, made with the session
  kTable,        // is a hash table of the session
  kStepMean,     // its inputs run once for each batch of a step
};

// For OpDef.ref_inputs: every input names a variable.
inline constexpr std::uint32_t kAllInputs = 0xffffffff;

struct OpDef {
  std::string name;
  std::string doc;
  // For docs/reference/ops.md: the names of the inputs ("x, scale"; "xs..." for any number), and the dtypes that the
  // operation takes.
  std::string inputs = {};
  std::string dtypes = {};
  int n_inputs = 0;  // -1: any number
  // All attributes that its nodes may have.
  std::vector<AttrDef> attrs = {};
  // True: its shape rule checks its nodes' attributes. A plugin's operation does so, since its note declares them.
  bool checks_attrs = false;
  Role role = Role::kNone;
  Effect effect = Effect::kNone;
  // Bit i: input i names a variable (kWrite, kQuery) and is not read through the edge.
  std::uint32_t ref_inputs = 0;
  // Bit i: only the shape of input i matters. Its value need not exist any more.
  std::uint32_t shape_inputs = 0;
  // Bit i: output 0 may lie in the memory of input i, if that is not used later and has the same size.
  std::uint32_t in_place = 0;
  // Output 0 is input 0's memory with another shape: no kernel runs.
  bool alias = false;
  // Element-wise: output 0 has the broadcast shape of the inputs.
  bool elementwise = false;
  // Output dims depend on the values, not on the inputs' dims (a dequeue). The operation ends a stage.
  bool dynamic_shape = false;
  void (*infer)(InferContext&) = nullptr;
  // Null: no gradient passes. Wanting one is an error, unless stops_gradient is true.
  void (*gradient)(GradContext&) = nullptr;
  bool stops_gradient = false;
  // Null: nothing runs (variables, placeholders, constants, aliases).
  std::unique_ptr<Kernel> (*kernel)(const KernelSpec&) = nullptr;
  // Makes the float32 kernel of this operation with the bias, activation or pooling after it
  // (runtime/session/fusion.h). Null: it fuses with nothing.
  std::unique_ptr<Kernel> (*fused_kernel)(const KernelSpec&) = nullptr;
  // Replaces `kernel` if the operation waits, or if only running shows its output dims.
  std::unique_ptr<HostKernel> (*host_kernel)(const KernelSpec&) = nullptr;
  // Attributes that name bodies (belay_graph_api.begin_body). Their captures become inputs after the others.
  std::vector<std::string> bodies = {};
  // Set for a plugin's operation; null: the operation is the engine's.
  std::shared_ptr<PluginOp> plugin = nullptr;
};

class OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;
  void add(OpDef def);
  // Returns null if it is unknown.
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted

 private:
  std::unordered_map<std::string, std::unique_ptr<OpDef>> ops_;
};

}  // namespace belay::runtime
