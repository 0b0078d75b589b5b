// SPDX-License-Identifier: Apache-2.0
// The engine's graph: nodes in the order of their making (inputs before users), names, scopes, collections, roles. Open
// while it is built, frozen by finalize(); handle() is the SDK's Graph over it, the one way to add nodes.
//
// Not thread-safe while it is open; const calls on a frozen graph may come from any thread. Nodes never move.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "belay/graph.h"
#include "runtime/graph/op_def.h"

namespace belay::runtime {

class QueueRunner;  // runtime/graph/queue_runner.h

struct Port {
  std::uint32_t node = 0;
  std::uint32_t index = 0;
  friend bool operator==(const Port&, const Port&) = default;
};

// The body of a node; 0: the graph itself, else a GraphBody's id.
using BodyId = std::uint32_t;

// A part of the graph that nodes run as a whole (belay_graph_api.begin_body). Its nodes use each other and the nodes
// "BodyInput": arguments, then captures of outputs of the enclosing body (or graph).
struct GraphBody {
  std::string name;
  BodyId parent = 0;
  std::vector<std::uint32_t> arguments;                  // nodes, in the order of their making
  std::vector<std::pair<std::uint32_t, Port>> captures;  // node, and the output that it captures
  std::vector<Port> outputs;                             // empty until it is closed
};

struct Node {
  std::uint32_t id = 0;
  BodyId body = 0;
  std::string name;
  const OpDef* op = nullptr;
  std::vector<Port> inputs;
  std::vector<std::uint32_t> control_inputs;
  Attrs attrs;
  std::vector<std::pair<DType, Shape>> outputs;
};

// Whether a node may have this name in its scope: letters, digits and . _ - / only.
bool valid_node_name(std::string_view name);

class NodeGraph {
 public:
  explicit NodeGraph(const OpRegistry& ops);
  NodeGraph(const NodeGraph&) = delete;
  NodeGraph& operator=(const NodeGraph&) = delete;

  // Unique in the process; outputs carry it, so that one of another graph is recognised.
  std::uint64_t serial() const noexcept { return serial_; }
  const OpRegistry& ops() const noexcept { return ops_; }
  belay::Graph handle();
  Output output(Port port) { return handle().output({serial_, port.node, port.index}); }

  std::size_t size() const noexcept { return nodes_.size(); }
  const Node& node(std::uint32_t id) const { return nodes_[id]; }
  const Node* find_node(std::string_view name) const;

  // A change of a frozen graph is FAILED_PRECONDITION "Graph is finalized and cannot be modified" and names the node.
  std::uint32_t add(std::string_view op, std::string_view name_hint, std::vector<Port> inputs,
                    std::vector<std::uint32_t> control_inputs, Attrs attrs);
  void finalize() noexcept { finalized_ = true; }
  bool finalized() const noexcept { return finalized_; }
  // For as long as a session lives: what it finalizes stays so until the last of the graph's sessions is gone; then the
  // graph is open again if it was when the first one came. Any thread.
  void hold();
  void release() noexcept;

  // Checks that the output is of this graph and exists; a message names both graphs' culprits otherwise.
  Port resolve(const belay_output& output) const;
  // Role, node or "node:index"; see belay_graph_api.find. NOT_FOUND suggests the nearest.
  Port find(std::string_view name) const;
  std::string port_name(Port port) const;
  const std::pair<DType, Shape>& spec(Port port) const { return nodes_[port.node].outputs[port.index]; }

  // ---- bodies: runtime/graph/bodies.cc

  void begin_body(std::string_view name);
  // Closes the innermost open one and returns its full name. Without outputs, or if this fails, it cannot be used.
  const std::string& end_body(const std::vector<Port>& outputs);
  // The closed body of that name; NOT_FOUND names what asked for it.
  const GraphBody& body(const std::string& name, const std::string& asking) const;
  // The port by which nodes that are added now use this one: itself or, for one outside the open body, its capture,
  // which is added if there is none yet. An error where the port is in a body that is not open.
  Port visible(Port port);
  // An error where the port is in a body: outputs inside a body cannot be fetched, fed or collected.
  void need_outside_bodies(Port port) const;

