// SPDX-License-Identifier: Apache-2.0
// The gradient of a table that gathers read: rows with ids from the loss to the update.
#include "runtime/optimizer/sparse_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/testing/allocations.h"
#include "plugins/default_plugins.h"
#include "tests/session/session_fixture.h"

BELAY_COUNT_ALLOCATIONS

namespace belay::runtime::testing {
namespace {

constexpr std::int64_t kEntries = 50, kWidth = 8;
using Ids = std::vector<std::int64_t>;

// A table that two gathers read. With `also_densely` the loss has it as a whole too, times 0, so its gradient is dense.
class Table : public SessionTest {
 public:
  Table(const OptimizerSettings& settings, bool also_densely, DType dtype = DType::kFloat32,
        std::int64_t entries = kEntries) {
    Tensor initial(dtype, {entries, kWidth});
    for (std::size_t i = 0; i < initial.size(); ++i) {
      const double x = std::sin(static_cast<double>(i % 4001));
      if (dtype == DType::kFloat32) {
        initial.data<float>()[i] = static_cast<float>(x);
      } else {
        initial.data<double>()[i] = x;
      }
    }
    table = ops::variable(g, "table", initial);
    a = ops::placeholder(g, DType::kInt64, {-1}, "a"), b = ops::placeholder(g, DType::kInt32, {-1, 2}, "b");
    loss = ops::reduce_sum(ops::square(ops::gather(table, a))) + ops::reduce_sum(ops::exp(ops::gather(table, b)));
    if (also_densely) loss = loss + ops::reduce_sum(table) * ops::scalar(g, 0, dtype);
    train = minimize(g, loss, LinkedOptimizer(settings, default_plugins()).use());
    gradient = g.collection(collections::kGradients).at(0);
    norm = ops::global_norm({gradient});
  }
  void TestBody() override {}
  void start(int threads = 1) {
    DirectSessionOptions options;
    options.threads = threads;
    open(options);
    initialize();
  }
  void step(const Ids& of_a, const std::vector<std::int32_t>& of_b) {
    session().handle().run({train}, feeds(of_a, of_b));
  }
  std::vector<std::pair<Output, Tensor>> feeds(const Ids& of_a, const std::vector<std::int32_t>& of_b) const {
    return {{a, Tensor({static_cast<std::int64_t>(of_a.size())}, of_a)},
            {b, Tensor({static_cast<std::int64_t>(of_b.size()) / 2, 2}, of_b)}};
  }
  std::vector<double> numbers(const Output& o) {
    const RunResult r = session().handle().run({o});
    std::vector<double> all;
    for (std::size_t i = 0; i < r[0].size(); ++i) all.push_back(r[0].number(i));
    return all;
  }
  bool is_sparse() const { return graph.find_node("sparse_gradients/table") != nullptr; }
  using SessionTest::g, SessionTest::graph, SessionTest::session, SessionTest::values;

