#include "runtime/monitored/scaffold.h"

#include "belay/ops/control.h"
#include "belay/ops/summaries.h"
#include "belay/ops/variables.h"

namespace belay::runtime {
namespace {

// The one item of a collection, or what make() gives, which joins the collection; empty results do not.
template <class Make>
Output get_or_default(const belay::Graph& g, const char* collection, Make make) {
  const std::uint64_t n = g.collection_size(collection);
  if (n > 1)
    fail(Code::kFailedPrecondition, "More than one item in the graph's collection '" + std::string(collection) + "' (" +
                                        std::to_string(n) + "); give the piece to the Scaffold instead");
  if (n == 1) return g.collection_item(collection, 0);
  const Output made = make();
  if (made) g.collect(collection, made);
  return made;
}

std::vector<Output> joined(const belay::Graph& g, std::initializer_list<const char*> collections) {
  std::vector<Output> all;
  for (const char* c : collections)
    for (const Output& o : g.collection(c)) all.push_back(o);
  return all;
}

}  // namespace

Scaffold::Scaffold(const Scaffold& copy_from, ScaffoldOptions options) : options_(std::move(options)) {
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
  if (!options_.init_fn) options_.init_fn = other.init_fn;
  if (options_.saver == nullptr) options_.saver = other.saver;
}

Scaffold& Scaffold::finalize(NodeGraph& graph) {
  const belay::Graph g = graph.handle();
  if (!options_.init_op)
    options_.init_op =
        get_or_default(g, collections::kInitOp, [&] { return ops::group(g, g.collection("variable_init"), "init"); });
  if (!options_.ready_op)
    options_.ready_op = get_or_default(g, collections::kReadyOp, [&] {
      return ops::report_uninitialized_variables(
          g, joined(g, {collections::kGlobalVariables, collections::kLocalVariables}),
          "report_uninitialized_variables");
    });
  if (!options_.ready_for_local_init_op)
    options_.ready_for_local_init_op = get_or_default(g, collections::kReadyForLocalInitOp, [&] {
      return ops::report_uninitialized_variables(g, g.collection(collections::kGlobalVariables),
                                                 "report_uninitialized_global_variables");
    });
  if (!options_.local_init_op)
    options_.local_init_op = get_or_default(g, collections::kLocalInitOp, [&] {
      return ops::group(g, joined(g, {"local_variable_init", collections::kTableInitializers}), "local_init");
    });
  if (!options_.summary_op)
    options_.summary_op = get_or_default(g, collections::kSummaryOp, [&] {
      const std::vector<Output> summaries = g.collection(collections::kSummaries);
      return summaries.empty() ? Output() : ops::merge_summary(g, summaries, "merged_summaries");
    });
  graph.finalize();
  return *this;
}

std::function<void(DirectSession&)> Scaffold::init_fn() const {
  if (!options_.init_fn) return {};
  return [this](DirectSession& session) { options_.init_fn(*this, session); };
}

}  // namespace belay::runtime