  // A frozen graph has no scopes to enter: FAILED_PRECONDITION, as for a node.
  void enter_scope(std::string_view name);
  void leave_scope() noexcept;
  void enter_control(const std::vector<Port>& outputs);
  void leave_control() noexcept;

  // Of a plugin's callback (callback_scopes.h): what was open when it began, which it cannot close.
  struct Floor {
    std::size_t scopes = 0, controls = 0, bodies = 0;
    bool closed_too_many = false;
  };
  // Returns the floor of the callback that leads to this one.
  Floor begin_callback() noexcept;
  // Closes what is open above the floor, and goes back to the outer one.
  void end_callback(const Floor& outer) noexcept;
  // What the callback has left open, or closed that was not its own, in a sentence; empty: nothing.
  std::string left_by_callback() const;

  void collect(std::string_view collection, Port port);
  const std::vector<Port>& collection(std::string_view name) const;
  void replace_collection(std::string_view name, std::vector<Port> ports) {
    collections_[std::string(name)] = std::move(ports);
  }
  const std::map<std::string, std::vector<Port>, std::less<>>& collections() const noexcept { return collections_; }

  // "loss", "accuracy", ...: the outputs of a model by role; they are found before nodes of that name.
  void set_role(std::string name, Port port) { roles_[std::move(name)] = port; }
  const std::map<std::string, Port, std::less<>>& roles() const noexcept { return roles_; }

  // From the global step `from_step` on, `next` runs where `first` is fetched: a train operation whose variables become
  // more. For one `first` in the order of their steps.
  void add_succession(Port first, std::int64_t from_step, Port next) {
    successions_.push_back({first, from_step, next});
  }
  bool has_successions() const noexcept { return !successions_.empty(); }
  // What runs for `port` at this step; and the first step behind it at which another port may have a successor.
  Port at_step(Port port, std::int64_t step) const noexcept;
  std::int64_t next_succession(std::int64_t step) const noexcept;
  // What succeeds `first` succeeds `other`, as `changed` makes it of the successor.
  template <class F>
  void move_successions(Port first, Port other, F&& changed) {
    for (Succession& s : successions_)
      if (s.first == first) s = {other, s.from_step, changed(s.next)};
  }

  // Outputs that hooks or the caller will fetch (Graph::fetch).
  void announce(Port port);
  const std::vector<Port>& announced() const noexcept { return announced_; }

  // What fills the graph's queues while a session runs (TensorFlow's collection "queue_runners").
  void add_queue_runner(std::shared_ptr<QueueRunner> runner) { queue_runners_.push_back(std::move(runner)); }
  const std::vector<std::shared_ptr<QueueRunner>>& queue_runners() const noexcept { return queue_runners_; }

  // A digest of variables' names, dtypes and shapes: what a checkpoint must fit.
  std::string variables_digest() const;

 private:
  BodyId open_body() const noexcept { return open_bodies_.empty() ? 0 : open_bodies_.back(); }
  void need_open(const char* what, std::string_view name) const;
  void check_body_node(const OpDef& op, const std::string& name, const std::vector<std::uint32_t>& controls) const;
  void add_captures(const OpDef& op, const std::string& node, const std::string& name, std::vector<Port>& inputs);
  Port capture(BodyId body, Port port);
  std::string unique_name(const std::string& wanted);
  std::vector<std::string> all_names() const;

  const OpRegistry& ops_;
  const std::uint64_t serial_;
  std::deque<Node> nodes_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::string, int> name_uses_;
  std::vector<std::string> scopes_;
  std::vector<std::vector<std::uint32_t>> controls_;
  std::deque<GraphBody> bodies_;  // id 1 is the first
  std::vector<BodyId> open_bodies_;
  Floor floor_;
  std::map<std::string, std::vector<Port>, std::less<>> collections_;
  std::map<std::string, Port, std::less<>> roles_;
  std::vector<Port> announced_;
  std::vector<std::shared_ptr<QueueRunner>> queue_runners_;
  std::atomic<bool> finalized_ = false;
  std::mutex holds_mutex_;  // of the following two
  int holds_ = 0;
  bool open_before_ = false;
  struct Succession {
    Port first;
    std::int64_t from_step;
    Port next;
  };
  std::vector<Succession> successions_;
};

}  // namespace belay::runtime
