// SPDX-License-Identifier: Apache-2.0
// The graph: nodes with named, typed, partly shaped outputs. Open while it is built, frozen when the session is made.
//
// Graph and Output are handles: copy them freely. The functions in ops/ make nodes; Graph itself finds, asks, scopes
// and collects. [main] thread only. A wrong name, dtype or graph throws Error with both sides named.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/detail/sized.h"
#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

class Graph;

// One value that a node gives, or (operation()) the node itself as something to run. A default-made Output is empty.
class Output {
 public:
  Output() noexcept : api_(nullptr), graph_(nullptr), raw_{0, 0, 0} {}
  Output(const belay_graph_api* api, belay_graph* graph, belay_output raw) noexcept
      : api_(api), graph_(graph), raw_(raw) {}

  explicit operator bool() const noexcept { return raw_.graph != 0; }
  const belay_output& raw() const noexcept { return raw_; }
  bool is_operation() const noexcept { return raw_.index == BELAY_OPERATION; }
  inline Graph graph() const;

  DType dtype() const { return static_cast<DType>(info().dtype); }
  // Rank, or -1 where it is not known.
  std::int32_t rank() const { return info().rank; }
  // Dimensions with -1 for unknown ones; empty where the rank is not known (see rank()).
  Dims dims() const {
    const belay_output_info i = info();
    return i.rank <= 0 ? Dims{} : Dims(i.dims, i.dims + i.rank);
  }
  std::int64_t dim(std::int32_t axis) const {
    const belay_output_info i = info();
    const std::int32_t a = axis < 0 ? axis + i.rank : axis;
    return i.rank < 0 || a < 0 || a >= i.rank ? -1 : i.dims[a];
  }
  // "scope/node:0"
  std::string name() const { return std::string(detail::view(info().name)); }
  std::string text() const {
    const belay_output_info i = info();
    return "'" + std::string(detail::view(i.name)) + "' (" + dtype_name(static_cast<DType>(i.dtype)) + " " +
           dims_text(i.dims, i.rank) + ")";
  }
  // The node as an operation: for control dependencies, train operations, fetches without a value.
  Output operation() const noexcept { return Output(api_, graph_, {raw_.graph, raw_.node, BELAY_OPERATION}); }
  // Another output of the same node.
  Output sibling(std::uint32_t index) const noexcept { return Output(api_, graph_, {raw_.graph, raw_.node, index}); }

  friend bool operator==(const Output& a, const Output& b) noexcept {
    return a.raw_.graph == b.raw_.graph && a.raw_.node == b.raw_.node && a.raw_.index == b.raw_.index;
  }
  friend bool operator!=(const Output& a, const Output& b) noexcept { return !(a == b); }

 private:
  belay_output_info info() const {
    if (graph_ == nullptr) fail(Code::kInvalidArgument, "an empty Output was used");
    auto out = detail::sized<belay_output_info>();
    detail::Status status;
    status.check(api_->output_info(graph_, raw_, &out, status));
    return out;
  }

  const belay_graph_api* api_;
  belay_graph* graph_;
  belay_output raw_;
};

// A fetch whose element type is known: RunValues[fetch] is a T.
template <class T>
class Fetch {
 public:
  Fetch() noexcept : raw_{0, 0, 0} {}
  explicit Fetch(const Output& output) noexcept : raw_(output.raw()) {}
  explicit operator bool() const noexcept { return raw_.graph != 0; }
  const belay_output& raw() const noexcept { return raw_; }

 private:
  belay_output raw_;
};

// Names of collections, as TensorFlow spells them.
namespace collections {
inline constexpr const char* kGlobalVariables = "variables";
inline constexpr const char* kTrainableVariables = "trainable_variables";
inline constexpr const char* kLocalVariables = "local_variables";
inline constexpr const char* kGlobalStep = "global_step";
inline constexpr const char* kSummaries = "summaries";
inline constexpr const char* kSummaryOp = "summary_op";
inline constexpr const char* kInitOp = "init_op";
inline constexpr const char* kLocalInitOp = "local_init_op";
inline constexpr const char* kReadyOp = "ready_op";
inline constexpr const char* kReadyForLocalInitOp = "ready_for_local_init_op";
inline constexpr const char* kTableInitializers = "table_initializer";
inline constexpr const char* kLosses = "losses";
inline constexpr const char* kTrainOp = "train_op";
// Of the loss, before clipping: what the host's optimizer is given, and the variables that they belong to, in the same
// order. A trainable variable that the loss does not depend on is in neither.
inline constexpr const char* kGradients = "gradients";
inline constexpr const char* kGradientVariables = "gradient_variables";
// Operations that a training step runs beside the optimizer's: a batch norm's moving averages. The host's train
// operation includes them; a model that gives its own includes them itself.
inline constexpr const char* kUpdateOps = "update_ops";
inline constexpr const char* kQueueRunners = "queue_runners";
}  // namespace collections

