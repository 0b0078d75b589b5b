// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/scaffold.h"

#include "belay/ops/summaries.h"
#include "tests/monitored/scaffold_fixture.h"

namespace belay::runtime::testing {
namespace {

class Scaffolds : public ScaffoldTest {};

TEST_F(Scaffolds, TakeWhatTheGraphsCollectionsHold) {
  const Output init = ops::no_op(g, "my_init"), local_init = ops::no_op(g, "my_local_init");
  g.collect(collections::kInitOp, init);
  g.collect(collections::kLocalInitOp, local_init);
  SessionScaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_EQ(g.node_name_of(scaffold.init_op()), "my_init");
  EXPECT_EQ(g.node_name_of(scaffold.local_init_op()), "my_local_init");
}

TEST_F(Scaffolds, AllSummariesBecomeOne) {
  const Output weight = ops::variable(g, "weight", Tensor(1.0f));
  ops::scalar_summary("a", weight);
  ops::scalar_summary("b", weight);
  SessionScaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_EQ(g.node_name_of(scaffold.summary_op()), "merged_summaries");
  EXPECT_EQ(g.collection_size(collections::kSummaryOp), 1u);
}

TEST_F(Scaffolds, ACopyKeepsWhatItIsNotGiven) {
  const Output x = ops::placeholder(g, DType::kFloat32, {}, "x");
  ScaffoldOptions options;
  options.init_op = ops::no_op(g, "init_a");
  options.ready_op = ops::no_op(g, "ready_a");
  options.init_feeds = {{x, Tensor(1.0f)}};
  const SessionScaffold original(options);
  ScaffoldOptions other;
  other.ready_op = ops::no_op(g, "ready_b");
  other.local_init_feeds = {{x, Tensor(2.0f)}};
  const SessionScaffold copy(original, other);
  EXPECT_EQ(g.node_name_of(copy.init_op()), "init_a");
  EXPECT_EQ(g.node_name_of(copy.ready_op()), "ready_b");
  EXPECT_EQ(copy.init_feeds().size(), 1u);
  EXPECT_EQ(copy.local_init_feeds().size(), 1u);
  EXPECT_TRUE(original.local_init_feeds().empty());
}

}  // namespace
}  // namespace belay::runtime::testing
