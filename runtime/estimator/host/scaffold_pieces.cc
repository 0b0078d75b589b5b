// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/scaffold_pieces.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kNamesAPiece = "the name of a node or of a collection of the graph; belay graph shows its nodes";
constexpr const char* kStartsWithoutInput =
    "name something that needs no input: it runs when the session is made, before there is a batch";

Output named_piece(NodeGraph& graph, const std::string& name) {
  if (const std::vector<Port>& items = graph.collection(name); items.size() == 1)
    return graph.output(items[0]);
  else if (items.size() > 1)
    fail(Code::kInvalidArgument, fmt::format("[B5088] the collection {} has {} items; a piece of the scaffold is one",
                                             double_quoted(name), items.size()));
  if (const Node* node = graph.find_node(name); node != nullptr && node->outputs.empty())
    return graph.output({node->id, BELAY_OPERATION});
  return graph.output(graph.find(name));
}

// Returns the node for which a run of `piece` would wait, or whose value it would lack; null: there is none.
const Node* waited_for(const NodeGraph& graph, const Output& piece) {
  std::vector<bool> seen(graph.size());
  std::vector<std::uint32_t> open{piece.raw().node};
  while (!open.empty()) {
    const std::uint32_t id = open.back();
    open.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = graph.node(id);
    if (node.op->effect == Effect::kBlocking || (node.op->role == Role::kPlaceholder && node.inputs.empty()))
      return &node;
    for (const Port& input : node.inputs) open.push_back(input.node);
    open.insert(open.end(), node.control_inputs.begin(), node.control_inputs.end());
  }
  return nullptr;
}

struct PieceFault {
  std::string message, help;  // of the message empty: there is none
};

PieceFault fault_of(const NodeGraph& graph, std::string_view key, const Output& piece) {
  const bool is_text = !piece.is_operation() && piece.dtype() == DType::kString;
  const std::string what =
      "scaffold." + std::string(key) + " is " +
      (piece.is_operation() ? single_quoted(graph.node(piece.raw().node).name) : std::string(piece.text()));
  if (key == "summary_op") {
    if (is_text && piece.rank() <= 0) return {};
    return {what + ", which is no serialized summary: a string", "leave it out, or name a merged summary"};
  }
  if (key.starts_with("ready") && (!is_text || piece.rank() == 0 || piece.rank() > 1))
    return {what + ", which does not name what is missing: a vector of strings",
            "leave it out, or name a tensor of the names of variables that are not initialized"};
  if (const Node* node = waited_for(graph, piece))
    return {what + ", which needs " +
                (node->op->role == Role::kPlaceholder ? "the feed " : "a batch of the input, from ") +
                single_quoted(node->name),
            kStartsWithoutInput};
  return {};
}

}  // namespace

ScaffoldOptions scaffold_pieces_of(NodeGraph& graph, const Manifest& manifest, Diagnostics& problems) {
  ScaffoldOptions pieces;
  for (const ScaffoldPiece& piece : scaffold_pieces()) {
    const std::string& name = manifest.scaffold.*piece.value;
    if (name.empty()) continue;
    const std::string key = piece.key;
    const Location at = manifest.at("scaffold." + key);
    Output found;
    try {
      found = named_piece(graph, name);
    } catch (const Error& e) {
      problems.add(at, std::string("[B5088] ") + e.what(), kNamesAPiece);
      continue;
    }
    if (const PieceFault fault = fault_of(graph, key, found); !fault.message.empty()) {
      problems.add(at, "[B5088] " + fault.message, fault.help);
      continue;
    }
    if (key == "init_op") pieces.init_op = found.operation();
    if (key == "local_init") pieces.local_init_op = found.operation();
    if (key == "ready") pieces.ready_op = found;
    if (key == "ready_for_local_init") pieces.ready_for_local_init_op = found;
    if (key == "summary_op") pieces.summary_op = found;
  }
  return pieces;
}

}  // namespace belay::runtime
