// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/direct_session.h"

#include <cstring>

#include "belay/ops/tables.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

TEST_F(SessionTest, FetchesAConstant) {
  const Output c = ops::constant(g, Tensor(2.5f));
  open();
  EXPECT_EQ(value<float>(c), 2.5f);
}

TEST_F(SessionTest, AVariableIsReadAsItIsBeforeTheRunWrites) {
  const Output v = ops::variable(g, "v", Tensor(1.0f));
  const Output add = ops::assign_add(v, ops::constant(g, Tensor(2.0f)));
  open();
  initialize();
  const RunResult r = session().handle().run({v, add});
  EXPECT_EQ(r[0].scalar<float>(), 1.0f);
  EXPECT_EQ(r[1].scalar<float>(), 3.0f);
  EXPECT_EQ(value<float>(v), 3.0f);
}

TEST_F(SessionTest, AReadThatFollowsAWriteSeesIt) {
  const Output v = ops::variable(g, "v", Tensor(1.0f));
  const Output add = ops::assign_add(v, ops::constant(g, Tensor(2.0f)));
  Output after;
  {
    const auto scope = g.after({add});
    after = ops::identity(v, "after");
  }
  open();
  initialize();
  const RunResult r = session().handle().run({v, after});
  EXPECT_EQ(r[0].scalar<float>(), 1.0f);
  EXPECT_EQ(r[1].scalar<float>(), 3.0f);
}

TEST_F(SessionTest, SwappingTwoVariablesInOneRunSwapsThem) {
  const Output a = ops::variable(g, "a", Tensor(1.0f));
  const Output b = ops::variable(g, "b", Tensor(2.0f));
  const Output swap = ops::group(g, {ops::assign(a, b), ops::assign(b, a)});
  open();
  initialize();
  run(swap);
  EXPECT_EQ(value<float>(a), 2.0f);
  EXPECT_EQ(value<float>(b), 1.0f);
}

TEST_F(SessionTest, ACopyOfAVariableHasAllOfIt) {
  const auto filled = [](float v) { return Tensor({3, 333}, std::vector<float>(999, v)); };
  const Output a = ops::variable(g, "a", filled(1));
  const Output b = ops::variable(g, "b", filled(2));
  const Output swap = ops::group(g, {ops::assign(a, b), ops::assign(b, a)});
  open();
  initialize();
  run(swap);
  EXPECT_EQ(values<float>(a), std::vector<float>(999, 2.0f));
  EXPECT_EQ(values<float>(b), std::vector<float>(999, 1.0f));
}

TEST_F(SessionTest, AnUninitializedVariableIsNamed) {
  const Output v = ops::variable(g, "v", Tensor(1.0f));
  open();
  EXPECT_EQ(error_of([&] { value<float>(v); }), "FAILED_PRECONDITION: [B5073] Attempting to use uninitialized value v");
}

TEST_F(SessionTest, AFailingRunChangesNothing) {
  const Output a = ops::variable(g, "a", Tensor(std::int64_t{0}));
  const Output n = ops::variable(g, "n", Tensor(std::int64_t{0}));
  const Output both =
      ops::group(g, {ops::assign_add(a, ops::constant(g, Tensor(std::int64_t{1}))), ops::count_up_to(n, 2)});
  open();
  initialize();
  run(both);
  run(both);
  EXPECT_EQ(error_of([&] { run(both); }), "OUT_OF_RANGE: node 'CountUpTo' (CountUpTo): Reached limit of 2");
  EXPECT_EQ(value<std::int64_t>(a), 2);
  EXPECT_EQ(value<std::int64_t>(n), 2);
}

