// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/node_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <utility>

#include "runtime/graph/graph_service.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

// Checks the node's attributes against the operation's declaration.
void check_attrs(const OpDef& op, const std::string& node, Attrs& attrs) {
  try {
    op.checks_attrs ? attrs.need_each_once() : attrs.declare(op.attrs);
  } catch (const Error& e) {
    fail(e.code(), "node '" + node + "' (" + op.name + "): " + std::string(e.message()));
  }
}

}  // namespace

bool valid_node_name(std::string_view name) {
  if (name.empty()) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  };
  return letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
           return letter(c) || c == '/' || c == '-' || c == '\\' || c == '>';
         });
}

NodeGraph::NodeGraph(const OpRegistry& ops) : ops_(ops), serial_(next_serial()) {}

belay::Graph NodeGraph::handle() { return belay::Graph(graph_service(), to_handle(this)); }

void NodeGraph::hold() {
  const std::lock_guard lock(holds_mutex_);
  if (holds_++ == 0) open_before_ = !finalized_;
}

void NodeGraph::release() noexcept {
  const std::lock_guard lock(holds_mutex_);
  if (--holds_ == 0 && open_before_) finalized_ = false;
}

const Node* NodeGraph::find_node(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &nodes_[it->second];
}

std::string NodeGraph::unique_name(const std::string& wanted) {
  const auto [it, fresh] = name_uses_.try_emplace(wanted, 1);
  if (fresh) return wanted;
  int& uses = it->second;  // keeps its address when the map grows
  for (;;) {
    std::string name = fmt::format("{}_{}", wanted, uses++);
    if (name_uses_.try_emplace(name, 1).second) return name;
  }
}

std::uint32_t NodeGraph::add(std::string_view op, std::string_view name_hint, std::vector<Port> inputs,
                             std::vector<std::uint32_t> control_inputs, Attrs attrs) {
  const std::string hint(name_hint.empty() ? op : name_hint);
  if (finalized_)
    fail(Code::kFailedPrecondition,
         "Graph is finalized and cannot be modified: node '" + hint + "' (" + std::string(op) +
             ") was added after the session was made; add it in begin(), or before the session");
  if (!valid_node_name(hint))
    fail(Code::kInvalidArgument, "'" + escaped(hint) + "' is no name for a node: letters, digits and . _ - / only");
  const OpDef* def = ops_.find(op);
  if (def == nullptr) {
    const std::string known = nearest(op, ops_.names());
    fail(Code::kNotFound, "node '" + hint + "': no operation is called '" + std::string(op) + "'" +
                              (known.empty() ? "" : "; did you mean '" + known + "'?"));
  }
  if (def->n_inputs >= 0 && inputs.size() != static_cast<std::size_t>(def->n_inputs))
    fail(Code::kInvalidArgument,
         fmt::format("node '{}' ({}): expected {} inputs, got {}", hint, def->name, def->n_inputs, inputs.size()));
  Node node;
  node.op = def;
  node.body = open_body();
  const std::string full = scopes_.empty() ? hint : scopes_.back() + "/" + hint;
  check_attrs(*def, full, attrs);
  for (const std::string& attr : def->bodies) add_captures(*def, full, attrs.text(attr), inputs);
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const Port& in : inputs) {
    dtypes.push_back(spec(in).first);
    shapes.push_back(spec(in).second);
  }
  InferContext infer(*def, full, attrs, std::move(dtypes), std::move(shapes), this);
  def->infer(infer);
  node.outputs = std::move(infer.outputs());
  node.inputs = std::move(inputs);
  node.control_inputs = std::move(control_inputs);
  if (!controls_.empty())
    node.control_inputs.insert(node.control_inputs.end(), controls_.back().begin(), controls_.back().end());
  std::sort(node.control_inputs.begin(), node.control_inputs.end());
  node.control_inputs.erase(std::unique(node.control_inputs.begin(), node.control_inputs.end()),
                            node.control_inputs.end());
  if (node.body != 0) check_body_node(*def, full, node.control_inputs);
  node.attrs = std::move(attrs);
  node.name = unique_name(full);
  node.id = static_cast<std::uint32_t>(nodes_.size());  // captures may have been added before
  by_name_.emplace(node.name, node.id);
  if (node.body != 0 && def->role == Role::kBodyInput) bodies_[node.body - 1].arguments.push_back(node.id);
  nodes_.push_back(std::move(node));
  return nodes_.back().id;
}

Port NodeGraph::resolve(const belay_output& output) const {
  if (output.graph != serial_)
    fail(Code::kInvalidArgument,
         output.graph == 0
             ? "an empty Output was used"
             : fmt::format("output {} of node {} is not an element of this graph: it belongs to another one",
                           output.index, output.node));
  if (output.node >= nodes_.size()) fail(Code::kInvalidArgument, fmt::format("the graph has no node {}", output.node));
  const Node& n = nodes_[output.node];
  if (output.index != BELAY_OPERATION && output.index >= n.outputs.size())
    fail(Code::kInvalidArgument,
         fmt::format("node '{}' has {} outputs, there is no output {}", n.name, n.outputs.size(), output.index));
  return {output.node, output.index};
}