  Output table, a, b, loss, train, gradient, norm;
};

OptimizerSettings named(const char* name, std::vector<PluginOption> options = {}) {
  OptimizerSettings s;
  s.name = name;
  s.learning_rate.learning_rate = 0.125;
  s.options = std::move(options);
  return s;
}

void train_both(Table& one, Table& other, int threads = 1) {
  one.start(threads), other.start();
  for (const Ids& ids : {Ids{3, 3, 49, 0, 3}, Ids{7}, Ids{}, Ids{0, 7, 7, 12, 30}})
    for (Table* t : {&one, &other}) t->step(ids, {3, 5, 3, 3, 49, 0});
}

TEST(SparseGradients, T_173_SgdAndAdagradTrainToTheBitsOfTheDenseForm) {
  for (const char* name : {"sgd", "adagrad"})
    for (const DType dtype : {DType::kFloat32, DType::kFloat64})
      for (const auto& [clip_value, batches] : {std::pair{0.0, 1}, std::pair{0.5, 1}, std::pair{0.0, 3}}) {
        SCOPED_TRACE(name + std::string(", batches of a step: ") + std::to_string(batches));
        OptimizerSettings s = named(name);
        s.clip_value = clip_value;
        s.accumulate = batches;
        Table sparse(s, false, dtype), dense(s, true, dtype);
        ASSERT_TRUE(sparse.is_sparse());
        ASSERT_FALSE(dense.is_sparse());
        train_both(sparse, dense, 2);
        EXPECT_EQ(sparse.numbers(sparse.table), dense.numbers(dense.table));
        if (name == std::string("adagrad")) {
          EXPECT_EQ(sparse.numbers(sparse.g.find("table/Adagrad")), dense.numbers(dense.g.find("table/Adagrad")));
        }
      }
}

TEST(SparseGradients, TheNormOfTheRowsIsThatOfTheDenseForm) {
  OptimizerSettings s = named("sgd");
  s.clip_norm = 0.5;
  Table sparse(s, false, DType::kFloat64), dense(s, true, DType::kFloat64);
  train_both(sparse, dense);
  const auto norm_of = [](Table& t) {
    const RunResult r = t.session().handle().run({t.norm}, t.feeds({1, 1, 2}, {1, 9}));
    return r[0].number(0);
  };
  EXPECT_NEAR(norm_of(sparse), norm_of(dense), 1e-12);
  const std::vector<double> of_sparse = sparse.numbers(sparse.table), of_dense = dense.numbers(dense.table);
  for (std::size_t i = 0; i < of_dense.size(); ++i) ASSERT_NEAR(of_sparse[i], of_dense[i], 1e-13) << i;
}

TEST(SparseGradients, T_173_AStepHasNoMemoryOfTheTablesSize) {
  constexpr std::int64_t kMany = 100000;
  for (const OptimizerSettings& s :
       {named("sgd"), named("momentum"), named("adagrad"), named("ftrl"), named("adam", {{"lazy", true}})}) {
    OptimizerSettings clipped = s;
    clipped.clip_norm = 1;
    Table sparse(clipped, false, DType::kFloat32, kMany), dense(clipped, true, DType::kFloat32, kMany);
    sparse.start(), dense.start();
    const auto table_bytes = static_cast<std::size_t>(kMany * kWidth) * sizeof(float);
    for (Table* t : {&sparse, &dense}) {
      FetchSet fetches(std::vector<FetchRef>{t->train, t->norm});
      std::vector<belay_feed> fed;
      const auto given = t->feeds({1, 2, 99999}, {5, 6});
      for (const auto& [o, value] : given) fed.push_back({o.raw(), value.view()});
      RunRequest request;
      request.fetches = &fetches;
      request.feeds = fed;
      t->session().run(request);
      const std::size_t bytes = t->session().plan_stats(&fetches).arena_bytes;
      EXPECT_EQ(bytes >= table_bytes, t == &dense) << s.name << ": " << bytes;
    }
  }
}

TEST(SparseGradients, RowsWithoutAGradientStayAsTheyAre) {
  for (const OptimizerSettings& s : {named("momentum"), named("ftrl"), named("adam", {{"lazy", true}})}) {
    SCOPED_TRACE(s.name);
    Table t(s, false);
    t.start();
    t.step({3}, {5, 5});
    const std::vector<double> after_one = t.numbers(t.table);
    t.step({4}, {5, 5});
    const std::vector<double> after_two = t.numbers(t.table);
    for (std::int64_t row = 0; row < kEntries; ++row) {
      const auto at = static_cast<std::size_t>(row * kWidth);
      EXPECT_EQ(after_one[at] == after_two[at], row != 4 && row != 5) << row;
    }
  }
}

// The first gradient of a row: the moments begin at 0 in both forms.
TEST(SparseGradients, LazyAdamMovesARowLikeAdam) {
  Table lazy(named("adam", {{"lazy", true}}), false), dense(named("adam"), true);
  lazy.start(), dense.start();
  for (Table* t : {&lazy, &dense}) t->step({3, 3, 8}, {5, 5});
  EXPECT_EQ(lazy.numbers(lazy.table), dense.numbers(dense.table));
  EXPECT_EQ(lazy.numbers(lazy.g.find("table/Adam_1")), dense.numbers(dense.g.find("table/Adam_1")));
}

TEST(SparseGradients, WithoutARuleTheGradientIsDenseAndALineSaysSo) {
  struct Case {
    OptimizerSettings settings;
    std::string line;
  };
  const std::string of_table = "the gradient of 'table' is dense, since ",
                    all = ": each step reads and writes all rows";
  for (const Case& c :
       {Case{named("rmsprop"), of_table + "the optimizer takes no sparse gradients" + all},
        Case{named("adam"), of_table + "the optimizer takes no sparse gradients" + all}, Case{named("sgd"), ""}}) {
    ::testing::internal::CaptureStderr();
    const Table t(c.settings, false);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(t.is_sparse(), c.line.empty());
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), c.line.empty() ? 0 : 1) << log;
    EXPECT_THAT(log, ::testing::HasSubstr(c.line));
  }
}

