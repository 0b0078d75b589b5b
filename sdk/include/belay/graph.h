// SPDX-License-Identifier: Apache-2.0
// The graph: nodes with named, typed, partly shaped outputs. It is open while it is built, and frozen when the session
// is made. A change of a frozen graph fails with FAILED_PRECONDITION and the node's name.
//
// Graph and Output are handles: copy them freely. The functions in ops/ make nodes and infer dtype and shape at once.
// So a wrong shape is an error at the line that made it. Graph itself finds nodes, describes them, and opens scopes and
// collections:
//
//    const auto scope = graph.scope("head");                       // names begin with "head/"
//    belay::Output y = ops::dense(x, 10);                          // "head/dense/..."
//    graph.collect(belay::collections::kUpdateOps, moved);         // for others to find
//    const auto fetch = graph.fetch<float>("loss");                // for RunValues[fetch]
//
// Names. A node is "scope/node"; its outputs are "scope/node:0", "scope/node:1". A model's role ("loss", a prediction,
// a metric) is another name for one of them. Hooks' options and Graph::find take all three. Look up names in begin, not
// in a step: a step takes the Output or Fetch.
//
// Shapes. A dimension that only a run knows (a batch) is -1; an unknown rank is -1. A run checks everything that
// depends on an unknown one. Its error names the node too.
//
// Threads: [main] only, in the callbacks that get a graph (Model::build, Hook::begin, callbacks of optimizers and
// schedules). A handle of the training's graph stays valid as a name for fetches until the plugin's destructor; a
// recovery keeps the graph.
//
// Errors. A wrong name is NOT_FOUND with the nearest name. A wrong dtype or shape, or a node of another graph, is
// INVALID_ARGUMENT with both sides named.
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

// One value that a node computes, or the node itself as an operation to run (operation()). It holds three numbers and
// two pointers. A default-made Output is empty: it converts to false, and every question to it is INVALID_ARGUMENT.
class Output {
 public:
  Output() noexcept : api_(nullptr), graph_(nullptr), raw_{0, 0, 0} {}
  // For the SDK: programs get Outputs from Graph and from ops/.
  Output(const belay_graph_api* api, belay_graph* graph, belay_output raw) noexcept
      : api_(api), graph_(graph), raw_(raw) {}

  // False for a default-made Output, which names nothing.
  explicit operator bool() const noexcept { return raw_.graph != 0; }
  // Returns the struct that crosses the C boundary. Valid as long as this object.
  const belay_output& raw() const noexcept { return raw_; }
  // True for a node to run, which is not a value. It has no dtype and no shape, and cannot be an input of a node.
  bool is_operation() const noexcept { return raw_.index == BELAY_OPERATION; }
  // The graph of this output.
  inline Graph graph() const;

  // Element type; kInvalid for an operation.
  DType dtype() const { return static_cast<DType>(info().dtype); }
  // Rank; -1: not known.
  std::int32_t rank() const { return info().rank; }
  // Dimensions, with -1 for unknown ones. Empty if the rank is not known (see rank()).
  Dims dims() const {
    const belay_output_info i = info();
    return i.rank <= 0 ? Dims{} : Dims(i.dims, i.dims + i.rank);
  }
  // Dimension `axis`; a negative axis counts from the last. -1: the dimension is not known, or the axis does not exist.
  std::int64_t dim(std::int32_t axis) const {
    const belay_output_info i = info();
    const std::int32_t a = axis < 0 ? axis + i.rank : axis;
    return i.rank < 0 || a < 0 || a >= i.rank ? -1 : i.dims[a];
  }
  // "scope/node:0", or "scope/node" for an operation. Graph::find and a manifest take this name.
  std::string name() const { return std::string(detail::view(info().name)); }
  // The output for messages: "'scope/node:0' (float32 [?, 10])".
  std::string text() const {
    const belay_output_info i = info();
    return "'" + std::string(detail::view(i.name)) + "' (" + dtype_name(static_cast<DType>(i.dtype)) + " " +
           dims_text(i.dims, i.rank) + ")";
  }
  // The node as an operation, for control dependencies, train operations and fetches without a value.
  Output operation() const noexcept { return Output(api_, graph_, {raw_.graph, raw_.node, BELAY_OPERATION}); }
  // Another output of the same node. A use of it checks that it exists.
  Output sibling(std::uint32_t index) const noexcept { return Output(api_, graph_, {raw_.graph, raw_.node, index}); }