TEST_F(SessionTest, APlaceholderMustBeFedWithItsShape) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Output y = ops::identity(x, "y");
  open();
  EXPECT_EQ(values<float>(y, {{x, Tensor({1, 2}, {3.0f, 4.0f})}}), (std::vector<float>{3, 4}));
  EXPECT_EQ(values<float>(y, {{x, Tensor({2, 2}, {3.0f, 4.0f, 5.0f, 6.0f})}}), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(error_of([&] { value<float>(y); }),
            "INVALID_ARGUMENT: [B5072] You must feed a value for placeholder 'x' (float32 [?, 2])");
  EXPECT_EQ(error_of([&] {
              values<float>(y, {{x, Tensor({3}, {3.0f, 4.0f, 5.0f})}});
            }),
            "INVALID_ARGUMENT: [B5072] cannot feed a float32 value of shape [3] for 'x:0', which is float32 [?, 2]");
}

TEST_F(SessionTest, ReportsUninitializedVariablesByName) {
  const Output a = ops::variable(g, "a", Tensor(1.0f));
  const Output b = ops::variable(g, "b", Tensor(1.0f));
  const Output report = ops::report_uninitialized_variables(g, {a, b});
  const Output set_a = ops::assign(a, ops::constant(g, Tensor(1.0f)));
  open();
  EXPECT_EQ(session().handle().run({report})[0].size(), 2u);
  run(set_a);
  const RunResult r = session().handle().run({report});
  ASSERT_EQ(r[0].size(), 1u);
  EXPECT_EQ(r[0].text(0), "b");
}

// An input's thread, an evaluation beside the training: they must not take the processors of the hooked run.
TEST_F(SessionTest, OnlyARunWithTheFullTeamHasMoreThanOneThread) {
  const Output x = ops::constant(g, Tensor(1.0f));
  DirectSessionOptions options;
  options.threads = 2;
  open(options);
  FetchSet fetches(std::vector<FetchRef>{x});
  RunRequest request;
  request.fetches = &fetches;
  session().run(request);
  EXPECT_EQ(session().plan_of(fetches)->key.threads, 1);
  request.full_team = true;
  session().run(request);
  EXPECT_EQ(session().plan_of(fetches)->key.threads, 2);
}

// Data that the set remembers from another graph (the node, the place of its value) must not be taken for this one's.
TEST_F(SessionTest, T_07_AFetchSetOfAnotherGraphIsRefusedHoweverItWasUsed) {
  ops::constant(g, Tensor(1.0f), "own");
  open();
  NodeGraph other(*ops);
  std::vector<FetchRef> wanted;
  for (int i = 0; i < 40; ++i)
    wanted.emplace_back(ops::constant(other.handle(), Tensor(static_cast<float>(i)), "other_" + std::to_string(i)));
  other.finalize();
  DirectSession its_own(other, std::make_shared<VariableStore>(), {});
  for (const std::size_t i : {std::size_t{0}, std::size_t{39}}) {
    FetchSet fresh({wanted[i]}), used({wanted[i]});
    RunRequest request;
    request.fetches = &fresh;
    const std::string refused = error_of([&] { session().run(request); });
    EXPECT_EQ(refused.substr(0, 30), "INVALID_ARGUMENT: cannot fetch");
    request.fetches = &used;
    its_own.run(request);
    EXPECT_EQ(error_of([&] { session().run(request); }), refused);
    // And as a hook's.
    FetchSet none;
    FetchSet* const hook_fetches[] = {&used};
    request.fetches = &none;
    request.hook_fetches = hook_fetches;
    EXPECT_EQ(error_of([&] { session().run(request); }), refused);
    // It has not lost its own.
    request.fetches = &used;
    request.hook_fetches = {};
    const auto values = its_own.run(request);
    EXPECT_EQ(TensorView(values.result(used, 0)).number(0), static_cast<double>(i));
  }
}

