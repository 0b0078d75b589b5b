#include "runtime/monitored/scaffold.h"

#include "belay/ops/summaries.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {
namespace {

using Names = std::vector<std::string>;

class Scaffolds : public MonitoredTest {
 protected:
  DirectSession& open() {
    session_ = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
    return *session_;
  }
  // What a ready operation says.
  Names names(const Output& ready) {
    const RunResult result = session_->handle().run({ready});
    Names out;
    for (std::size_t i = 0; i < result[0].size(); ++i) out.emplace_back(result[0].text(i));
    return out;
  }
  void run(const Output& operation) { session_->handle().run({operation}); }

 private:
  std::shared_ptr<DirectSession> session_;
};

TEST_F(Scaffolds, MakeWhatIsMissing) {
  ops::variable(g, "weight", Tensor(1.0f));
  ops::variable(g, "seen", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
  Scaffold scaffold;
  EXPECT_FALSE(scaffold.init_op());
  EXPECT_EQ(&scaffold.finalize(graph), &scaffold);
  EXPECT_TRUE(graph.finalized());
  EXPECT_TRUE(scaffold.init_feeds().empty());
  EXPECT_TRUE(scaffold.local_init_feeds().empty());
  EXPECT_FALSE(scaffold.init_fn());
  EXPECT_FALSE(scaffold.summary_op());
  EXPECT_EQ(scaffold.saver(), nullptr);

  open();
  EXPECT_EQ(names(scaffold.ready_op()), (Names{"weight", "seen"}));
  EXPECT_EQ(names(scaffold.ready_for_local_init_op()), (Names{"weight"}));
  run(scaffold.init_op());
  EXPECT_EQ(names(scaffold.ready_op()), (Names{"seen"}));
  EXPECT_EQ(names(scaffold.ready_for_local_init_op()), Names{});
  run(scaffold.local_init_op());
  EXPECT_EQ(names(scaffold.ready_op()), Names{});
}

TEST_F(Scaffolds, AGraphWithoutVariablesIsReady) {
  Scaffold scaffold;
  scaffold.finalize(graph);
  open();
  run(scaffold.init_op());
  run(scaffold.local_init_op());
  EXPECT_EQ(names(scaffold.ready_op()), Names{});
  EXPECT_EQ(names(scaffold.ready_for_local_init_op()), Names{});
}

TEST_F(Scaffolds, FinalizedAgainAddsNothing) {
  ops::variable(g, "weight", Tensor(1.0f));
  Scaffold scaffold;
  scaffold.finalize(graph);
  const std::size_t size = graph.size();
  const belay_output init = scaffold.init_op().raw();
  scaffold.finalize(graph);
  EXPECT_EQ(graph.size(), size);
  EXPECT_EQ(scaffold.init_op().raw().node, init.node);
}

TEST_F(Scaffolds, OfOneGraphShareWhatTheyMake) {
  ops::scalar_summary("weight", ops::variable(g, "weight", Tensor(1.0f)));
  Scaffold first, second;
  first.finalize(graph);
  const std::size_t size = graph.size();
  second.finalize(graph);
  EXPECT_EQ(graph.size(), size);
  using Piece = const Output& (Scaffold::*)() const noexcept;
  for (const Piece piece :
       {Piece(&Scaffold::init_op), Piece(&Scaffold::ready_op), Piece(&Scaffold::ready_for_local_init_op),
        Piece(&Scaffold::local_init_op), Piece(&Scaffold::summary_op)}) {
    EXPECT_EQ((first.*piece)().raw().node, (second.*piece)().raw().node);
  }
}

TEST_F(Scaffolds, TakeWhatTheGraphsCollectionsHold) {
  const Output init = ops::no_op(g, "my_init"), local_init = ops::no_op(g, "my_local_init");
  g.collect(collections::kInitOp, init);
  g.collect(collections::kLocalInitOp, local_init);
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_EQ(g.node_name_of(scaffold.init_op()), "my_init");
  EXPECT_EQ(g.node_name_of(scaffold.local_init_op()), "my_local_init");
}

TEST_F(Scaffolds, TwoCandidatesInACollectionAreAnError) {
  for (const char* collection : {collections::kInitOp, collections::kReadyOp, collections::kReadyForLocalInitOp,
                                 collections::kLocalInitOp, collections::kSummaryOp}) {
    NodeGraph two(*ops);
    const belay::Graph handle = two.handle();
    handle.collect(collection, ops::no_op(handle, "a"));
    handle.collect(collection, ops::no_op(handle, "b"));
    EXPECT_EQ(error_of([&] { Scaffold().finalize(two); }),
              "FAILED_PRECONDITION: More than one item in the graph's collection '" + std::string(collection) +
                  "' (2); give the piece to the Scaffold instead");
    EXPECT_FALSE(two.finalized());
  }
}

TEST_F(Scaffolds, WhatIsGivenWinsAndJoinsNoCollection) {
  const auto operation = [&](const char* name) { return ops::no_op(g, name); };
  ScaffoldOptions options;
  options.init_op = operation("init_a");
  options.ready_op = operation("ready_a");
  options.ready_for_local_init_op = operation("ready_for_local_a");
  options.local_init_op = operation("local_a");
  options.summary_op = operation("summary_a");
  g.collect(collections::kInitOp, operation("init_b"));
  Scaffold scaffold(options);
  const std::size_t size = graph.size();
  scaffold.finalize(graph);
  EXPECT_EQ(graph.size(), size);
  EXPECT_EQ(g.node_name_of(scaffold.init_op()), "init_a");
  EXPECT_EQ(g.node_name_of(scaffold.ready_op()), "ready_a");
  EXPECT_EQ(g.node_name_of(scaffold.ready_for_local_init_op()), "ready_for_local_a");
  EXPECT_EQ(g.node_name_of(scaffold.local_init_op()), "local_a");
  EXPECT_EQ(g.node_name_of(scaffold.summary_op()), "summary_a");
  EXPECT_EQ(g.collection_size(collections::kInitOp), 1u);
  EXPECT_EQ(g.collection_size(collections::kReadyOp), 0u);
}

TEST_F(Scaffolds, AllSummariesBecomeOne) {
  const Output weight = ops::variable(g, "weight", Tensor(1.0f));
  ops::scalar_summary("a", weight);
  ops::scalar_summary("b", weight);
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_EQ(g.node_name_of(scaffold.summary_op()), "merged_summaries");
  EXPECT_EQ(g.collection_size(collections::kSummaryOp), 1u);
}

TEST_F(Scaffolds, TheGraphIsFrozen) {
  Scaffold().finalize(graph);
  EXPECT_EQ(
      error_of([&] { ops::no_op(g, "late"); }),
      "FAILED_PRECONDITION: Graph is finalized and cannot be modified: node 'late' (NoOp) was added after the session "
      "was made; add it in begin(), or before the session");
}

TEST_F(Scaffolds, TheInitFunctionGetsItsOwnScaffold) {
  std::vector<const Scaffold*> seen;
  ScaffoldOptions options;
  options.init_fn = [&](const Scaffold& scaffold, DirectSession&) { seen.push_back(&scaffold); };
  const Scaffold original(options);
  const Scaffold copy(original, {});
  graph.finalize();
  DirectSession& session = open();
  original.init_fn()(session);
  copy.init_fn()(session);
  EXPECT_EQ(seen, (std::vector<const Scaffold*>{&original, &copy}));
}

TEST_F(Scaffolds, ACopyKeepsWhatItIsNotGiven) {
  const Output x = ops::placeholder(g, DType::kFloat32, {}, "x");
  ScaffoldOptions options;
  options.init_op = ops::no_op(g, "init_a");
  options.ready_op = ops::no_op(g, "ready_a");
  options.init_feeds = {{x, Tensor(1.0f)}};
  const Scaffold original(options);
  ScaffoldOptions other;
  other.ready_op = ops::no_op(g, "ready_b");
  other.local_init_feeds = {{x, Tensor(2.0f)}};
  const Scaffold copy(original, other);
  EXPECT_EQ(g.node_name_of(copy.init_op()), "init_a");
  EXPECT_EQ(g.node_name_of(copy.ready_op()), "ready_b");
  EXPECT_EQ(copy.init_feeds().size(), 1u);
  EXPECT_EQ(copy.local_init_feeds().size(), 1u);
  EXPECT_TRUE(original.local_init_feeds().empty());
}

}  // namespace
}  // namespace belay::runtime::testing