  // True if both handles name the same output of the same graph. ops::equal makes a node that compares elements.
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

// A fetch of a known element type: RunValues[fetch] is a T. Graph::fetch<T> makes it and checks the dtype.
//
//   loss_ = graph.fetch<float>("loss");                            // in begin
//   RunArgs before_run(RunContext&) override { return {loss_}; }
//   void after_run(RunContext&, const RunValues& values) override { const float loss = values[loss_]; }
//
// It is empty until it is assigned. For strings use Fetch<std::string_view>, whose values are valid as long as
// RunValues.
template <class T>
class Fetch {
 public:
  Fetch() noexcept : raw_{0, 0, 0} {}
  // Makes a fetch without announcing or checking it, for an output of dtype T.
  explicit Fetch(const Output& output) noexcept : raw_(output.raw()) {}
  explicit operator bool() const noexcept { return raw_.graph != 0; }
  // Returns the struct that crosses the C boundary.
  const belay_output& raw() const noexcept { return raw_; }

 private:
  belay_output raw_;
};

// Names of collections, with TensorFlow's spelling. A collection is an ordered list of outputs that parts of a program
// share under its name. The first collect makes it. Programs may add collections with other names.
//
//   const std::vector<Output> gradients = graph.collection(collections::kGradients);            // in Hook::begin
//   const std::vector<Output> variables = graph.collection(collections::kGradientVariables);
//   for (std::size_t i = 0; i < gradients.size(); ++i)
//     ops::histogram_summary(graph.node_name_of(variables[i]) + "_gradient", gradients[i]);
//
// ops/variables.h fills the variables' collections, ops/summaries.h fills kSummaries. kSummaryOp to
// kReadyForLocalInitOp are pieces of a session. The host makes the default of a piece that the model did not collect.
// Two items in one of these collections are FAILED_PRECONDITION.
namespace collections {
// Every variable that checkpoints hold.
inline constexpr const char* kGlobalVariables = "variables";
// The global variables that the optimizer changes.
inline constexpr const char* kTrainableVariables = "trainable_variables";
// Variables of one session, in no checkpoint: counters of an evaluation.
inline constexpr const char* kLocalVariables = "local_variables";
// The int64 scalar that counts training steps; one item.
inline constexpr const char* kGlobalStep = "global_step";
// Summaries; the default kSummaryOp merges them into one message.
inline constexpr const char* kSummaries = "summaries";
// The operation that summary_saver runs.
inline constexpr const char* kSummaryOp = "summary_op";
// Runs once if there is no checkpoint to restore. Default: the initial values of all global variables.
inline constexpr const char* kInitOp = "init_op";
// Runs for every session, when kReadyForLocalInitOp names nothing. Default: the local variables and the tables.
inline constexpr const char* kLocalInitOp = "local_init_op";
// A string vector: the names of variables that are not initialized. The session is ready when it is empty.
inline constexpr const char* kReadyOp = "ready_op";
// The same vector, evaluated before kLocalInitOp runs. Default: the global variables alone.
inline constexpr const char* kReadyForLocalInitOp = "ready_for_local_init_op";
// Operations that fill tables; part of the default kLocalInitOp.
inline constexpr const char* kTableInitializers = "table_initializer";
// TensorFlow's name for the parts of a loss. The host neither fills nor reads it.
inline constexpr const char* kLosses = "losses";
// The operation of a training step, made by the host's optimizer.
inline constexpr const char* kTrainOp = "train_op";
// The tensors of the training input's batch, features and labels. Their first dimension is the batch size.
inline constexpr const char* kInputBatch = "input_batch";
// The gradients of the loss before clipping, which the host's optimizer takes, and their variables in the same order.
// Neither has a trainable variable that the loss does not depend on. If the optimizer takes a gradient as rows with
// ids (belay/ops/indexed_slices.h), the rows are here. Rows that are left over are 0, so norms and checks are right.
inline constexpr const char* kGradients = "gradients";
inline constexpr const char* kGradientVariables = "gradient_variables";
// Operations that a training step also runs: a batch norm's moving averages. The host's train operation includes them.
// A model with its own train operation must include them itself.
inline constexpr const char* kUpdateOps = "update_ops";
// TensorFlow's name. The host keeps its queue runners outside the graph's collections.
inline constexpr const char* kQueueRunners = "queue_runners";
}  // namespace collections

class NodeBuilder;

// A handle of the host's graph; it owns nothing. Its functions are const because the handle does not change. A
// default-made Graph converts to false; every other use of it is undefined.
class Graph {
 public:
  Graph() noexcept : api_(nullptr), self_(nullptr) {}
  Graph(const belay_graph_api* api, belay_graph* self) noexcept : api_(api), self_(self) {}