TEST_F(SessionTest, T_43d_InitialValuesTakeTurnsInMemory) {
  constexpr std::int64_t kElements = 1 << 16, kVariables = 8;
  std::vector<Output> variables;
  for (std::int64_t i = 0; i < kVariables; ++i)
    variables.push_back(ops::variable(g, "v" + std::to_string(i), ops::random_normal(g, {kElements}, 0, 1)));
  open();
  std::vector<belay_output> initializers;
  for (const Port& p : graph.collection("variable_init")) initializers.push_back({graph.serial(), p.node, p.index});
  FetchSet fetches(initializers.data(), initializers.size());
  RunRequest request;
  request.fetches = &fetches;
  session().run(request);
  EXPECT_LE(session().plan_stats(&fetches).arena_bytes, 2 * kElements * sizeof(float));
  const std::vector<float> first = values<float>(variables[0]);
  EXPECT_NE(values<float>(variables[7]), first);
  // The numbers that another session draws, one variable at a time.
  DirectSession other(graph, std::make_shared<VariableStore>(), {});
  other.run_once({graph.collection("variable_init")[0]});
  EXPECT_EQ(std::memcmp(other.variables()[0]->value.data(), first.data(), kElements * sizeof(float)), 0);
}

// An initial value that is also fetched, or read by anything but its assignment, stays before the commit.
TEST_F(SessionTest, T_43d_AnInitialValueThatIsUsedTwiceIsTheSame) {
  const Output x = ops::random_normal(g, {100}, 0, 1);
  const Output v = ops::variable(g, "v", x), w = ops::variable(g, "w", x * 2.0f);
  open();
  initialize();
  const std::vector<float> once = values<float>(v), twice = values<float>(w);
  for (std::size_t i = 0; i < once.size(); ++i) ASSERT_EQ(twice[i], once[i] * 2) << i;
}

TEST_F(SessionTest, RandomNumbersDependOnSeedNameAndStepOnly) {
  const Output step = ops::create_global_step(g);
  const Output x = ops::random_uniform(g, {5}, 0, 1, DType::kFloat32, "x");
  const Output y = ops::random_uniform(g, {5}, 0, 1, DType::kFloat32, "y");
  const Output next = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
  open();
  initialize();
  const std::vector<float> first = values<float>(x);
  EXPECT_EQ(values<float>(x), first);
  EXPECT_NE(values<float>(y), first);
  run(next);
  EXPECT_NE(values<float>(x), first);
}

TEST_F(SessionTest, AsksWhetherAVariableHasAValue) {
  const Output v = ops::variable(g, "v", Tensor({2}, {1.0f, 2.0f}));
  const Output write = ops::assign_add(v, ops::constant(g, Tensor({2}, {1.0f, 1.0f})));
  const Output asked = ops::is_variable_initialized(v), of_a_write = ops::is_variable_initialized(write);
  EXPECT_EQ(asked.dtype(), DType::kBool);
  EXPECT_EQ(asked.rank(), 0);
  open();
  EXPECT_FALSE(value<bool>(asked));
  initialize();
  EXPECT_TRUE(value<bool>(asked));
  EXPECT_TRUE(value<bool>(of_a_write)) << "a write names its variable";
}

TEST_F(SessionTest, WhatIsNoVariableOrTableIsNamed) {
  const Output c = ops::constant(g, Tensor(1.0f), "c"), word = ops::constant(g, Tensor(std::int64_t{1}));
  const Output asked = ops::is_variable_initialized(c), set = ops::assign(c, c);
  const Output report = ops::report_uninitialized_variables(g, {c});
  const Output found = ops::lookup({c, DType::kInt64, DType::kInt64}, word, word, "find");
  open();
  EXPECT_EQ(error_of([&] { run(asked); }),
            "INVALID_ARGUMENT: node 'IsVariableInitialized' (IsVariableInitialized): [B5074] 'c:0' is not a variable");
  EXPECT_EQ(
      error_of([&] { run(report); }),
      "INVALID_ARGUMENT: node 'ReportUninitializedVariables' (ReportUninitializedVariables): [B5074] 'c:0' is not a "
      "variable");
  EXPECT_EQ(error_of([&] { run(set); }), "INVALID_ARGUMENT: [B5074] 'c:0' is not a variable");
  EXPECT_EQ(error_of([&] { run(found); }), "INVALID_ARGUMENT: node 'find' (TableLookup): [B5074] 'c' is not a table");
}

