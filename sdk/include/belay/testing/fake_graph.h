// SPDX-License-Identifier: Apache-2.0
// Service "graph" without an engine. A test declares the tensors that the plugin looks up. It then sees the tensors
// that the plugin added, collected and announced. An undeclared name, a wrong type, another graph's output or a change
// of the frozen graph fails with the host's own message.
//
//   FakeHost host;
//   FakeGraph graph(host);
//   graph.tensor<float>("losses/xent");
//   graph.role("loss", "losses/xent");
//   graph.tensor<float>("logits", {-1, 10});
//   graph.global_step();
//
// A plugin may add nodes. The fake has no shape rules. A new node has one output with the dtype and shape of its first
// input (none without an input), unless op() states otherwise. There are no gradients: use the engine for a test that
// needs them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/nearest.h"
#include "belay/testing/fake_host.h"
#include "belay/testing/stored_value.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeGraph {
 public:
  explicit FakeGraph(FakeHost& host) : host_(host), serial_(next_serial()) { host.set_service("graph", &kGraph); }
  FakeGraph(const FakeGraph&) = delete;
  FakeGraph& operator=(const FakeGraph&) = delete;

  // ---- declaring

  // Declares a node "a/b" with one output; "a/b:0", then "a/b:1" ... make a node with several. -1 in dims: unknown.
  template <class T>
  Output tensor(std::string_view name, const Dims& dims = {}) {
    return tensor(name, dtype_of<T>, dims);
  }
  // Does the same; without dims the rank is unknown.
  Output tensor(std::string_view name, DType dtype, const std::optional<Dims>& dims) {
    const std::size_t colon = name.rfind(':');
    Node& node = colon == std::string_view::npos || name.substr(colon) == ":0"
                     ? new_node("Declared", std::string(name.substr(0, colon)))
                     : named_node(std::string(name.substr(0, colon)));
    if (colon != std::string_view::npos && name.substr(colon + 1) != std::to_string(node.outputs.size()))
      fail(Code::kInvalidArgument, "declare the outputs of '" + node.name + "' in order: the next is ':" +
                                       std::to_string(node.outputs.size()) + "', not '" + std::string(name) + "'");
    return handle().output({serial_, node.id, add_output(node, dtype, dims)});
  }
  // Declares a node without outputs.
  Output operation(std::string_view name) {
    return handle().output({serial_, new_node("Declared", std::string(name)).id, BELAY_OPERATION});
  }
  // Declares the int64 scalar that counts steps, in its collection.
  Output global_step(std::string_view name = "global_step") {
    const Output step = tensor<std::int64_t>(name);
    collections_[collections::kGlobalStep].push_back(step.raw());
    return step;
  }
  // Sets the tensor of a model's role. It is found before a node of that name.
  void role(const std::string& role_name, std::string_view tensor_name) { roles_[role_name] = resolve(tensor_name); }
  void collect(const std::string& collection, std::string_view tensor_name) {
    collections_[collection].push_back(resolve(tensor_name));
  }
  // Nodes of this operation that the plugin adds have one such output.
  void op(const std::string& name, DType dtype, const std::optional<Dims>& dims) { ops_[name] = Spec{dtype, dims, {}}; }

  // ---- asking

  Graph handle() { return Graph(&kGraph, raw()); }
  belay_graph* raw() noexcept { return reinterpret_cast<belay_graph*>(this); }
  std::uint64_t serial() const noexcept { return serial_; }
  void finalize() noexcept { finalized_ = true; }
  void reopen() noexcept { finalized_ = false; }
  bool finalized() const noexcept { return finalized_; }
  // Outputs that the plugin announced to fetch (Graph::fetch), in order, each once.
  std::vector<std::string> announced() const {
    std::vector<std::string> names;
    for (const belay_output& o : announced_) names.push_back(name_of(o));
    return names;
  }
  // All outputs, including those of nodes that the plugin added.
  std::vector<Output> outputs() {
    std::vector<Output> all;
    for (const Node& n : nodes_)
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i) all.push_back(handle().output({serial_, n.id, i}));
    return all;
  }
  // All nodes, collections and open scopes, one per line. A test compares it to detect changes.
  std::string text() const {
    std::string out;
    for (const Node& n : nodes_) out += node_text(n) + "\n";
    for (const auto& [name, items] : collections_) {
      out += "collection " + name + ":";
      for (const belay_output& o : items) {
        out += ' ';
        out += name_of(o);
      }
      out += "\n";
    }
    for (const std::string& scope : scopes_) out += "open scope " + scope + "\n";
    if (!controls_.empty()) out += "open control scopes: " + std::to_string(controls_.size()) + "\n";
    return out;
  }

  // ---- for drivers

  // "scope/node" for a node with one output and for an operation, else "scope/node:1". It fails for another graph's
  // output.
  std::string name_of(const belay_output& o) const {
    const Node& n = node_of(o);
    return o.index == BELAY_OPERATION || n.outputs.size() == 1 ? n.name : n.outputs[o.index].name;
  }
  // Finds an output by role, node or output name.
  belay_output resolve(std::string_view name) const {
    if (const auto role = roles_.find(std::string(name)); role != roles_.end()) return role->second;
    const std::size_t colon = name.rfind(':');
    const auto it = by_name_.find(std::string(name.substr(0, colon)));
    if (it == by_name_.end()) fail(Code::kNotFound, "the graph has no '" + std::string(name) + "'" + suggestion(name));
    const Node& n = nodes_[it->second];
    if (colon != std::string_view::npos) {
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i)
        if (n.outputs[i].name == name) return {serial_, n.id, i};
      fail(Code::kNotFound, "node '" + n.name + "' has " + std::to_string(n.outputs.size()) +
                                " outputs, there is no '" + std::string(name) + "'");
    }
    if (n.outputs.size() > 1)
      fail(Code::kInvalidArgument,
           "'" + n.name + "' has " + std::to_string(n.outputs.size()) + " outputs; name one, as '" + n.name + ":0'");
    return {serial_, n.id, n.outputs.empty() ? BELAY_OPERATION : 0};
  }
  // Fails unless the output can have a value of this dtype and shape.
  void check_value(const belay_output& o, const Tensor& value) const {
    const Spec& spec = node_of(o).outputs.at(o.index);
    bool fits = value.dtype() == spec.dtype && (!spec.dims || spec.dims->size() == value.dims().size());
    for (std::size_t i = 0; fits && spec.dims && i < spec.dims->size(); ++i)
      fits = (*spec.dims)[i] < 0 || (*spec.dims)[i] == value.dims()[i];
    if (!fits)
      fail(Code::kInvalidArgument, "'" + name_of(o) + "' was declared " + spec_text(spec) + ", the test's value is " +
                                       dtype_name(value.dtype()) + " " + dims_text(value.dims()));
  }

 private:
  struct Spec {
    DType dtype = DType::kInvalid;
    std::optional<Dims> dims;
    std::string name;  // "scope/node:0"
  };
  struct Node {
    std::uint32_t id = 0;
    std::string op;
    std::string name;
    std::vector<belay_output> inputs;
    std::vector<belay_output> controls;
    std::map<std::string, StoredValue> attrs;
    std::vector<Spec> outputs;
  };

  static std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last{1'000'000};  // far from the numbers of an engine in the same process
    return ++last;
  }
  static std::string spec_text(const Spec& s) {
    return std::string(dtype_name(s.dtype)) + " " + (s.dims ? dims_text(*s.dims) : std::string("[...]"));
  }
  std::string node_text(const Node& n) const {
    std::string out = n.op + " " + n.name;
    for (const belay_output& in : n.inputs) out += " in " + name_of(in);
    for (const belay_output& c : n.controls) out += " after " + name_of(c);
    for (const auto& [name, value] : n.attrs) out += " " + name + "=" + value.text();
    for (const Spec& s : n.outputs) out += " -> " + spec_text(s);
    return out;
  }
  std::string suggestion(std::string_view name) const {
    std::vector<std::string> names;
    for (const auto& role : roles_) names.push_back(role.first);
    for (const Node& n : nodes_) names.push_back(n.name);
    const std::string known = nearest(name, names);
    return known.empty() ? "" : "; did you mean '" + known + "'?";
  }

  Node& new_node(std::string op, std::string name) {
    if (by_name_.count(name) != 0) fail(Code::kAlreadyExists, "'" + name + "' is declared twice");
    Node& n = nodes_.emplace_back();
    n.id = static_cast<std::uint32_t>(nodes_.size() - 1);
    n.op = std::move(op);
    n.name = std::move(name);
    by_name_[n.name] = n.id;
    return n;
  }
  Node& named_node(const std::string& name) {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) fail(Code::kNotFound, "declare '" + name + ":0' first");
    return nodes_[it->second];
  }
  static std::uint32_t add_output(Node& n, DType dtype, const std::optional<Dims>& dims) {
    n.outputs.push_back({dtype, dims, n.name + ":" + std::to_string(n.outputs.size())});
    return static_cast<std::uint32_t>(n.outputs.size() - 1);
  }
  std::string unique_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int i = 1; by_name_.count(name) != 0; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }
  const Node& node_of(const belay_output& o) const {
    if (o.graph == 0) fail(Code::kInvalidArgument, "an empty Output was used");
    if (o.graph != serial_)
      fail(Code::kInvalidArgument, "output " + std::to_string(o.index) + " of node " + std::to_string(o.node) +
                                       " is not an element of this graph: it belongs to another one");
    if (o.node >= nodes_.size()) fail(Code::kInvalidArgument, "the graph has no node " + std::to_string(o.node));
    const Node& n = nodes_[o.node];
    if (o.index != BELAY_OPERATION && o.index >= n.outputs.size())
      fail(Code::kInvalidArgument, "node '" + n.name + "' has " + std::to_string(n.outputs.size()) +
                                       " outputs, there is no output " + std::to_string(o.index));
    return n;
  }
  void require_open(const std::string& what) const {
    if (finalized_) fail(Code::kFailedPrecondition, "Graph is finalized and cannot be modified: " + what);
  }

  std::uint32_t add(const belay_node_def& def) {
    const std::string op(detail::view(def.op));
    const std::string hint(def.name.size == 0 ? op : std::string(detail::view(def.name)));
    require_open("node '" + hint + "' (" + op +
                 ") was added after the session was made; add it in begin(), or before the " + "session");
    std::vector<belay_output> inputs(def.inputs, def.inputs + def.n_inputs);
    std::vector<belay_output> controls(def.control_inputs, def.control_inputs + def.n_control_inputs);
    if (!controls_.empty()) controls.insert(controls.end(), controls_.back().begin(), controls_.back().end());
    std::map<std::string, StoredValue> attrs;
    for (std::uint64_t i = 0; i < def.n_attrs; ++i)
      attrs.emplace(std::string(detail::view(def.attrs[i].name)), StoredValue::copy(def.attrs[i].value));
    std::optional<Spec> output;
    for (const belay_output& in : inputs) {
      const Node& from = node_of(in);
      if (in.index == BELAY_OPERATION)
        fail(Code::kInvalidArgument, "'" + from.name + "' is an operation without a value; node '" + hint + "' (" + op +
                                         ") cannot take it as input " + std::to_string(&in - inputs.data()));
      if (!output) output = from.outputs[in.index];
    }
    for (const belay_output& c : controls) node_of(c);
    if (const auto known = ops_.find(op); known != ops_.end()) output = known->second;
    Node& n = new_node(op, unique_name(scopes_.empty() ? hint : scopes_.back() + "/" + hint));
    n.inputs = std::move(inputs);
    n.controls = std::move(controls);
    n.attrs = std::move(attrs);
    if (output) add_output(n, output->dtype, output->dims);
    return n.id;
  }

  // ---- the table

  static FakeGraph& from(belay_graph* raw) noexcept { return *reinterpret_cast<FakeGraph*>(raw); }
  // Runs a call of the plugin: checks the thread, turns errors into codes.
  template <class F>
  static std::int32_t call(belay_graph* raw, const char* slot, belay_status* status, F&& f) {
    return detail::guard(status, [&] {
      from(raw).host_.require_thread(std::string("graph.") + slot);
      f(from(raw));
    });
  }
  static std::uint64_t get_serial(belay_graph* raw) { return from(raw).serial_; }
  static std::int32_t is_finalized(belay_graph* raw) { return from(raw).finalized_ ? 1 : 0; }
  static std::int32_t add_node(belay_graph* raw, const belay_node_def* def, std::uint32_t* node, belay_status* status) {
    return call(raw, "add_node", status, [&](FakeGraph& g) {
      belay_node_def room;
      *node = g.add(detail::read_sized(def, room));
    });
  }
  static std::int32_t find(belay_graph* raw, belay_str name, belay_output* output, belay_status* status) {
    return call(raw, "find", status, [&](FakeGraph& g) { *output = g.resolve(detail::view(name)); });
  }
  static std::int32_t node_info(belay_graph* raw, std::uint32_t node, belay_node_info* info, belay_status* status) {
    return call(raw, "node_info", status, [&](FakeGraph& g) {
      const Node& n = g.node_of({g.serial_, node, BELAY_OPERATION});
      auto ours = detail::sized<belay_node_info>();
      ours.op = detail::str(n.op), ours.name = detail::str(n.name);
      ours.n_inputs = static_cast<std::uint32_t>(n.inputs.size());
      ours.n_outputs = static_cast<std::uint32_t>(n.outputs.size());
      detail::fill_sized(info, ours);
    });
  }
  static std::int32_t output_info(belay_graph* raw, belay_output output, belay_output_info* info,
                                  belay_status* status) {
    return call(raw, "output_info", status, [&](FakeGraph& g) {
      const Node& n = g.node_of(output);
      auto ours = detail::sized<belay_output_info>();
      ours.name = detail::str(n.name);
      if (output.index != BELAY_OPERATION) {
        const Spec& s = n.outputs[output.index];
        ours.name = detail::str(s.name);
        ours.dtype = static_cast<std::int32_t>(s.dtype);
        ours.rank = s.dims ? static_cast<std::int32_t>(s.dims->size()) : -1;
        ours.dims = s.dims ? s.dims->data() : nullptr;
      }
      detail::fill_sized(info, ours);
    });
  }
  static std::int32_t input(belay_graph* raw, std::uint32_t node, std::uint32_t index, belay_output* output,
                            belay_status* status) {
    return call(raw, "input", status, [&](FakeGraph& g) {
      const Node& n = g.node_of({g.serial_, node, BELAY_OPERATION});
      if (index >= n.inputs.size())
        fail(Code::kInvalidArgument, "node '" + n.name + "' has " + std::to_string(n.inputs.size()) +
                                         " inputs, there is no input " + std::to_string(index));
      *output = n.inputs[index];
    });
  }
  static std::int32_t attr(belay_graph* raw, std::uint32_t node, belay_str name, belay_value* value,
                           belay_status* status) {
    return call(raw, "attr", status, [&](FakeGraph& g) {
      const Node& n = g.node_of({g.serial_, node, BELAY_OPERATION});
      const auto it = n.attrs.find(std::string(detail::view(name)));
      if (it == n.attrs.end())
        fail(Code::kNotFound, "node '" + n.name + "' has no attribute '" + std::string(detail::view(name)) + "'");
      *value = it->second.raw();
    });
  }
  static std::int32_t will_fetch(belay_graph* raw, belay_output output, belay_status* status) {
    return call(raw, "will_fetch", status, [&](FakeGraph& g) {
      g.node_of(output);
      const auto same = [&](const belay_output& o) { return o.node == output.node && o.index == output.index; };
      if (std::none_of(g.announced_.begin(), g.announced_.end(), same)) g.announced_.push_back(output);
    });
  }
  static std::int32_t enter_scope(belay_graph* raw, belay_str name, belay_status* status) {
    return call(raw, "enter_scope", status, [&](FakeGraph& g) {
      const std::string hint(detail::view(name));
      const std::string wanted = g.scopes_.empty() ? hint : g.scopes_.back() + "/" + hint;
      std::string scope = wanted;
      for (int i = 1; !g.used_scopes_.insert(scope).second; ++i) scope = wanted + "_" + std::to_string(i);
      g.scopes_.push_back(scope);
    });
  }
  static void leave_scope(belay_graph* raw) {
    if (!from(raw).scopes_.empty()) from(raw).scopes_.pop_back();
  }
  static std::int32_t enter_control(belay_graph* raw, const belay_output* outputs, std::uint64_t n,
                                    belay_status* status) {
    return call(raw, "enter_control", status, [&](FakeGraph& g) {
      std::vector<belay_output> after(outputs, outputs + n);
      for (const belay_output& o : after) g.node_of(o);
      if (!g.controls_.empty()) after.insert(after.end(), g.controls_.back().begin(), g.controls_.back().end());
      g.controls_.push_back(std::move(after));
    });
  }
  static void leave_control(belay_graph* raw) {
    if (!from(raw).controls_.empty()) from(raw).controls_.pop_back();
  }
  static std::int32_t collect_output(belay_graph* raw, belay_str collection, belay_output output,
                                     belay_status* status) {
    return call(raw, "collect", status, [&](FakeGraph& g) {
      const std::string name(detail::view(collection));
      g.node_of(output);
      g.require_open("'" + g.name_of(output) + "' was added to collection '" + name + "'");
      g.collections_[name].push_back(output);
    });
  }
  static std::uint64_t collection_size(belay_graph* raw, belay_str collection) {
    const auto& all = from(raw).collections_;
    const auto it = all.find(std::string(detail::view(collection)));
    return it == all.end() ? 0 : it->second.size();
  }
  static std::int32_t collection_item(belay_graph* raw, belay_str collection, std::uint64_t i, belay_output* output,
                                      belay_status* status) {
    return call(raw, "collection_item", status, [&](FakeGraph& g) {
      const std::string name(detail::view(collection));
      const std::uint64_t size = collection_size(raw, collection);
      if (i >= size)
        fail(Code::kInvalidArgument,
             "collection '" + name + "' has " + std::to_string(size) + " items, there is no item " + std::to_string(i));
      *output = g.collections_.at(name)[static_cast<std::size_t>(i)];
    });
  }
  static std::int32_t gradients(belay_graph* raw, const belay_output*, std::uint64_t, const belay_output*,
                                const belay_output*, std::uint64_t, belay_output*, belay_status* status) {
    return call(raw, "gradients", status, [](FakeGraph&) {
      fail(Code::kUnimplemented, "the fake graph has no gradients; test this plugin with the engine");
    });
  }

  static std::int32_t begin_body(belay_graph* raw, belay_str, belay_status* status) {
    return call(raw, "begin_body", status, [](FakeGraph&) { no_bodies(); });
  }
  static std::int32_t end_body(belay_graph* raw, const belay_output*, std::uint64_t, belay_str*, belay_status* status) {
    return call(raw, "end_body", status, [](FakeGraph&) { no_bodies(); });
  }
  [[noreturn]] static void no_bodies() {
    fail(Code::kUnimplemented, "the fake graph has no cond and while; test this plugin with the engine");
  }

  static constexpr belay_graph_api kGraph{sizeof(belay_graph_api),     0,
                                          &FakeGraph::get_serial,      &FakeGraph::is_finalized,
                                          &FakeGraph::add_node,        &FakeGraph::find,
                                          &FakeGraph::node_info,       &FakeGraph::output_info,
                                          &FakeGraph::input,           &FakeGraph::attr,
                                          &FakeGraph::will_fetch,      &FakeGraph::enter_scope,
                                          &FakeGraph::leave_scope,     &FakeGraph::enter_control,
                                          &FakeGraph::leave_control,   &FakeGraph::collect_output,
                                          &FakeGraph::collection_size, &FakeGraph::collection_item,
                                          &FakeGraph::gradients,       &FakeGraph::begin_body,
                                          &FakeGraph::end_body};

  FakeHost& host_;
  const std::uint64_t serial_;
  std::deque<Node> nodes_;
  std::map<std::string, std::uint32_t> by_name_;
  std::map<std::string, belay_output> roles_;
  std::map<std::string, std::vector<belay_output>> collections_;
  std::map<std::string, Spec> ops_;
  std::vector<std::string> scopes_;  // open scopes, whole names
  std::set<std::string> used_scopes_;
  std::vector<std::vector<belay_output>> controls_;
  std::vector<belay_output> announced_;
  bool finalized_ = false;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
