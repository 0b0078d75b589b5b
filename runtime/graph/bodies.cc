// SPDX-License-Identifier: Apache-2.0
// Opens and closes the bodies of a graph, and captures values.
#include "runtime/graph/node_graph.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

void NodeGraph::begin_body(std::string_view name) {
  need_open("body", name);
  enter_scope(name);
  enter_control({});
  controls_.back().clear();
  GraphBody body;
  body.name = scopes_.back();
  body.parent = open_body();
  bodies_.push_back(std::move(body));
  open_bodies_.push_back(static_cast<BodyId>(bodies_.size()));
}

const std::string& NodeGraph::end_body(const std::vector<Port>& outputs) {
  if (open_bodies_.size() <= floor_.bodies) fail(Code::kFailedPrecondition, "end_body without a body that is open");
  GraphBody& body = bodies_[open_bodies_.back() - 1];
  const auto close = [&] {
    open_bodies_.pop_back();
    leave_control();
    leave_scope();
  };
  try {
    for (const Port& p : outputs) {
      if (p.index == BELAY_OPERATION)
        fail(Code::kInvalidArgument,
             "body '" + body.name + "' cannot give '" + port_name(p) + "': it is an operation without a value");
      body.outputs.push_back(visible(p));
    }
  } catch (...) {
    body.outputs.clear();
    close();
    throw;
  }
  close();
  return body.name;
}

const GraphBody& NodeGraph::body(const std::string& name, const std::string& asking) const {
  for (const GraphBody& b : bodies_)
    if (b.name == name && !b.outputs.empty()) return b;
  fail(Code::kNotFound,
       asking + ": there is no body '" + escaped(name) + "'; it must be closed, and give at least one output");
}

void NodeGraph::add_captures(const OpDef& op, const std::string& node, const std::string& name,
                             std::vector<Port>& inputs) {
  const std::string asking = "node '" + node + "' (" + op.name + ")";
  const GraphBody& b = body(name, asking);
  if (b.parent != open_body())
    fail(Code::kInvalidArgument, asking + ": body '" + name + "' was begun elsewhere; begin it where its node is");
  for (const auto& [id, outer] : b.captures) inputs.push_back(outer);
}

Port NodeGraph::visible(Port port) {
  const BodyId home = nodes_[port.node].body;
  if (home == open_body()) return port;
  bool encloses = home == 0;
  for (const BodyId b : open_bodies_) encloses = encloses || b == home;
  if (!encloses) need_outside_bodies(port);
  return capture(open_body(), port);
}

Port NodeGraph::capture(BodyId id, Port port) {
  GraphBody& body = bodies_[id - 1];
  const Port outer = nodes_[port.node].body == body.parent ? port : capture(body.parent, port);
  for (const auto& [node, what] : body.captures)
    if (what == outer) return {node, 0};
  Node input;
  input.id = static_cast<std::uint32_t>(nodes_.size());
  input.body = id;
  input.op = ops_.find("BodyInput");
  input.outputs = {spec(outer)};
  const std::string& name = nodes_[outer.node].name;
  input.name = unique_name(body.name + "/" + name.substr(name.rfind('/') + 1));
  by_name_.emplace(input.name, input.id);
  body.captures.emplace_back(input.id, outer);
  nodes_.push_back(std::move(input));
  return {nodes_.back().id, 0};
}

void NodeGraph::need_outside_bodies(Port port) const {
  const BodyId home = nodes_[port.node].body;
  if (home != 0)
    fail(Code::kInvalidArgument, "'" + port_name(port) + "' is in the body '" + bodies_[home - 1].name +
                                     "' of a cond or while loop and is not there outside it; use the outputs of the "
                                     "node that runs the body");
}

void NodeGraph::check_body_node(const OpDef& op, const std::string& name,
                                const std::vector<std::uint32_t>& controls) const {
  const auto refuse = [&](const std::string& text) {
    fail(Code::kInvalidArgument, "node '" + name + "' (" + op.name + "): " + text);
  };
  if (op.effect != Effect::kNone || op.host_kernel != nullptr || op.role == Role::kPlaceholder ||
      op.role == Role::kQueue || op.role == Role::kTable)
    refuse(
        "a body of a cond or while loop only computes: what is a variable or placeholder, writes, waits, draws random "
        "numbers or makes summaries is outside it");
  for (const std::uint32_t c : controls)
    if (nodes_[c].body != open_body())
      refuse("its control input '" + nodes_[c].name + "' is outside the body '" + bodies_[open_body() - 1].name +
             "'; give it to the node that runs the body");
}

}  // namespace belay::runtime