TEST_F(SessionTest, CountsInInt32Too) {
  const Output n = ops::variable(g, "n", Tensor(std::int32_t{-1}));
  const Output count = ops::count_up_to(n, 1);
  EXPECT_EQ(count.dtype(), DType::kInt32);
  open();
  initialize();
  EXPECT_EQ(value<std::int32_t>(count), 0);
  EXPECT_EQ(value<std::int32_t>(count), 1);
  EXPECT_EQ(error_of([&] { run(count); }), "OUT_OF_RANGE: node 'CountUpTo' (CountUpTo): Reached limit of 1");
  EXPECT_EQ(value<std::int32_t>(n), 1);
}

template <class T>
class UpdatesOfDtype : public SessionTest {};
using UpdateTypes = ::testing::Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(UpdatesOfDtype, UpdateTypes);

TYPED_TEST(UpdatesOfDtype, AddAndSubtract) {
  constexpr std::size_t kSize = 70'001;  // more than one thread's share
  std::vector<TypeParam> start(kSize), step(kSize), sum(kSize), rest(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    start[i] = static_cast<TypeParam>(100 + i % 50);
    step[i] = static_cast<TypeParam>(1 + i % 17);
    sum[i] = static_cast<TypeParam>(start[i] + step[i]);
    rest[i] = static_cast<TypeParam>(start[i] - step[i]);
  }
  const Dims dims{static_cast<std::int64_t>(kSize)};
  const Output v = ops::variable(this->g, "v", Tensor(dims, start));
  const Output by = ops::constant(this->g, Tensor(dims, step));
  const Output add = ops::assign_add(v, by), subtract = ops::assign_sub(v, by);
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    DirectSessionOptions options;
    options.threads = threads;
    this->open(options);
    this->initialize();
    FetchSet added(std::vector<FetchRef>{add}), subtracted(std::vector<FetchRef>{subtract});
    const auto run = [&](FetchSet& fetches) {
      RunRequest request;
      request.fetches = &fetches;
      request.full_team = true;
      const Run result = this->session().run(request);
      const TensorView t(result.result(fetches, 0));
      const auto* data = t.data<const TypeParam>();
      return std::vector<TypeParam>(data, data + t.size());
    };
    EXPECT_EQ(run(added), sum);
    EXPECT_EQ(run(subtracted), start);
    EXPECT_EQ(run(subtracted), rest);
  }
}

TEST_F(SessionTest, BadVariablesAndWritesAreNamed) {
  const auto made = [&](DType dtype, const Dims& dims) {
    return error_of([&] { g.node("Variable", "bad").attr("dtype", dtype).attr("shape", dims).output(); });
  };
  EXPECT_EQ(made(DType::kString, {2}), "INVALID_ARGUMENT: node 'bad' (Variable): a variable is a number or boolean");
  EXPECT_EQ(made(DType::kInvalid, {2}),
            "INVALID_ARGUMENT: node 'bad' (Variable): attribute 'dtype' is 0, which is no dtype");
  EXPECT_EQ(made(DType::kFloat32, {2, -1}),
            "INVALID_ARGUMENT: node 'bad' (Variable): a variable's shape must be known, got [2, ?]");
  EXPECT_EQ(error_of([&] { ops::variable(g, "bad", ops::placeholder_of_any_rank(g, DType::kFloat32)); }),
            "INVALID_ARGUMENT: variable 'bad': the initial value's shape must be known");
  const Output v = ops::variable(g, "v", Tensor({2}, {1.0f, 2.0f}));
  const Output three = ops::constant(g, Tensor({3}, {1.0f, 2.0f, 3.0f}));
  const Output whole = ops::constant(g, Tensor({2}, {1, 2})), flag = ops::variable(g, "flag", Tensor(true));
  EXPECT_EQ(error_of([&] { ops::assign(v, three); }),
            "INVALID_ARGUMENT: node 'Assign' (Assign): the variable has shape [2], the value [3]");
  EXPECT_EQ(error_of([&] { ops::assign_add(v, three); }),
            "INVALID_ARGUMENT: node 'AssignAdd' (AssignAdd): the variable has shape [2], the value [3]");
  EXPECT_EQ(error_of([&] { ops::assign_sub(v, whole); }),
            "INVALID_ARGUMENT: node 'AssignSub' (AssignSub): input 0 (float32 [2]) and input 1 (int32 [2]) must have "
            "the same dtype");
  EXPECT_EQ(error_of([&] { ops::assign_add(flag, flag); }),
            "INVALID_ARGUMENT: node 'AssignAdd' (AssignAdd): input 0 (bool []) must be a number");
  EXPECT_EQ(error_of([&] { ops::count_up_to(v, 3); }),
            "INVALID_ARGUMENT: node 'CountUpTo' (CountUpTo): input 0 (float32 [2]) must be a scalar");
  const Output n = ops::variable(g, "n", Tensor(std::int32_t{0}));
  EXPECT_EQ(error_of([&] { ops::count_up_to(n, std::int64_t{1} << 31); }),
            "INVALID_ARGUMENT: node 'CountUpTo' (CountUpTo): attribute 'limit' must fit int32, got 2147483648");
  EXPECT_EQ(error_of([&] { ops::count_up_to(n, (std::int64_t{1} << 31) - 1); }), "no error");
  EXPECT_EQ(error_of([&] { ops::count_up_to(ops::variable(g, "f", Tensor(1.0f)), 3); }),
            "INVALID_ARGUMENT: node 'CountUpTo' (CountUpTo): input 0 (float32 []) must be int32 or int64");
}

