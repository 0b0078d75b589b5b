// Summaries: string scalars that hold a serialized tensorboard Summary, for summary_saver to write.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Joins the collection "summaries", which the session merges and summary_saver writes.
inline Output scalar_summary(std::string_view tag, const Output& value, std::string_view name = {}) {
  const Graph g = value.graph();
  const Output s = g.node("ScalarSummary", name.empty() ? std::string_view("ScalarSummary") : name)
                       .in(value)
                       .attr("tag", tag)
                       .output();
  g.collect(collections::kSummaries, s);
  return s;
}
inline Output merge_summary(const Graph& g, const std::vector<Output>& summaries, std::string_view name = {}) {
  return g.node("MergeSummary", name).in(summaries).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
