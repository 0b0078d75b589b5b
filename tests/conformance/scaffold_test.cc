// SPDX-License-Identifier: Apache-2.0
// Scaffold: section 2 of the contract.
#include "runtime/monitored/saving/scaffold.h"

#include <type_traits>

#include "belay/ops/summaries.h"
#include "runtime/monitored/layers/session_creator.h"
#include "tests/monitored/saver_fixture.h"
#include "tests/monitored/scaffold_fixture.h"

namespace belay::runtime::testing {
namespace {

class ScaffoldConformance : public ScaffoldTest {};

TEST_F(ScaffoldConformance, SCAF_02_BothReadyOpsNameTheVariablesUntilTheyAreInitialized) {
  ops::variable(g, "weight", Tensor(1.0f));
  ops::variable(g, "seen", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
  SessionScaffold scaffold;
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

TEST_F(ScaffoldConformance, SCAF_03_AGraphWithoutVariablesHasAllTheOperationsAndIsReady) {
  SessionScaffold scaffold;
  scaffold.finalize(graph);
  open();
  run(scaffold.init_op());
  run(scaffold.local_init_op());
  EXPECT_EQ(names(scaffold.ready_op()), Names{});
  EXPECT_EQ(names(scaffold.ready_for_local_init_op()), Names{});
}

class SavingScaffold : public SaverTest {};

TEST_F(SavingScaffold, SCAF_03_TheSaverAcceptsAGraphWithoutVariables) {
  ScaffoldOptions pieces;
  pieces.saver = make_saver();
  SessionScaffold scaffold(pieces);
  scaffold.finalize(graph);
  const std::shared_ptr<DirectSession> session = open_session();
  scaffold.saver()->request();
  scaffold.saver()->at_boundary(*session, hooks);
  EXPECT_EQ(checkpoints(), (Names{"model.ckpt-0"}));
  EXPECT_TRUE(scaffold.saver()->restore_latest(*session, run.path()));
}

TEST_F(ScaffoldConformance, SCAF_04_TwoScaffoldsOfOneGraphShareTheirOperations) {
  ops::scalar_summary("weight", ops::variable(g, "weight", Tensor(1.0f)));
  SessionScaffold first, second;
  first.finalize(graph);
  const std::size_t size = graph.size();
  second.finalize(graph);
  EXPECT_EQ(graph.size(), size);
  using Piece = const Output& (SessionScaffold::*)() const noexcept;
  for (const Piece piece : {Piece(&SessionScaffold::init_op), Piece(&SessionScaffold::ready_op),
                            Piece(&SessionScaffold::ready_for_local_init_op), Piece(&SessionScaffold::local_init_op),
                            Piece(&SessionScaffold::summary_op)}) {
    EXPECT_EQ((first.*piece)().raw().node, (second.*piece)().raw().node);
  }
}

TEST_F(ScaffoldConformance, SCAF_05_TwoCandidatesInACollectionAreAnError) {
  for (const char* collection : {collections::kInitOp, collections::kReadyOp, collections::kReadyForLocalInitOp,
                                 collections::kLocalInitOp, collections::kSummaryOp}) {
    NodeGraph two(*ops);
    const belay::Graph handle = two.handle();
    handle.collect(collection, ops::no_op(handle, "a"));
    handle.collect(collection, ops::no_op(handle, "b"));
    EXPECT_EQ(error_of([&] { SessionScaffold().finalize(two); }),
              "FAILED_PRECONDITION: [B5088] More than one item in the graph's collection '" + std::string(collection) +
                  "' (2); give the piece to the Scaffold instead");
    EXPECT_FALSE(two.finalized());
  }
}

TEST_F(ScaffoldConformance, SCAF_06_WhatIsGivenWinsAndJoinsNoCollection) {
  const auto operation = [&](const char* name) { return ops::no_op(g, name); };
  ScaffoldOptions options;
  options.init_op = operation("init_a");
  options.ready_op = operation("ready_a");
  options.ready_for_local_init_op = operation("ready_for_local_a");
  options.local_init_op = operation("local_a");
  options.summary_op = operation("summary_a");
  g.collect(collections::kInitOp, operation("init_b"));
  SessionScaffold scaffold(options);
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

TEST_F(ScaffoldConformance, SCAF_07_TheGraphIsFrozen) {
  SessionScaffold().finalize(graph);
  EXPECT_EQ(
      error_of([&] { ops::no_op(g, "late"); }),
      "FAILED_PRECONDITION: Graph is finalized and cannot be modified: node 'late' (NoOp) was added after the session "
      "was made; add it in begin(), or before the session");
}

TEST_F(ScaffoldConformance, SCAF_10_OnlyAScaffoldCanBeCopiedFrom) {
  static_assert(std::is_constructible_v<SessionScaffold, const SessionScaffold&, ScaffoldOptions>);
  static_assert(!std::is_constructible_v<SessionScaffold, const std::string&, ScaffoldOptions>);
  static_assert(!std::is_constructible_v<SessionScaffold, NodeGraph&, ScaffoldOptions>);
  static_assert(!std::is_constructible_v<SessionScaffold, std::nullptr_t, ScaffoldOptions>);
}

TEST_F(ScaffoldConformance, SCAF_11_TheInitFunctionOfACopyGetsTheCopy) {
  std::vector<const SessionScaffold*> seen;
  ScaffoldOptions options;
  options.host_init = [&](const SessionScaffold& scaffold, DirectSession&) { seen.push_back(&scaffold); };
  const SessionScaffold original(options);
  const SessionScaffold copy(original, {});
  graph.finalize();
  DirectSession& session = open();
  original.init_fn()(session);
  copy.init_fn()(session);
  EXPECT_EQ(seen, (std::vector<const SessionScaffold*>{&original, &copy}));
}

TEST_F(ScaffoldConformance, SCAF_13_FinalizedAgainItAddsNothing) {
  ops::variable(g, "weight", Tensor(1.0f));
  SessionScaffold scaffold;
  scaffold.finalize(graph);
  const std::size_t size = graph.size();
  const belay_output init = scaffold.init_op().raw();
  scaffold.finalize(graph);
  EXPECT_EQ(graph.size(), size);
  EXPECT_EQ(scaffold.init_op().raw().node, init.node);
}

TEST_F(ScaffoldConformance, SCAF_13_EveryCreatedSessionFinalizesItAgain) {
  const auto scaffold = std::make_shared<SessionScaffold>();
  ChiefSessionCreator creator(graph, environment, {.scaffold = scaffold});
  creator.create_session();
  const std::size_t size = graph.size();
  creator.create_session();
  EXPECT_EQ(graph.size(), size);
}

TEST_F(ScaffoldConformance, PROSE_02_TheConstructorStoresAndFinalizeFillsTheGapsInOrder) {
  const Output weight = ops::variable(g, "weight", Tensor(1.0f));
  ops::scalar_summary("a", weight);
  ops::scalar_summary("b", weight);
  const std::size_t size = graph.size();
  SessionScaffold scaffold;
  EXPECT_EQ(graph.size(), size);
  for (const Output& piece : {scaffold.init_op(), scaffold.ready_op(), scaffold.ready_for_local_init_op(),
                              scaffold.local_init_op(), scaffold.summary_op()})
    EXPECT_FALSE(piece);
  EXPECT_TRUE(scaffold.init_feeds().empty());
  EXPECT_TRUE(scaffold.local_init_feeds().empty());
  EXPECT_FALSE(scaffold.init_fn());
  EXPECT_EQ(scaffold.saver(), nullptr);

  EXPECT_EQ(&scaffold.finalize(graph), &scaffold);
  std::uint32_t last = static_cast<std::uint32_t>(size) - 1;
  for (const Output& piece : {scaffold.init_op(), scaffold.ready_op(), scaffold.ready_for_local_init_op(),
                              scaffold.local_init_op(), scaffold.summary_op()}) {
    EXPECT_GT(piece.raw().node, last) << g.node_name_of(piece);
    last = piece.raw().node;
  }
  EXPECT_TRUE(graph.finalized());
  // The saver stays as it was given: it needs a directory, which the session has.
  EXPECT_EQ(scaffold.saver(), nullptr);
}

}  // namespace
}  // namespace belay::runtime::testing