TEST_F(SessionTest, AValueOfAnotherShapeIsFoundWhenItRuns) {
  const Output v = ops::variable(g, "v", Tensor({2}, {1.0f, 2.0f}));
  const Output x = ops::placeholder_of_any_rank(g, DType::kFloat32, "x");
  const std::vector<std::pair<Output, std::string>> writes = {
      {ops::assign(v, x), "Assign"}, {ops::assign_add(v, x), "AssignAdd"}, {ops::assign_sub(v, x), "AssignSub"}};
  open();
  initialize();
  for (const auto& [write, name] : writes)
    for (const Dims& dims : std::vector<Dims>{{}, {3}, {1, 2}}) {
      SCOPED_TRACE(name + dims_text(dims));
      const Tensor value(dims, std::vector<float>(static_cast<std::size_t>(count_of(dims)), 1.0f));
      EXPECT_EQ(error_of([&] {
                  session().handle().run({write}, {{x, value}});
                }),
                "INVALID_ARGUMENT: node '" + name + "' (" + name + "): the variable has shape [2], the value " +
                    dims_text(dims));
    }
  EXPECT_EQ(values<float>(v), (std::vector<float>{1, 2}));
}

TEST_F(SessionTest, AValueThatNoMemoryHoldsIsNamed) {
  const std::int64_t huge = std::int64_t{1} << 32;
  EXPECT_EQ(error_of([&] {
              ops::fill(g, {huge, huge}, 1, DType::kFloat32, "all");
            }),
            "INVALID_ARGUMENT: node 'all' (Fill): output 0 of shape [4294967296, 4294967296] has more bytes than can "
            "be addressed");
  const Output x = ops::placeholder(g, DType::kInt64, {-1}),
               wide = ops::one_hot(x, std::int64_t{1} << 62, 1, 0, DType::kFloat32, "wide");
  const Output none = ops::fill(g, {huge, huge, 0}, 1);
  open();
  EXPECT_EQ(values<float>(none).size(), 0u);
  const Tensor some(DType::kInt64, {0});
  EXPECT_EQ(values<float>(wide, {{x, some}}).size(), 0u);
  EXPECT_EQ(error_of([&] {
              values<float>(wide, {{x, Tensor(DType::kInt64, {4})}});
            }),
            "INVALID_ARGUMENT: node 'wide' (OneHot): output 0 of shape [4, 4611686018427387904] has more bytes than "
            "can be addressed");
}

}  // namespace
}  // namespace belay::runtime::testing