  // False for a default-made Graph.
  explicit operator bool() const noexcept { return self_ != nullptr; }
  // The graph's number in this process, never 0. The host uses it to detect an output of another graph.
  std::uint64_t serial() const { return api_->serial(self_); }
  // True if the graph is frozen: a session over it exists.
  bool finalized() const { return api_->finalized(self_) != 0; }
  const belay_graph_api* api() const noexcept { return api_; }
  belay_graph* raw() const noexcept { return self_; }
  // Makes a handle for a raw output. A use of it checks it.
  Output output(belay_output raw) const noexcept { return Output(api_, self_, raw); }

  // Finds an output by a role of the model ("loss"), a node's name ("scope/node") or its own name ("scope/node:1"), in
  // this order. A node without outputs is found as an operation. NOT_FOUND, with the nearest name: the name is unknown.
  // INVALID_ARGUMENT: a node of several outputs without ":i".
  //
  //   graph.find("loss")             the role
  //   graph.find("dense/kernel")     output 0 of the node, its only output
  //   graph.find("TopK:1")           the indices of a top_k
  //   graph.find("train/advance_global_step")
  Output find(std::string_view name) const {
    belay_output out{};
    detail::Status status;
    status.check(api_->find(self_, detail::str(name), &out, status));
    return output(out);
  }
  // Works like find, but returns an empty output if the name is unknown. Other errors stay errors.
  Output find_if_exists(std::string_view name) const {
    belay_output out{};
    detail::Status status;
    const std::int32_t code = api_->find(self_, detail::str(name), &out, status);
    if (code == BELAY_NOT_FOUND) return Output();
    status.check(code);
    return output(out);
  }
  // Works like find, and announces the output to the host as a later fetch. This is optional. It saves a second plan at
  // the first run with that fetch, so call it in Hook::begin.
  Output fetch(std::string_view name) const { return fetch(find(name)); }
  // The output must not be inside a body of a cond or while loop.
  Output fetch(const Output& o) const {
    detail::Status status;
    status.check(api_->will_fetch(self_, o.raw(), status));
    return o;
  }
  // Does the same with a check of the element type. INVALID_ARGUMENT, with both types: the dtype is not T.
  template <class T>
  Fetch<T> fetch(std::string_view name) const {
    return fetch<T>(find(name), name);
  }
  // Does the same for an output. name: the message uses it in place of the output's name.
  template <class T>
  Fetch<T> fetch(const Output& o, std::string_view name = {}) const {
    if (o.dtype() != dtype_of<T>)
      fail(Code::kInvalidArgument, "'" + (name.empty() ? o.name() : std::string(name)) + "' is " +
                                       dtype_name(o.dtype()) + ", expected " + dtype_name(dtype_of<T>));
    return Fetch<T>(fetch(o));
  }
  // The int64 scalar that counts training steps, announced as a fetch. FAILED_PRECONDITION: the graph has none.
  Fetch<std::int64_t> global_step() const {
    const Output o = global_step_if_exists();
    if (!o) fail(Code::kFailedPrecondition, "the graph has no global step");
    return fetch<std::int64_t>(o, "global_step");
  }
  // The global step; empty if the graph has none. It is not announced.
  Output global_step_if_exists() const {
    const std::uint64_t n = collection_size(collections::kGlobalStep);
    return n == 0 ? Output() : collection_item(collections::kGlobalStep, 0);
  }

  // Number of items in the collection; also 0 if the collection does not exist.
  std::uint64_t collection_size(std::string_view name) const { return api_->collection_size(self_, detail::str(name)); }
  // Item i in the order of collecting. INVALID_ARGUMENT: i >= collection_size.
  Output collection_item(std::string_view name, std::uint64_t i) const {
    belay_output out{};
    detail::Status status;
    status.check(api_->collection_item(self_, detail::str(name), i, &out, status));
    return output(out);
  }
  // All items in that order.
  std::vector<Output> collection(std::string_view name) const {
    std::vector<Output> out;
    for (std::uint64_t i = 0, n = collection_size(name); i < n; ++i) out.push_back(collection_item(name, i));
    return out;
  }
  // Appends an output or an operation; a second call appends it again. FAILED_PRECONDITION: the graph is frozen.
  // INVALID_ARGUMENT: the output is inside a body.
  void collect(std::string_view name, const Output& o) const {
    detail::Status status;
    status.check(api_->collect(self_, detail::str(name), o.raw(), status));
  }

