// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "belay/ops/math.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

struct Comparison {
  const char* name;
  Output (*function)(const Output&, const Output&, std::string_view);
  std::vector<bool> wanted;  // of 1 2 3 NaN against 2
};
const Comparison kComparisons[] = {{"Equal", ops::equal, {false, true, false, false}},
                                   {"NotEqual", ops::not_equal, {true, false, true, true}},
                                   {"Less", ops::less, {true, false, false, false}},
                                   {"LessEqual", ops::less_equal, {true, true, false, false}},
                                   {"Greater", ops::greater, {false, false, true, false}},
                                   {"GreaterEqual", ops::greater_equal, {false, true, true, false}}};

TEST(Compare, ComparesEveryNumberDtype) {
  for (const Comparison& c : kComparisons) {
    SCOPED_TRACE(c.name);
    const Build build = [&](const Inputs& in) { return c.function(in[0], in[1], {}); };
    EXPECT_EQ(run_op<bool>(build, {Tensor({4}, {1.0f, 2.0f, 3.0f, kNan}), Tensor(2.0f)}), c.wanted);
    EXPECT_EQ(run_op<bool>(build, {Tensor({4}, {1.0, 2.0, 3.0, static_cast<double>(kNan)}), Tensor(2.0)}), c.wanted);
    const std::vector<bool> three(c.wanted.begin(), c.wanted.begin() + 3);
    EXPECT_EQ(run_op<bool>(build, {Tensor({3}, {1, 2, 3}), Tensor(2)}), three);
    EXPECT_EQ(run_op<bool>(build,
                           {Tensor({3}, {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}), Tensor(std::int64_t{2})}),
              three);
    EXPECT_EQ(run_op<bool>(build,
                           {Tensor({3}, {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}), Tensor(std::uint8_t{2})}),
              three);
  }
}

TEST(Compare, BroadcastsAndRunsOnTwoThreads) {
  const std::int64_t n = 90001;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  const std::vector<bool> y =
      run_op<bool>([](const Inputs& in) { return ops::less(in[0], in[1]); }, {Tensor({n}, x), Tensor(3.0f)}, 2);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] < 3) << i;
  EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::less(in[0], in[1]); },
                         {Tensor({2, 1}, {1.0f, 2.0f}), Tensor({2}, {1.5f, 2.5f})}),
            (std::vector<bool>{true, true, false, true}));
}

TEST(Compare, TruthTables) {
  const Tensor a({4}, std::vector<bool>{false, false, true, true}), b({4}, std::vector<bool>{false, true, false, true});
  EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::logical_and(in[0], in[1]); }, {a, b}),
            (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::logical_or(in[0], in[1]); }, {a, b}),
            (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::logical_not(in[0]); }, {a}),
            (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::equal(in[0], in[1]); }, {a, b}),
            (std::vector<bool>{true, false, false, true}));
}

TEST(Compare, AsksForNanAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  const double nan64 = std::numeric_limits<double>::quiet_NaN(), inf64 = std::numeric_limits<double>::infinity();
  using Bools = std::vector<bool>;
  for (const Tensor& x :
       {Tensor({5}, {kNan, inf, -inf, 0.0f, 3e38f}), Tensor({5}, {nan64, inf64, -inf64, 0.0, 1e308})}) {
    SCOPED_TRACE(dtype_name(x.dtype()));
    EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::is_nan(in[0]); }, {x}), (Bools{1, 0, 0, 0, 0}));
    EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::is_inf(in[0]); }, {x}), (Bools{0, 1, 1, 0, 0}));
    EXPECT_EQ(run_op<bool>([](const Inputs& in) { return ops::is_finite(in[0]); }, {x}), (Bools{0, 0, 0, 1, 1}));
  }
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::is_nan(in[0]); }, {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'IsNan' (IsNan): input 0 (int32 [2]) must be float32 or float64");
}

TEST(Compare, ExclusiveOr) {
  const auto exclusive = [](const Inputs& in) {
    const auto truth = [](const Output& x) { return ops::cast(x, DType::kBool); };
    return ops::logical_xor(truth(in[0]), truth(in[1]));
  };
  EXPECT_EQ(run_op<bool>(exclusive, {Tensor({4}, {0, 0, 1, 2}), Tensor({4}, {0, 1, 0, 1})}),
            (std::vector<bool>{0, 1, 1, 0}));
}

const Build kSelect = [](const Inputs& in) { return ops::select(in[0], in[1], in[2]); };

