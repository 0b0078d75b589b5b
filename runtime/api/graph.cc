// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/graph.h"

#include <utility>

#include "runtime/monitored/saving/default_pieces.h"
#include "runtime/ops/registry.h"

namespace belay {
namespace {

std::unique_ptr<runtime::OpRegistry> ops_with(runtime::PluginParts& parts) {
  std::unique_ptr<runtime::OpRegistry> ops = runtime::make_op_registry();
  parts.add_ops(*ops);
  return ops;
}

}  // namespace

OwnedGraph::Insides::Insides(std::vector<const belay_module*> linked)
    : plugins(std::move(linked)), parts(plugins), ops(ops_with(parts)), nodes(*ops) {}

OwnedGraph::OwnedGraph(std::vector<const belay_module*> plugins)
    : OwnedGraph(std::make_unique<Insides>(std::move(plugins))) {}

OwnedGraph::OwnedGraph(std::unique_ptr<Insides> insides)
    : Graph(insides->nodes.handle()), insides_(std::move(insides)) {}

OwnedGraph::~OwnedGraph() = default;

Output OwnedGraph::minimize(const Output& loss, const OptimizerSettings& optimizer) {
  return runtime::minimize(*this, loss, insides_->optimizers.emplace_back(optimizer, insides_->plugins).use());
}

void OwnedGraph::set_role(const std::string& role, const Output& output) {
  insides_->nodes.set_role(role, insides_->nodes.resolve(output.raw()));
}

Output OwnedGraph::global_variables_initializer() { return runtime::default_init_op(*this); }

Output OwnedGraph::local_variables_initializer() { return runtime::default_local_init_op(*this); }

const std::vector<const belay_module*>& OwnedGraph::plugins() const noexcept { return insides_->plugins; }

}  // namespace belay