  // The operation type ("MatMul") of the node that makes o.
  std::string op_of(const Output& o) const { return std::string(detail::view(node_info(o).op)); }
  // The node's name without an output's ":0".
  std::string node_name_of(const Output& o) const { return std::string(detail::view(node_info(o).name)); }
  // The node's data inputs in order, without control inputs. A node that runs bodies has the captured outputs after
  // them.
  //
  //   for (Output o = loss; graph.op_of(o) == "Identity";) o = graph.inputs_of(o)[0];      // the value without
  //   identities
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
  // An attribute that was set on the node. bool and DType come as integers. Views in it are valid until this thread's
  // next call on a graph: copy at once. NOT_FOUND: it was not set, so its default applies.
  belay_value attr_of(const Output& o, std::string_view name) const {
    belay_value value{};
    detail::Status status;
    status.check(api_->attr(self_, o.raw().node, detail::str(name), &value, status));
    return value;
  }

  // Differentiates the sum of ys with respect to each of xs, like TensorFlow's tf.gradients. grad_ys weight ys element
  // by element (empty: ones). It adds nodes under the scope "gradients". The results have the shapes of xs.
  //
  //   const std::vector<Output> d = g.gradients({loss}, {w, b});        // d[0] is d loss / d w
  //   if (!d[0]) ...                                                    // the loss does not depend on w
  //
  // * ys must be floating-point tensors, else INVALID_ARGUMENT. grad_ys has no element, or one for each of ys.
  // * A result is an empty Output if no path of floating-point tensors leads from x to a y. It is also empty if an
  //   operation on the path stops gradients.
  // * An operation on the path without a gradient ("error" in docs/reference/ops.md) is INVALID_ARGUMENT. It is
  //   UNIMPLEMENTED if only an implementation is missing so far. Both errors name the node.
  // * Several paths are added (AddN). Gradients of gradients work if every operation on the path has them.
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

