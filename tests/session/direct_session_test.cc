#include "runtime/session/direct_session.h"

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
  EXPECT_EQ(error_of([&] { value<float>(v); }), "FAILED_PRECONDITION: Attempting to use uninitialized value v");
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
            "INVALID_ARGUMENT: You must feed a value for placeholder 'x' (float32 [?, 2])");
  EXPECT_EQ(error_of([&] {
              values<float>(y, {{x, Tensor({3}, {3.0f, 4.0f, 5.0f})}});
            }),
            "INVALID_ARGUMENT: cannot feed a float32 value of shape [3] for 'x:0', which is float32 [?, 2]");
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
  SessionOptions options;
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

}  // namespace
}  // namespace belay::runtime::testing