TEST(Select, ChoosesElementByElementWithBroadcasting) {
  const Tensor rows({2, 1}, std::vector<bool>{true, false}), columns({3}, std::vector<bool>{true, false, true});
  const Tensor a({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}), b({2, 3}, {10.0f, 20.0f, 30.0f, 40.0f, 50.0f, 60.0f});
  const Tensor one(0.5f), many({3}, {7.0f, 8.0f, 9.0f});
  EXPECT_EQ(run_op<float>(kSelect, {rows, a, b}), (std::vector<float>{1, 2, 3, 40, 50, 60}));
  EXPECT_EQ(run_op<float>(kSelect, {columns, a, b}), (std::vector<float>{1, 20, 3, 4, 50, 6}));
  EXPECT_EQ(run_op<float>(kSelect, {columns, one, b}), (std::vector<float>{0.5, 20, 0.5, 0.5, 50, 0.5}));
  EXPECT_EQ(run_op<float>(kSelect, {columns, a, one}), (std::vector<float>{1, 0.5, 3, 4, 0.5, 6}));
  EXPECT_EQ(run_op<float>(kSelect, {rows, many, one}), (std::vector<float>{7, 8, 9, 0.5, 0.5, 0.5}));
  EXPECT_EQ(run_op<float>(kSelect, {columns, one, Tensor(2.0f)}), (std::vector<float>{0.5, 2, 0.5}));
  EXPECT_EQ(run_op<std::int64_t>(kSelect, {columns, Tensor(std::int64_t{1}), Tensor(std::int64_t{2})}),
            (std::vector<std::int64_t>{1, 2, 1}));
  EXPECT_EQ(run_op<bool>(kSelect, {columns, columns, Tensor(true)}), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(run_op<float>(kSelect, {Tensor(DType::kBool, {0}), one, Tensor(2.0f)}), std::vector<float>{});
}

TEST(Select, GradientsAgreeWithFiniteDifferences) {
  const auto truth = [](const Dims& dims) { return Operand{dims, 0, 2, {}, DType::kBool}; };
  check_gradients(kSelect, {truth({2, 3}), {{2, 3}}, {{2, 3}}});
  check_gradients(kSelect, {truth({2, 1}), {{3}}, {{}}});
  check_gradients(kSelect, {truth({}), {{2, 3}}, {{1, 3}}});
}

TEST(Select, Float32AgreesWithFloat64) {
  const auto truth = [](const Dims& dims) { return Operand{dims, 0, 2, {}, DType::kBool}; };
  for (const Dims& dims : std::vector<Dims>{{0}, {1}, {5, 33}, {300, 257}, {70001}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(kSelect, {truth(dims), {dims}, {dims}}, 1e-4);
    check_float32(kSelect, {truth({dims.back()}), {dims}, {{}}}, 1e-4);
  }
}

TEST(Compare, BadInputIsNamed) {
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::less(in[0], in[1]); },
                  {{DType::kFloat32, {2}}, {DType::kInt32, {2}}}),
      "INVALID_ARGUMENT: node 'Less' (Less): input 0 (float32 [2]) and input 1 (int32 [2]) must have the same dtype");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::less(in[0], in[1]); }, {{DType::kBool, {2}}, {DType::kBool, {2}}}),
      "INVALID_ARGUMENT: node 'Less' (Less): input 0 (bool [2]) must be a number");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::equal(in[0], in[1]); },
                        {{DType::kString, {2}}, {DType::kString, {2}}}),
            "INVALID_ARGUMENT: node 'Equal' (Equal): input 0 (string [2]) must be a number or bool");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::logical_and(in[0], in[1]); },
                        {{DType::kBool, {2}}, {DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'LogicalAnd' (LogicalAnd): input 1 (float32 [2]) must be bool");
  EXPECT_EQ(build_error(kSelect, {{DType::kFloat32, {2}}, {DType::kFloat32, {2}}, {DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'Select' (Select): input 0 (float32 [2]) must be bool");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::equal(in[0], in[1]); },
                        {{DType::kBFloat16, {2}}, {DType::kBFloat16, {2}}}),
            "INVALID_ARGUMENT: node 'Equal' (Equal): input 0 (bfloat16 [2]) is of a dtype for storage; cast it to "
            "float32");
  EXPECT_EQ(build_error(kSelect, {{DType::kBool, {2}}, {DType::kFloat16, {2}}, {DType::kFloat16, {2}}}),
            "INVALID_ARGUMENT: node 'Select' (Select): input 1 (float16 [2]) is of a dtype for storage; cast it to "
            "float32");
  EXPECT_EQ(build_error(kSelect, {{DType::kBool, {2}}, {DType::kFloat32, {3}}, {DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'Select' (Select): input 0 (bool [2]), input 1 (float32 [3]) and input 2 (float32 "
            "[2]) do not broadcast to one shape");
}

}  // namespace
}  // namespace belay::runtime::testing
