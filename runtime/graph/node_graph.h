// SPDX-License-Identifier: Apache-2.0
// The engine's graph: nodes in the order of their making (inputs before users), names, scopes, collections, roles. It
// is open while it is built; finalize() freezes it. handle() is the SDK's Graph over it, the one way to add nodes.
//
// It is not thread-safe while it is open. Any thread may make const calls on a frozen graph. Nodes never move.
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

class QueueFiller;  // runtime/graph/queue_runner.h

struct Port {
  std::uint32_t node = 0;
  std::uint32_t index = 0;
  friend bool operator==(const Port&, const Port&) = default;
};

// The body of a node. 0 is the graph itself, else it is a GraphBody's id.
using BodyId = std::uint32_t;

// A part of the graph that nodes run as a whole (belay_graph_api.begin_body). Its nodes use each other and the nodes
// "BodyInput". These are arguments, then captures of outputs of the enclosing body (or graph).
struct GraphBody {
  std::string name;
  BodyId parent = 0;
  std::vector<std::uint32_t> arguments;                  // nodes in the order of their making
  std::vector<std::pair<std::uint32_t, Port>> captures;  // the node, and the output that it captures
  std::vector<Port> outputs;                             // empty until the body is closed
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

// Replaces an operation by another one from a global step on, for a train operation that gets more variables.
class Successions {
 public:
  bool empty() const noexcept { return all_.empty(); }
  // From the global step `from_step` on, a fetch of `first` runs `next`. Add those of one `first` in the order of their
  // steps.
  void add(Port first, std::int64_t from_step, Port next) { all_.push_back({first, from_step, next}); }
  // Returns the port that runs for `port` at this step.
  Port at_step(Port port, std::int64_t step) const noexcept;
  // Returns the first later step at which any port may have a successor.
  std::int64_t next_after(std::int64_t step) const noexcept;
  // Lets successors of `first` succeed `other`. `changed` makes each new successor from the old one.
  template <class F>
  void move(Port first, Port other, F&& changed) {
    for (Succession& s : all_)
      if (s.first == first) s = {other, s.from_step, changed(s.next)};
  }

 private:
  struct Succession {
    Port first;
    std::int64_t from_step;
    Port next;
  };
  std::vector<Succession> all_;
};

// True if a node may have this name in its scope. Only letters, digits and . _ - / are allowed.
bool valid_node_name(std::string_view name);

class NodeGraph {
 public:
  explicit NodeGraph(const OpRegistry& ops);
  NodeGraph(const NodeGraph&) = delete;
  NodeGraph& operator=(const NodeGraph&) = delete;

  // Returns a number that is unique in the process. Outputs carry it, so that one of another graph is recognised.
  std::uint64_t serial() const noexcept { return serial_; }
  const OpRegistry& ops() const noexcept { return ops_; }
  belay::Graph handle();
  Output output(Port port) { return handle().output({serial_, port.node, port.index}); }

  std::size_t size() const noexcept { return nodes_.size(); }
  const Node& node(std::uint32_t id) const { return nodes_[id]; }
  const Node* find_node(std::string_view name) const;

  // FAILED_PRECONDITION "Graph is finalized and cannot be modified" names the node: the graph is frozen.
  std::uint32_t add(std::string_view op, std::string_view name_hint, std::vector<Port> inputs,
                    std::vector<std::uint32_t> control_inputs, Attrs attrs);
  void finalize() noexcept { finalized_ = true; }
  bool finalized() const noexcept { return finalized_; }
  // A session holds the graph while it lives. The graph stays frozen until the last of its sessions is gone. Then it is
  // open again, if it was open before the first one. Call them from any thread.
  void hold();
  void release() noexcept;

  // Checks that the output is of this graph and exists. Otherwise the message names the nodes of both graphs.
  Port resolve(const belay_output& output) const;
  // Finds a role, a node or "node:index"; see belay_graph_api.find. NOT_FOUND suggests the nearest.
  Port find(std::string_view name) const;
  std::string port_name(Port port) const;
  const std::pair<DType, Shape>& spec(Port port) const { return nodes_[port.node].outputs[port.index]; }

  // ---- bodies: runtime/graph/bodies.cc

  void begin_body(std::string_view name);
  // Closes the innermost open body and returns its full name. Without outputs, or if this fails, it cannot be used.
  const std::string& end_body(const std::vector<Port>& outputs);
  // Returns the closed body of that name. NOT_FOUND names `asking`.
  const GraphBody& body(const std::string& name, const std::string& asking) const;
  // Returns the port that replaces this one in new nodes. Outside the open body that is its capture, which is added if
  // there is none yet. Otherwise it is the port itself. INVALID_ARGUMENT: the port is in a body that is not open.
  Port visible(Port port);
  // Fails if the port is in a body: outputs inside a body cannot be fetched, fed or collected.
  void need_outside_bodies(Port port) const;

  // A frozen graph has no scopes to enter. FAILED_PRECONDITION, as for a node.
  void enter_scope(std::string_view name);
  void leave_scope() noexcept;
  void enter_control(const std::vector<Port>& outputs);
  void leave_control() noexcept;

  // The scopes and bodies that were open when a plugin's callback began (callback_scopes.h). The callback cannot close
  // them.
  struct Floor {
    std::size_t scopes = 0, controls = 0, bodies = 0;
    bool closed_too_many = false;
  };
  // Returns the floor of the outer callback.
  Floor begin_callback() noexcept;
  // Closes what is open above the floor, and restores the outer floor.
  void end_callback(const Floor& outer) noexcept;
  // Returns a sentence about scopes and bodies that the callback left open, or closed although it did not open them.
  // Empty: there are none.
  std::string left_by_callback() const;

  void collect(std::string_view collection, Port port);
  const std::vector<Port>& collection(std::string_view name) const;
  void replace_collection(std::string_view name, std::vector<Port> ports) {
    collections_[std::string(name)] = std::move(ports);
  }
  const std::map<std::string, std::vector<Port>, std::less<>>& collections() const noexcept { return collections_; }

  // Sets a model's output by role: "loss", "accuracy", ... Roles are found before nodes of that name.
  void set_role(std::string name, Port port) { roles_[std::move(name)] = port; }
  const std::map<std::string, Port, std::less<>>& roles() const noexcept { return roles_; }

  Successions& successions() noexcept { return successions_; }
  const Successions& successions() const noexcept { return successions_; }

  // Adds an output that hooks or the caller will fetch (Graph::fetch).
  void announce(Port port);
  const std::vector<Port>& announced() const noexcept { return announced_; }

  // Adds a runner that fills the graph's queues while a session runs (TensorFlow's collection "queue_runners").
  void add_queue_runner(std::shared_ptr<QueueFiller> runner) { queue_runners_.push_back(std::move(runner)); }
  const std::vector<std::shared_ptr<QueueFiller>>& queue_runners() const noexcept { return queue_runners_; }

  // Returns a digest of variables' names, dtypes and shapes. A checkpoint must fit it.
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
  std::deque<GraphBody> bodies_;  // the first has id 1
  std::vector<BodyId> open_bodies_;
  Floor floor_;
  std::map<std::string, std::vector<Port>, std::less<>> collections_;
  std::map<std::string, Port, std::less<>> roles_;
  std::vector<Port> announced_;
  std::vector<std::shared_ptr<QueueFiller>> queue_runners_;
  std::atomic<bool> finalized_ = false;
  std::mutex holds_mutex_;  // guards the next two
  int holds_ = 0;
  bool open_before_ = false;
  Successions successions_;
};

}  // namespace belay::runtime