  // Nodes made while the scope lives get names "name/...". The name is made unique ("name_1"). Scopes nest. Keep the
  // scope in a variable, or it ends with the statement:
  //
  //   const auto outer = g.scope("encoder");
  //   for (int i = 0; i < 2; ++i) {
  //     const auto inner = g.scope("layer");           // "encoder/layer", "encoder/layer_1"
  //     x = ops::dense(x, 64);                         // "encoder/layer/dense/kernel", "encoder/layer_1/dense/kernel"
  //   }
  //
  // Scopes end in the reverse order of their creation. The name of a scope or node begins with a letter, a digit, . or
  // _ and has only letters, digits and . _ - / \ > in it. INVALID_ARGUMENT: another name.
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
  // Nodes made while the scope lives run after these outputs. A run that needs one of the new nodes runs these first,
  // with or without a use of their values. Inner scopes add theirs; a Body begins without any.
  //
  //   const Output step = ops::assign_add(counter, one);
  //   const auto after = g.after({step});
  //   const Output now = ops::identity(counter);       // the new value
  //
  // Earlier nodes do not change, even if an operation inside uses them.
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
  // Nodes made while it lives are a body: a named part of the graph that a node such as Cond runs. ops/control_flow.h
  // makes bodies in this way:
  //
  //   belay::Graph::Body body = g.body("double");
  //   const std::string name = body.end({ops::add(x, x)});           // x is from outside: captured
  //   node.attr("then_body", name);                                  // of a NodeBuilder of "Cond"
  //
  // An outer output that a node inside uses is captured: it becomes an input of the node that runs the body. Outer
  // control dependencies do not apply inside. Only nodes that compute are allowed inside. Variables, placeholders,
  // writes, waits, random numbers and summaries are INVALID_ARGUMENT. No output inside can be used, fetched or
  // collected outside; use the outputs of the node that runs the body. A body that ends without end() is closed and
  // unusable.
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
    // Sets the body's outputs: at least one, values and not operations. Returns its full name, for the attribute of the
    // node that runs it. Add that node at the place of begin: outside bodies, or in the same body.
    std::string end(const std::vector<Output>& outputs) {
      if (outputs.empty())
        fail(Code::kInvalidArgument, "a body of a cond or while loop must return at least one output");
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
  // The three scopes as functions. Keep the result in a variable, because the scope ends when it is destroyed.
  [[nodiscard]] Body body(std::string_view name) const { return Body(*this, name); }
  [[nodiscard]] Scope scope(std::string_view name) const { return Scope(*this, name); }
  [[nodiscard]] ControlScope after(const std::vector<Output>& outputs) const { return ControlScope(*this, outputs); }

  // Begins a node of any operation by its name (docs/reference/ops.md, or a plugin's). name: a hint, made unique in the
  // current scope; empty: the operation's own name. NodeBuilder::output() or operation() adds the node.
  inline NodeBuilder node(std::string_view op, std::string_view name = {}) const;

  // Makes arrays for the C boundary.
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

// Makes one node: g.node("Add", name).in(a).in(b).output(). The calls before the last may come in any order. Inputs are
// numbered in the order of their calls.
//
//    const belay::Output y = g.node("Conv2D", "c").in(x).in(filter).attr("padding", "SAME")
//                                .attr("strides", std::vector<std::int64_t>{1, 2, 2, 1}).output();
class NodeBuilder {
 public:
  NodeBuilder(const Graph& graph, std::string_view op, std::string_view name) : graph_(graph), op_(op), name_(name) {}

  // Adds the next data input: a value of the same graph. The node's addition refuses an operation here.
  NodeBuilder& in(const Output& o) {
    inputs_.push_back(o.raw());
    return *this;
  }
  // Adds all of them as the next inputs.
  NodeBuilder& in(const std::vector<Output>& outputs) {
    for (const Output& o : outputs) inputs_.push_back(o.raw());
    return *this;
  }
  // Makes the node run after o's node, without a use of its value.
  NodeBuilder& control(const Output& o) {
    controls_.push_back(o.operation().raw());
    return *this;
  }
  // Sets an attribute to a copy of the value. The type must be the operation's; docs/reference/ops.md lists attributes
  // and defaults. This overload sets a flag: "transpose_a", "keep_dims".
  NodeBuilder& attr(std::string_view name, bool v) { return number(name, BELAY_VALUE_BOOL, v ? 1 : 0); }
  // Sets a whole number: "axis", "depth".
  NodeBuilder& attr(std::string_view name, int v) { return number(name, BELAY_VALUE_INT, v); }
  NodeBuilder& attr(std::string_view name, std::int64_t v) { return number(name, BELAY_VALUE_INT, v); }
  // Sets a dtype: "dtype" of Cast, Placeholder, Fill.
  NodeBuilder& attr(std::string_view name, DType v) {
    return number(name, BELAY_VALUE_INT, static_cast<std::int64_t>(v));
  }
  // Sets a number: "alpha", "epsilon", "rate". The operation also accepts a whole number for it.
  NodeBuilder& attr(std::string_view name, double v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_FLOAT, {}, {v}, {}, {}});
    return *this;
  }
  // Sets a string: "padding", "data_format", "tag".
  NodeBuilder& attr(std::string_view name, std::string_view v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_TEXT, {}, {}, {std::string(v)}, {}});
    return *this;
  }
  // Sets a string literal, which would otherwise convert to bool.
  NodeBuilder& attr(std::string_view name, const char* v) { return attr(name, std::string_view(v)); }
  // Sets whole numbers or dimensions: "axes", "strides", "shape" (-1: unknown).
  NodeBuilder& attr(std::string_view name, const std::vector<std::int64_t>& v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_INT | BELAY_VALUE_LIST, v, {}, {}, {}});
    return *this;
  }
  // Sets dtypes: those of a queue's components.
  NodeBuilder& attr(std::string_view name, const std::vector<DType>& v) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(v.size());
    for (const DType t : v) numbers.push_back(static_cast<std::int64_t>(t));
    return attr(name, numbers);
  }
  // Sets strings, for a plugin's operation with such an option.
  NodeBuilder& attr(std::string_view name, const std::vector<std::string>& v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_TEXT | BELAY_VALUE_LIST, {}, {}, v, {}});
    return *this;
  }
  // Sets a tensor: "value" of Const.
  NodeBuilder& attr(std::string_view name, const Tensor& v) {
    attrs_.push_back({std::string(name), BELAY_VALUE_TENSOR, {}, {}, {}, {v}});
    return *this;
  }

  // Adds the node and returns output `index`; use sibling() for the others. A second call adds a second node. The host
  // infers its shapes now. INVALID_ARGUMENT: inputs or attributes do not fit. NOT_FOUND, with the nearest name: the
  // operation is unknown. FAILED_PRECONDITION: the graph is frozen.
  Output output(std::uint32_t index = 0) { return graph_.output({graph_.serial(), add(), index}); }
  // Does the same for a node without outputs, or a node that is only run.
  Output operation() { return output(BELAY_OPERATION); }

 private:
  // One attribute until the node is added. The list of its type is filled, with one element for a value that is not a
  // list.
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

  // Passes everything to the host as views, which the host copies. Returns the node's number.
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
