// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/control_flow.h"

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime {
namespace {

using testing::error_of;

Tensor bool_tensor(bool v) {
  Tensor t(DType::kBool, {});
  *t.data<bool>() = v;
  return t;
}

class ControlFlow : public testing::SessionTest {};

TEST_F(ControlFlow, CondGivesWhatItsConditionChose) {
  const Output p = ops::placeholder(g, DType::kBool, Dims{}, "p");
  const Output x = ops::constant(g, Tensor({2}, {3.0f, 5.0f}));
  const Output y = ops::cond(
      p, [&] { return x * 2.0; }, [&] { return x - 1.0; });
  open();
  EXPECT_EQ(values<float>(y, {{p, bool_tensor(true)}}), (std::vector<float>{6, 10}));
  EXPECT_EQ(values<float>(y, {{p, bool_tensor(false)}}), (std::vector<float>{2, 4}));
}

TEST_F(ControlFlow, OnlyTheChosenBranchRuns) {
  const Output p = ops::placeholder(g, DType::kBool, Dims{}, "p");
  const Output x = ops::constant(g, Tensor({1}, {0.0f}));
  const Output y = ops::cond(
      p, [&] { return ops::check_numerics(ops::log(x), "log of nothing"); }, [&] { return x; });
  open();
  EXPECT_EQ(values<float>(y, {{p, bool_tensor(false)}}), (std::vector<float>{0}));
  EXPECT_EQ(
      error_of([&] {
        values<float>(y, {{p, bool_tensor(true)}});
      }),
      "DIVERGED: node 'cond' (Cond): node 'cond_then/CheckNumerics' (CheckNumerics): log of nothing: the tensor has "
      "infinite values");
}

TEST_F(ControlFlow, BranchesMayNestAndGiveSeveralOutputs) {
  const Output a = ops::placeholder(g, DType::kBool, Dims{}, "a");
  const Output b = ops::placeholder(g, DType::kBool, Dims{}, "b");
  const Output x = ops::constant(g, Tensor({2}, {1.0f, 2.0f}));
  const std::vector<Output> y = ops::cond_list(
      a,
      [&] {
        const Output inner = ops::cond(
            b, [&] { return x + 10.0; }, [&] { return x + 20.0; });
        return std::vector<Output>{inner, ops::reduce_sum(x)};
      },
      [&] {
        return std::vector<Output>{x, ops::reduce_sum(ops::square(x))};
      });
  open();
  const auto run = [&](bool u, bool v) {
    const auto feeds = std::vector<std::pair<Output, Tensor>>{{a, bool_tensor(u)}, {b, bool_tensor(v)}};
    std::vector<float> all = values<float>(y[0], feeds);
    all.push_back(values<float>(y[1], feeds)[0]);
    return all;
  };
  EXPECT_EQ(run(true, true), (std::vector<float>{11, 12, 3}));
  EXPECT_EQ(run(true, false), (std::vector<float>{21, 22, 3}));
  EXPECT_EQ(run(false, true), (std::vector<float>{1, 2, 5}));
}

TEST_F(ControlFlow, ABranchReadsAVariableAsItIsThen) {
  const Output v = ops::variable(g, "v", ops::constant(g, Tensor({1}, {1.0f})));
  const Output p = ops::placeholder(g, DType::kBool, Dims{}, "p");
  const Output y = ops::cond(
      p, [&] { return v * 3.0; }, [&] { return v; });
  const Output add = ops::assign_add(v, ops::constant(g, Tensor({1}, {1.0f})));
  open();
  initialize();
  EXPECT_EQ(values<float>(y, {{p, bool_tensor(true)}}), (std::vector<float>{3}));
  run(add.operation());
  EXPECT_EQ(values<float>(y, {{p, bool_tensor(true)}}), (std::vector<float>{6}));
}

TEST_F(ControlFlow, ShapesThatAreKnownOnlyWhenItRuns) {
  const Output p = ops::placeholder(g, DType::kBool, Dims{}, "p");
  const Output x = ops::placeholder(g, DType::kFloat32, Dims{-1, 2}, "x");
  const Output y = ops::cond(
      p, [&] { return ops::reduce_sum(x, {1}); }, [&] { return ops::reduce_max(x, {1}); });
  EXPECT_EQ(y.text(), "'cond:0' (float32 [?])");
  open();
  const auto run = [&](bool which, const Tensor& t) { return values<float>(y, {{p, bool_tensor(which)}, {x, t}}); };
  EXPECT_EQ(run(true, Tensor({3, 2}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f})), (std::vector<float>{3, 7, 11}));
  EXPECT_EQ(run(false, Tensor({1, 2}, {1.0f, 2.0f})), (std::vector<float>{2}));
}

TEST_F(ControlFlow, WhileRunsUntilItsConditionIsFalse) {
  const Output n = ops::placeholder(g, DType::kInt32, Dims{}, "n");
  // The factorial of n, and how often the body ran.
  const std::vector<Output> r = ops::while_loop([&](const std::vector<Output>& v) { return ops::less_equal(v[0], n); },
                                                [&](const std::vector<Output>& v) {
                                                  return std::vector<Output>{v[0] + 1.0, v[1] * v[0]};
                                                },
                                                {ops::constant(g, 1), ops::constant(g, 1)});
  open();
  const auto run = [&](std::int32_t x, const Output& o) { return values<std::int32_t>(o, {{n, Tensor(x)}})[0]; };
  EXPECT_EQ(run(5, r[1]), 120);
  EXPECT_EQ(run(5, r[0]), 6);
  EXPECT_EQ(run(0, r[1]), 1) << "a body that never runs leaves the values";
}

TEST_F(ControlFlow, ALoopEndsAfterItsMostIterations) {
  const Output x = ops::while_loop([&](const Output& v) { return ops::greater(v, ops::zeros_like(v)); },
                                   [&](const Output& v) { return v * 2.0; }, ops::constant(g, 1.0f), 10);
  open();
  EXPECT_EQ(values<float>(x), (std::vector<float>{1024}));
}

TEST_F(ControlFlow, ALoopMayHoldACond) {
  // Collatz: the steps from 27 to 1.
  const std::vector<Output> r = ops::while_loop(
      [&](const std::vector<Output>& v) { return ops::greater(v[0], ops::ones_like(v[0])); },
      [&](const std::vector<Output>& v) {
        const Output half = ops::cast(ops::floor(ops::cast(v[0], DType::kFloat64) * 0.5), DType::kInt64);
        const Output even = ops::equal(half * 2.0, v[0]);
        return std::vector<Output>{ops::cond(
                                       even, [&] { return half; }, [&] { return v[0] * 3.0 + 1.0; }),
                                   v[1] + 1.0};
      },
      {ops::constant(g, std::int64_t{27}), ops::constant(g, std::int64_t{0})});
  open();
  EXPECT_EQ(values<std::int64_t>(r[1]), (std::vector<std::int64_t>{111}));
}

TEST_F(ControlFlow, WhatIsInABodyStaysThere) {
  const Output p = ops::constant(g, true);
  Output inside;
  const Output y = ops::cond(
      p, [&] { return inside = ops::constant(g, 1.0f) * 2.0; }, [&] { return ops::constant(g, 1.0f); });
  const std::string text =
      "INVALID_ARGUMENT: 'cond_then/Mul:0' is in the body 'cond_then' of a cond or while loop and is not there "
      "outside it; use the outputs of the node that runs the body";
  EXPECT_EQ(error_of([&] { ops::neg(inside); }), text);
  EXPECT_EQ(error_of([&] { g.fetch(inside); }), text);
  EXPECT_EQ(error_of([&] { g.collect("losses", inside); }), text);
  open();
  EXPECT_EQ(error_of([&] { session().handle().run({inside}); }),
            "INVALID_ARGUMENT: cannot fetch: " + text.substr(text.find(": ") + 2));
  EXPECT_EQ(value<float>(y), 2);
}

TEST_F(ControlFlow, ABodyOnlyComputes) {
  const Output p = ops::constant(g, true);
  const Output v = ops::variable(g, "v", ops::constant(g, 1.0f));
  const auto error = [&](auto&& f) {
    return error_of([&] { ops::cond(p, f, [&] { return ops::constant(g, 1.0f); }); });
  };
  const std::string why =
      ": a body of a cond or while loop only computes: what is a variable or placeholder, writes, waits, draws random "
      "numbers or makes summaries is outside it";
  EXPECT_EQ(error([&] { return ops::assign(v, ops::constant(g, 2.0f)); }),
            "INVALID_ARGUMENT: node 'cond_then/Assign' (Assign)" + why);
  EXPECT_EQ(error([&] { return ops::random_uniform(g, {2}, 0, 1, DType::kFloat32); }),
            "INVALID_ARGUMENT: node 'cond_then_1/RandomUniform' (RandomUniform)" + why);
  EXPECT_EQ(error([&] { return ops::placeholder(g, DType::kFloat32, Dims{}, "x"); }),
            "INVALID_ARGUMENT: node 'cond_then_2/x' (Placeholder)" + why);
  const auto table = [&] {
    return g.node("HashTable", "t").attr("key_dtype", DType::kInt64).attr("value_dtype", DType::kInt64).output();
  };
  EXPECT_EQ(error(table), "INVALID_ARGUMENT: node 'cond_then_3/t' (HashTable)" + why);
  EXPECT_EQ(error([&] {
              const auto after = g.after({v});
              return ops::constant(g, 1.0f);
            }),
            "INVALID_ARGUMENT: node 'cond_then_4/Const' (Const): its control input 'v' is outside the body "
            "'cond_then_4'; give it to the node that runs the body");
  EXPECT_EQ(ops::neg(v).name(), "Neg:0") << "the failed bodies are closed";
}

TEST_F(ControlFlow, BranchesThatDifferAreRefused) {
  const Output p = ops::constant(g, true);
  const Output x = ops::constant(g, Tensor({2}, {1.0f, 2.0f}));
  EXPECT_EQ(error_of([&] {
              ops::cond(
                  p, [&] { return x; }, [&] { return ops::reduce_sum(x); });
            }),
            "INVALID_ARGUMENT: node 'cond' (Cond): output 0 is float32 [2] in branch 'cond_then' and float32 [] in "
            "'cond_else'; both must return one dtype and shape");
  EXPECT_EQ(error_of([&] {
              ops::cond_list(
                  p,
                  [&] {
                    return std::vector<Output>{x, x};
                  },
                  [&] { return std::vector<Output>{x}; });
            }),
            "INVALID_ARGUMENT: node 'cond' (Cond): branch 'cond_then_1' has 2 outputs, 'cond_else_1' has 1");
  EXPECT_EQ(error_of([&] {
              ops::cond(
                  x, [&] { return x; }, [&] { return x; });
            }),
            "INVALID_ARGUMENT: node 'cond' (Cond): input 0 (float32 [2]) must be bool");
  EXPECT_EQ(error_of([&] {
              ops::cond_list(
                  p, [&] { return std::vector<Output>{}; }, [&] { return x; });
            }),
            "INVALID_ARGUMENT: a body of a cond or while loop must return at least one output");
}

TEST_F(ControlFlow, ShapesThatDifferAreFoundWhenItRuns) {
  const Output p = ops::placeholder(g, DType::kBool, Dims{}, "p");
  const Output x = ops::placeholder(g, DType::kFloat32, Dims{-1}, "x");
  const Output y = ops::cond(
      p, [&] { return x; },
      [&] {
        return ops::constant(g, Tensor({2}, {1.0f, 2.0f}));
      });
  open();
  EXPECT_EQ(values<float>(y, {{p, bool_tensor(true)}, {x, Tensor({2}, {3.0f, 4.0f})}}), (std::vector<float>{3, 4}));
  EXPECT_EQ(error_of([&] {
              values<float>(y, {{p, bool_tensor(true)}, {x, Tensor({1}, {3.0f})}});
            }),
            "INVALID_ARGUMENT: node 'cond' (Cond): output 0 is float32 [1] in branch 'cond_then' and float32 [2] in "
            "'cond_else'; both must return one dtype and shape");
}

TEST_F(ControlFlow, LoopsThatChangeTheirValuesAreRefused) {
  const Output x = ops::constant(g, Tensor({2}, {1.0f, 2.0f}));
  const auto yes = [&](const Output&) { return ops::constant(g, true); };
  EXPECT_EQ(
      error_of([&] {
        ops::while_loop(
            yes, [&](const Output& v) { return ops::reduce_sum(v); }, x);
      }),
      "INVALID_ARGUMENT: node 'while' (While): value 0 begins as float32 [2], the body 'while_body' makes it float32 "
      "[]; a loop changes neither dtype nor shape");
  EXPECT_EQ(
      error_of([&] { ops::while_loop([&](const Output& v) { return v; }, [&](const Output& v) { return v; }, x); }),
      "INVALID_ARGUMENT: node 'while' (While): the condition 'while_condition_1' returns float32 [2]; it must return "
      "one "
      "bool scalar");
}

TEST_F(ControlFlow, TextsAreRefused) {
  const Output p = ops::constant(g, true), text = ops::constant(g, Tensor(std::string_view("x")));
  EXPECT_EQ(error_of([&] {
              ops::cond_list(
                  p,
                  [&] {
                    return std::vector<Output>{p, text};
                  },
                  [&] {
                    return std::vector<Output>{p, text};
                  });
            }),
            "INVALID_ARGUMENT: node 'cond' (Cond): output 1 is a string tensor; branches return numbers");
  EXPECT_EQ(error_of([&] {
              ops::while_loop([&](const std::vector<Output>& v) { return v[0]; },
                              [&](const std::vector<Output>& v) { return v; }, {p, text});
            }),
            "INVALID_ARGUMENT: node 'while' (While): value 1 is a string tensor; loops take numbers");
}

TEST_F(ControlFlow, NoGradientPasses) {
  const Output v = ops::variable(g, "v", ops::constant(g, Tensor({1}, {1.0f})));
  const Output y = ops::cond(
      ops::constant(g, true), [&] { return v * 2.0; }, [&] { return v; }, "choice");
  EXPECT_EQ(
      error_of([&] { g.gradients({y}, {v}); }),
      "UNIMPLEMENTED: node 'choice' (Cond): no gradient passes through cond and while yet; put stop_gradient in front "
      "of it, or write it with select or a fixed number of steps");
}

TEST_F(ControlFlow, AGradientMayBeTakenInsideABody) {
  const Output x = ops::constant(g, Tensor({1}, {3.0f}));
  // Newton's steps towards the root of v^2 = 2.
  const Output r = ops::while_loop(
      [&](const Output& v) {
        return ops::greater(ops::reduce_sum(ops::abs(ops::square(v) - 2.0)), ops::scalar(g, 1e-5, v.dtype()));
      },
      [&](const Output& v) {
        const Output f = ops::square(v) - 2.0;
        return v - f / g.gradients({f}, {v})[0];
      },
      x, 50);
  open();
  EXPECT_NEAR(values<float>(r)[0], 1.41421356f, 1e-5);
}

}  // namespace
}  // namespace belay::runtime
