// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/default_pieces.h"

#include "belay/ops/control.h"
#include "belay/ops/summaries.h"
#include "belay/ops/variables.h"

namespace belay::runtime {
namespace {

std::vector<Output> joined(const belay::Graph& g, std::initializer_list<const char*> collections) {
  std::vector<Output> all;
  for (const char* c : collections)
    for (const Output& o : g.collection(c)) all.push_back(o);
  return all;
}

}  // namespace

Output default_init_op(const belay::Graph& g) { return ops::group(g, g.collection("variable_init"), "init"); }

Output default_ready_op(const belay::Graph& g) {
  return ops::report_uninitialized_variables(
      g, joined(g, {collections::kGlobalVariables, collections::kLocalVariables}), "report_uninitialized_variables");
}

Output default_ready_for_local_init_op(const belay::Graph& g) {
  return ops::report_uninitialized_variables(g, g.collection(collections::kGlobalVariables),
                                             "report_uninitialized_global_variables");
}

Output default_local_init_op(const belay::Graph& g) {
  return ops::group(g, joined(g, {"local_variable_init", collections::kTableInitializers}), "local_init");
}

Output default_summary_op(const belay::Graph& g) {
  const std::vector<Output> summaries = g.collection(collections::kSummaries);
  return summaries.empty() ? Output() : ops::merge_summary(g, summaries, "merged_summaries");
}

}  // namespace belay::runtime
