// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/scaffold.h"

#include <fmt/core.h>

#include <cstring>

#include "runtime/monitored/saving/default_pieces.h"

namespace belay::runtime {
namespace {

// Returns the only item of a collection, or the result of make. That is added to the collection unless it is empty.
Output get_or_default(const belay::Graph& g, const char* collection, Output (*make)(const belay::Graph&)) {
  const std::uint64_t n = g.collection_size(collection);
  if (n > 1)
    fail(Code::kFailedPrecondition,
         fmt::format(
             "[B5088] More than one item in the graph's collection '{}' ({}); give the piece to the Scaffold instead",
             collection, n));
  if (n == 1) return g.collection_item(collection, 0);
  const Output made = make(g);
  if (made) g.collect(collection, made);
  return made;
}

}  // namespace

GivenValues::GivenValues(const DirectSession& session, const InitialValues& source) {
  if (!source) return;
  for (const Variable* v : session.variables()) {
    if (v->value.dtype() == DType::kString) continue;
    DenseTensor value(v->value.dtype(), v->value.dims());
    if (value.bytes() != 0) std::memset(value.data(), 0, value.bytes());
    if (source(v->name, value.view())) values_.emplace_back(v->name, std::move(value));
  }
}

void GivenValues::set(DirectSession& session) const {
  for (const auto& [name, value] : values_) session.store().assign(name, TensorView(value.view()));
}

SessionScaffold::SessionScaffold(const SessionScaffold& copy_from, ScaffoldOptions options)
    : options_(std::move(options)) {
  const auto take = [](Output& mine, const Output& other) {
    if (!mine) mine = other;
  };
  const ScaffoldOptions& other = copy_from.options_;
  take(options_.init_op, other.init_op);
  take(options_.ready_op, other.ready_op);
  take(options_.ready_for_local_init_op, other.ready_for_local_init_op);
  take(options_.local_init_op, other.local_init_op);
  take(options_.summary_op, other.summary_op);
  if (options_.init_feeds.empty()) options_.init_feeds = other.init_feeds;
  if (options_.local_init_feeds.empty()) options_.local_init_feeds = other.local_init_feeds;
  if (!options_.initial_values) options_.initial_values = other.initial_values;
  if (!options_.host_init) options_.host_init = other.host_init;
  if (!options_.init_fn) options_.init_fn = other.init_fn;
  if (options_.saver == nullptr) options_.saver = other.saver;
}

SessionScaffold& SessionScaffold::finalize(NodeGraph& graph) {
  const belay::Graph g = graph.handle();
  const auto fill = [&](Output& piece, const char* collection, Output (*make)(const belay::Graph&)) {
    if (!piece) piece = get_or_default(g, collection, make);
  };
  fill(options_.init_op, collections::kInitOp, default_init_op);
  fill(options_.ready_op, collections::kReadyOp, default_ready_op);
  fill(options_.ready_for_local_init_op, collections::kReadyForLocalInitOp, default_ready_for_local_init_op);
  fill(options_.local_init_op, collections::kLocalInitOp, default_local_init_op);
  fill(options_.summary_op, collections::kSummaryOp, default_summary_op);
  graph.finalize();
  return *this;
}

std::function<void(DirectSession&)> SessionScaffold::init_fn() const {
  if (!options_.host_init && !options_.init_fn) return {};
  return [this](DirectSession& session) {
    if (options_.host_init) options_.host_init(*this, session);
    if (!options_.init_fn) return;
    belay::Session handle = session.handle();
    options_.init_fn(handle);
  };
}

}  // namespace belay::runtime
