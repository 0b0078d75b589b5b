// SPDX-License-Identifier: Apache-2.0
// The summaries that a hook writes into the event file. Its options name them; otherwise it takes the scaffold's
// summary, a merge of all of the graph's.
//
//   SummaryOps summaries(o.summaries);
//   void begin(Graph& graph) override { summaries.begin(graph); }
//   void after_create_session(Session& session) override { summaries.session_created(session, host()); }
//   ... for (const SummaryOps::Op& op : summaries.ops()) ...
//
// It is a member of a hook, [session].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/options.h"
#include "belay/session.h"

namespace belay {
inline namespace v0 {

// Names from an option, and their outputs in a graph after begin.
class SummaryOps {
 public:
  // A string scalar: a serialized Summary message.
  using Op = Fetch<std::string_view>;

  // Takes names for Graph::find and copies them; none: the scaffold's summary.
  explicit SummaryOps(const List<Str>& names) {
    for (const Str& name : names) names_.emplace_back(name);
  }

  // Call it in Hook::begin. NOT_FOUND: the graph has no such name. INVALID_ARGUMENT: it is not a string.
  void begin(const Graph& graph) {
    named_.clear();
    for (const std::string& name : names_) named_.push_back(graph.fetch<std::string_view>(name));
  }
  // Call it in after_create_session. It looks up the scaffold's operation here, which may be made after the hooks'
  // begin. FAILED_PRECONDITION: the collection "summary_op" has several items. INVALID_ARGUMENT: its item is not a
  // string.
  void session_created(const Session& session, const Host& host) {
    ops_ = names_.empty() ? of_scaffold(session.graph()) : named_;
    if (host.run_directory().empty()) ops_.clear();
  }
  // The summaries to fetch. Empty if there are none, or no event file.
  const std::vector<Op>& ops() const noexcept { return ops_; }

 private:
  static std::vector<Op> of_scaffold(const Graph& graph) {
    const std::vector<Output> found = graph.collection(collections::kSummaryOp);
    if (found.empty()) return {};
    if (found.size() > 1)
      fail(Code::kFailedPrecondition,
           "the collection 'summary_op' has " + std::to_string(found.size()) + " items, a hook writes one: merge them");
    if (found[0].dtype() != DType::kString)
      fail(Code::kInvalidArgument, "the summary operation " + found[0].text() + " is no string");
    return {Op(found[0])};
  }

  std::vector<std::string> names_;
  std::vector<Op> named_;  // outputs of the names in this graph
  std::vector<Op> ops_;
};

}  // namespace v0
}  // namespace belay