// A value of an attribute, for NodeBuilder.
class NodeBuilder;

class Graph {
 public:
  Graph() noexcept : api_(nullptr), self_(nullptr) {}
  Graph(const belay_graph_api* api, belay_graph* self) noexcept : api_(api), self_(self) {}

  explicit operator bool() const noexcept { return self_ != nullptr; }
  std::uint64_t serial() const { return api_->serial(self_); }
  bool finalized() const { return api_->finalized(self_) != 0; }
  const belay_graph_api* api() const noexcept { return api_; }
  belay_graph* raw() const noexcept { return self_; }
  Output output(belay_output raw) const noexcept { return Output(api_, self_, raw); }

  // By role ("loss"), node ("scope/node") or output ("scope/node:1"). An unknown name is NOT_FOUND and suggests one.
  Output find(std::string_view name) const {
    belay_output out{};
    detail::Status status;
    status.check(api_->find(self_, detail::str(name), &out, status));
    return output(out);
  }
  // Empty where there is no such name.
  Output find_if_exists(std::string_view name) const {
    belay_output out{};
    detail::Status status;
    const std::int32_t code = api_->find(self_, detail::str(name), &out, status);
    if (code == BELAY_NOT_FOUND) return Output();
    status.check(code);
    return output(out);
  }
  // As find, and announced to the host as something that runs will fetch.
  Output fetch(std::string_view name) const { return fetch(find(name)); }
  Output fetch(const Output& o) const {
    detail::Status status;
    status.check(api_->will_fetch(self_, o.raw(), status));
    return o;
  }
  template <class T>
  Fetch<T> fetch(std::string_view name) const {
    return fetch<T>(find(name), name);
  }
  template <class T>
  Fetch<T> fetch(const Output& o, std::string_view name = {}) const {
    if (o.dtype() != dtype_of<T>)
      fail(Code::kInvalidArgument, "'" + (name.empty() ? o.name() : std::string(name)) + "' is " +
                                       dtype_name(o.dtype()) + ", expected " + dtype_name(dtype_of<T>));
    return Fetch<T>(fetch(o));
  }
  // The int64 scalar that counts training steps; an error where the graph has none.
  Fetch<std::int64_t> global_step() const {
    const Output o = global_step_if_exists();
    if (!o) fail(Code::kFailedPrecondition, "the graph has no global step");
    return fetch<std::int64_t>(o, "global_step");
  }
  Output global_step_if_exists() const {
    const std::uint64_t n = collection_size(collections::kGlobalStep);
    return n == 0 ? Output() : collection_item(collections::kGlobalStep, 0);
  }

  std::uint64_t collection_size(std::string_view name) const { return api_->collection_size(self_, detail::str(name)); }
  Output collection_item(std::string_view name, std::uint64_t i) const {
    belay_output out{};
    detail::Status status;
    status.check(api_->collection_item(self_, detail::str(name), i, &out, status));
    return output(out);
  }
  std::vector<Output> collection(std::string_view name) const {
    std::vector<Output> out;
    for (std::uint64_t i = 0, n = collection_size(name); i < n; ++i) out.push_back(collection_item(name, i));
    return out;
  }
  void collect(std::string_view name, const Output& o) const {
    detail::Status status;
    status.check(api_->collect(self_, detail::str(name), o.raw(), status));
  }

  // Operation type and name of the node that gives o; its inputs.
  std::string op_of(const Output& o) const { return std::string(detail::view(node_info(o).op)); }
  std::string node_name_of(const Output& o) const { return std::string(detail::view(node_info(o).name)); }
  std::vector<Output> inputs_of(const Output& o) const {
    std::vector<Output> out;
    for (std::uint32_t i = 0, n = node_info(o).n_inputs; i < n; ++i) {
      belay_output in{};
      detail::Status status;
      status.check(api_->input(self_, o.raw().node, i, &in, status));
      out.push_back(output(in));
    }
    return out;
  }
  belay_value attr_of(const Output& o, std::string_view name) const {
    belay_value value{};
    detail::Status status;
    status.check(api_->attr(self_, o.raw().node, detail::str(name), &value, status));
    return value;
  }