// The batches of a step have their rows one after the other in memory that is made once.
TEST(SparseGradients, AStepOfSeveralBatchesHasNoMemoryOfTheTablesSizeAndAllocatesNothing) {
  constexpr std::int64_t kMany = 100000;
  OptimizerSettings s = named("sgd");
  s.accumulate = 4;
  Table t(s, false, DType::kFloat32, kMany);
  t.start();
  FetchSet fetches(std::vector<FetchRef>{t.train});
  const auto given = t.feeds({1, 2, 99999}, {5, 6});
  std::vector<belay_feed> fed;
  for (const auto& [o, value] : given) fed.push_back({o.raw(), value.view()});
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = fed;
  for (int i = 0; i < 5; ++i) t.session().run(request);
  EXPECT_LT(t.session().plan_stats(&fetches).arena_bytes, static_cast<std::size_t>(kMany * kWidth));
  const std::uint64_t before = belay::testing::allocations();
  for (int i = 0; i < 20; ++i) t.session().run(request);
  EXPECT_EQ(belay::testing::allocations() - before, 0U);
}

// Tools that compare two runs find nodes by their names.
TEST(SparseGradients, TheNodesThatClipHaveTheNamesOfTheDenseForm) {
  OptimizerSettings s = named("sgd");
  s.clip_norm = 0.5;
  s.clip_value = 0.25;
  const Table sparse(s, false), dense(s, true);
  const auto clipped_by = [](const Table& t, const char* update) {
    const Node& node = *t.graph.find_node(update);
    return t.graph.node(node.inputs[2].node).name;
  };
  EXPECT_EQ(clipped_by(sparse, "train/update_table"), clipped_by(dense, "train/update_table"));
}

TEST(SparseGradients, ATableThatIsUsedAsAWholeHasADenseGradientWithoutALine) {
  ::testing::internal::CaptureStderr();
  const Table t(named("rmsprop"), true);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(t.is_sparse());
}

TEST_F(SessionTest, OnlyAGatherOfWholeRowsOfTheVariableItselfIsSparse) {
  const Output v = ops::variable(g, "v", Tensor({4, 3}, std::vector<float>(12)));
  const Output ids = ops::constant(g, Tensor({2}, Ids{0, 2}));
  const auto parts = [&](const Output& y) {
    return slices_of(g, {v, g.gradients({ops::reduce_sum(y)}, {v})[0]}).size();
  };
  EXPECT_EQ(parts(ops::gather(v, ids)), 1u);
  EXPECT_EQ(parts(ops::gather(v, ids) + ops::gather(v, ids) * 2.0), 2u);
  EXPECT_EQ(parts(ops::gather(v, ids, -2)), 1u);
  EXPECT_EQ(parts(ops::gather(v, ids, 1)), 0u);
  EXPECT_EQ(parts(ops::gather(ops::square(v), ids)), 0u);
  EXPECT_EQ(parts(v), 0u);
}

}  // namespace
}  // namespace belay::runtime::testing