Port NodeGraph::find(std::string_view name) const {
  if (const auto role = roles_.find(name); role != roles_.end()) return role->second;
  const std::size_t colon = name.rfind(':');
  const std::string_view node_name = name.substr(0, colon);
  const Node* node = find_node(node_name);
  if (node == nullptr) {
    const std::string known = nearest(name, all_names());
    fail(Code::kNotFound,
         "the graph has no '" + escaped(name) + "'" + (known.empty() ? "" : "; did you mean '" + known + "'?"));
  }
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    std::uint32_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || index >= node->outputs.size())
      fail(Code::kNotFound,
           fmt::format("node '{}' has {} outputs, there is no '{}'", node->name, node->outputs.size(), escaped(name)));
    return {node->id, index};
  }
  if (node->outputs.size() > 1)
    fail(Code::kInvalidArgument,
         fmt::format("'{}' has {} outputs; name one, as '{}:0'", name, node->outputs.size(), name));
  return {node->id, node->outputs.empty() ? BELAY_OPERATION : 0};
}

std::string NodeGraph::port_name(Port port) const {
  const std::string& name = nodes_[port.node].name;
  return port.index == BELAY_OPERATION ? name : fmt::format("{}:{}", name, port.index);
}

void NodeGraph::need_open(const char* what, std::string_view name) const {
  if (finalized_)
    fail(Code::kFailedPrecondition, "Graph is finalized and cannot be modified: " + std::string(what) + " '" +
                                        escaped(name) + "' was added after the session was made");
}

void NodeGraph::enter_scope(std::string_view name) {
  need_open("scope", name);
  if (!valid_node_name(name)) fail(Code::kInvalidArgument, "'" + escaped(name) + "' is no name for a scope");
  scopes_.push_back(unique_name(scopes_.empty() ? std::string(name) : scopes_.back() + "/" + std::string(name)));
}

void NodeGraph::leave_scope() noexcept {
  if (scopes_.size() > floor_.scopes) return scopes_.pop_back();
  floor_.closed_too_many = true;
}

void NodeGraph::leave_control() noexcept {
  if (controls_.size() > floor_.controls) return controls_.pop_back();
  floor_.closed_too_many = true;
}

NodeGraph::Floor NodeGraph::begin_callback() noexcept {
  return std::exchange(floor_, {scopes_.size(), controls_.size(), open_bodies_.size()});
}

void NodeGraph::end_callback(const Floor& outer) noexcept {
  open_bodies_.resize(floor_.bodies);
  controls_.resize(floor_.controls);
  scopes_.resize(floor_.scopes);
  floor_ = outer;
}

std::string NodeGraph::left_by_callback() const {
  const std::string rule = "; what a callback opens it must close before it returns";
  if (open_bodies_.size() > floor_.bodies)
    return "it left the body '" + bodies_[open_bodies_[floor_.bodies] - 1].name + "' open (begin_body)" + rule;
  if (scopes_.size() > floor_.scopes)
    return "it left the scope '" + scopes_[floor_.scopes] + "' open (enter_scope)" + rule;
  if (controls_.size() > floor_.controls) return "it left a control scope open (enter_control)" + rule;
  if (floor_.closed_too_many) return "it left more scopes than it had entered; each leave closes what its enter opened";
  return "";
}

void NodeGraph::enter_control(const std::vector<Port>& outputs) {
  need_open("control scope", outputs.empty() ? "" : port_name(outputs[0]));
  std::vector<std::uint32_t> after = controls_.empty() ? std::vector<std::uint32_t>{} : controls_.back();
  for (const Port& p : outputs) after.push_back(p.node);
  controls_.push_back(std::move(after));
}

Port Successions::at_step(Port port, std::int64_t step) const noexcept {
  Port now = port;
  for (const Succession& s : all_)
    if (s.first == port && s.from_step <= step) now = s.next;
  return now;
}

std::int64_t Successions::next_after(std::int64_t step) const noexcept {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (const Succession& s : all_)
    if (s.from_step > step) next = std::min(next, s.from_step);
  return next;
}

void NodeGraph::collect(std::string_view collection, Port port) {
  if (finalized_)
    fail(Code::kFailedPrecondition, "Graph is finalized and cannot be modified: '" + port_name(port) +
                                        "' was added to collection '" + std::string(collection) + "'");
  need_outside_bodies(port);
  collections_[std::string(collection)].push_back(port);
}

const std::vector<Port>& NodeGraph::collection(std::string_view name) const {
  static const std::vector<Port> none;
  const auto it = collections_.find(name);
  return it == collections_.end() ? none : it->second;
}

void NodeGraph::announce(Port port) {
  need_outside_bodies(port);
  if (std::find(announced_.begin(), announced_.end(), port) == announced_.end()) announced_.push_back(port);
}

std::vector<std::string> NodeGraph::all_names() const {
  std::vector<std::string> names;
  for (const auto& [name, port] : roles_) names.push_back(name);
  for (const Node& n : nodes_) names.push_back(n.name);
  return names;
}

std::string NodeGraph::variables_digest() const {
  std::vector<std::string> lines;
  for (const Port& p : collection(collections::kGlobalVariables))
    lines.push_back(nodes_[p.node].name + " " + dtype_name(spec(p).first) + " " + spec(p).second.text());
  std::sort(lines.begin(), lines.end());
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : joined(lines, "\n")) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (int i = 60; i >= 0; i -= 4) text += kHex[(h >> i) & 15];
  return text;
}

}  // namespace belay::runtime