  // The sum of ys (weighted by grad_ys, if given) differentiated with respect to each of xs. An empty Output where it
  // does not depend on x.
  std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                const std::vector<Output>& grad_ys = {}) const {
    std::vector<belay_output> y = raws(ys), x = raws(xs), g = raws(grad_ys), out(xs.size());
    detail::Status status;
    status.check(api_->gradients(self_, y.data(), y.size(), g.empty() ? nullptr : g.data(), x.data(), x.size(),
                                 out.data(), status));
    std::vector<Output> result;
    result.reserve(out.size());
    for (const belay_output& o : out) result.push_back(o.graph == 0 ? Output() : output(o));
    return result;
  }

  // Nodes made while the scope lives are named "name/..."; the name is made unique.
  class Scope {
   public:
    Scope(const Graph& g, std::string_view name) : api_(g.api_), graph_(g.self_) {
      detail::Status status;
      status.check(api_->enter_scope(graph_, detail::str(name), status));
    }
    ~Scope() { api_->leave_scope(graph_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const belay_graph_api* api_;
    belay_graph* graph_;
  };
  // Nodes made while the scope lives run after these.
  class ControlScope {
   public:
    ControlScope(const Graph& g, const std::vector<Output>& after) : api_(g.api_), graph_(g.self_) {
      const std::vector<belay_output> raw = raws(after);
      detail::Status status;
      status.check(api_->enter_control(graph_, raw.data(), raw.size(), status));
    }
    ~ControlScope() { api_->leave_control(graph_); }
    ControlScope(const ControlScope&) = delete;
    ControlScope& operator=(const ControlScope&) = delete;

   private:
    const belay_graph_api* api_;
    belay_graph* graph_;
  };
  // Nodes made while it lives are a body: a named part of the graph that a node such as Cond runs (ops/control_flow.h).
  class Body {
   public:
    Body(const Graph& g, std::string_view name) : api_(g.api_), graph_(g.self_) {
      detail::Status status;
      status.check(api_->begin_body(graph_, detail::str(name), status));
    }
    ~Body() {
      detail::Status status;
      if (!ended_) api_->end_body(graph_, nullptr, 0, nullptr, status);
    }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    // What the body gives; at least one. Returns its full name, for the node that runs it.
    std::string end(const std::vector<Output>& outputs) {
      if (outputs.empty()) fail(Code::kInvalidArgument, "a body of a cond or while loop must give at least one output");
      const std::vector<belay_output> raw = raws(outputs);
      belay_str name{};
      detail::Status status;
      ended_ = true;
      status.check(api_->end_body(graph_, raw.data(), raw.size(), &name, status));
      return std::string(detail::view(name));
    }

   private:
    const belay_graph_api* api_;
    belay_graph* graph_;
    bool ended_ = false;
  };
  [[nodiscard]] Body body(std::string_view name) const { return Body(*this, name); }
  [[nodiscard]] Scope scope(std::string_view name) const { return Scope(*this, name); }
  [[nodiscard]] ControlScope after(const std::vector<Output>& outputs) const { return ControlScope(*this, outputs); }

  inline NodeBuilder node(std::string_view op, std::string_view name = {}) const;

  static std::vector<belay_output> raws(const std::vector<Output>& outputs) {
    std::vector<belay_output> raw;
    raw.reserve(outputs.size());
    for (const Output& o : outputs) raw.push_back(o.raw());
    return raw;
  }

 private:
  belay_node_info node_info(const Output& o) const {
    auto info = detail::sized<belay_node_info>();
    detail::Status status;
    status.check(api_->node_info(self_, o.raw().node, &info, status));
    return info;
  }

  const belay_graph_api* api_;
  belay_graph* self_;
};

inline Graph Output::graph() const { return Graph(api_, graph_); }

// Makes one node: g.node("Add", name).in(a).in(b).output().
class NodeBuilder {
 public:
  NodeBuilder(const Graph& graph, std::string_view op, std::string_view name) : graph_(graph), op_(op), name_(name) {}

  NodeBuilder& in(const Output& o) {
    inputs_.push_back(o.raw());
    return *this;
  }
  NodeBuilder& in(const std::vector<Output>& outputs) {
    for (const Output& o : outputs) inputs_.push_back(o.raw());
    return *this;
  }
  NodeBuilder& control(const Output& o) {
    controls_.push_back(o.operation().raw());
    return *this;
  }
  NodeBuilder& attr(std::string_view name, bool v) { return number(name, BELAY_VALUE_BOOL, v ? 1 : 0); }
  NodeBuilder& attr(std::string_view name, int v) { return number(name, BELAY_VALUE_INT, v); }
  NodeBuilder& attr(std::string_view name, std::int64_t v) { return number(name, BELAY_VALUE_INT, v); }
  NodeBuilder& attr(std::string_view name, DType v) {
    return number(name, BELAY_VALUE_INT, static_cast<std::int64_t>(v));
  }
  NodeBuilder& attr(std::string_view name, double v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_FLOAT, {}, {v}, {}, {}});
    return *this;
  }
  NodeBuilder& attr(std::string_view name, std::string_view v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_TEXT, {}, {}, {std::string(v)}, {}});
    return *this;
  }
  NodeBuilder& attr(std::string_view name, const char* v) { return attr(name, std::string_view(v)); }
  NodeBuilder& attr(std::string_view name, const std::vector<std::int64_t>& v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_INT | BELAY_VALUE_LIST, v, {}, {}, {}});
    return *this;
  }
  NodeBuilder& attr(std::string_view name, const std::vector<DType>& v) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(v.size());
    for (const DType t : v) numbers.push_back(static_cast<std::int64_t>(t));
    return attr(name, numbers);
  }
  NodeBuilder& attr(std::string_view name, const std::vector<std::string>& v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_TEXT | BELAY_VALUE_LIST, {}, {}, v, {}});
    return *this;
  }
  NodeBuilder& attr(std::string_view name, const Tensor& v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_TENSOR, {}, {}, {}, {v}});
    return *this;
  }

  // Adds the node and gives its first output (or the node as an operation, where it has no outputs: operation()).
  Output output(std::uint32_t index = 0) { return graph_.output({graph_.serial(), add(), index}); }
  Output operation() { return output(BELAY_OPERATION); }

 private:
  struct Attr {
    std::string name;
    std::int32_t type;
    std::vector<std::int64_t> ints;
    std::vector<double> floats;
    std::vector<std::string> texts;
    std::vector<Tensor> tensors;
  };

  NodeBuilder& number(std::string_view name, std::int32_t type, std::int64_t v) {
    attrs_.push_back({std::string(name), type, {v}, {}, {}, {}});
    return *this;
  }

  std::uint32_t add() {
    std::vector<belay_named_value> values;
    std::vector<std::vector<belay_str>> texts(attrs_.size());
    std::vector<belay_tensor> tensors(attrs_.size());
    for (std::size_t i = 0; i < attrs_.size(); ++i) {
      const Attr& a = attrs_[i];
      belay_value v{a.type, 0, 0, nullptr};
      switch (a.type & ~BELAY_VALUE_LIST) {
        case BELAY_VALUE_FLOAT: v.count = a.floats.size(), v.data = a.floats.data(); break;
        case BELAY_VALUE_TEXT:
          for (const std::string& t : a.texts) texts[i].push_back(detail::str(t));
          v.count = texts[i].size(), v.data = texts[i].data();
          break;
        case BELAY_VALUE_TENSOR:
          tensors[i] = a.tensors[0].view();
          v.count = 1, v.data = &tensors[i];
          break;
        default: v.count = a.ints.size(), v.data = a.ints.data(); break;
      }
      values.push_back({detail::str(a.name), v});
    }
    auto def = detail::sized<belay_node_def>();
    def.op = detail::str(op_);
    def.name = detail::str(name_);
    def.inputs = inputs_.data(), def.n_inputs = inputs_.size();
    def.control_inputs = controls_.data(), def.n_control_inputs = controls_.size();
    def.attrs = values.data(), def.n_attrs = values.size();
    std::uint32_t node = 0;
    detail::Status status;
    status.check(graph_.api()->add_node(graph_.raw(), &def, &node, status));
    return node;
  }

  const Graph graph_;
  std::string op_;
  std::string name_;
  std::vector<belay_output> inputs_;
  std::vector<belay_output> controls_;
  std::vector<Attr> attrs_;
};

inline NodeBuilder Graph::node(std::string_view op, std::string_view name) const {
  return NodeBuilder(*this, op, name);
}

}  // namespace v0
}  // namespace belay
