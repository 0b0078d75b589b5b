// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "belay/ops/math.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

struct UnaryCase {
  const char* name;
  Output (*function)(const Output&, std::string_view);
  double low = -2, high = 2;
  std::vector<double> kinks = {};
};
Build build_of(const UnaryCase& c) {
  return [function = c.function](const Inputs& in) { return function(in[0], {}); };
}
const UnaryCase kUnary[] = {
    {"Neg", ops::neg},           {"Abs", ops::abs, -2, 2, {0}}, {"Square", ops::square},
    {"Sqrt", ops::sqrt, 0.1, 9}, {"Rsqrt", ops::rsqrt, 0.1, 9}, {"Reciprocal", ops::reciprocal, 0.2, 5},
    {"Exp", ops::exp, -5, 5},    {"Log", ops::log, 0.05, 9},    {"Log1p", ops::log1p, -0.9, 5},
    {"Cos", ops::cos, -4, 4},    {"Sin", ops::sin, -4, 4},      {"Expm1", ops::expm1, -4, 4},
    {"Tan", ops::tan, -1, 1},    {"Atan", ops::atan, -4, 4},    {"Erf", ops::erf, -3, 3},
};

TEST(Unary, GradientsAgreeWithFiniteDifferences) {
  for (const UnaryCase& c : kUnary) {
    SCOPED_TRACE(c.name);
    check_gradients(build_of(c), {{{2, 5}, c.low, c.high, c.kinks}});
    check_gradients(build_of(c), {{{}, c.low, c.high, c.kinks}});
    // And of the gradient itself.
    check_gradients(
        [&](const Inputs& in) { return in[0].graph().gradients({c.function(in[0], {})}, {in[0]})[0] * in[0]; },
        {{{6}, c.low, c.high, c.kinks}}, 1e-5);
  }
}

TEST(Unary, Float32AgreesWithFloat64) {
  for (const UnaryCase& c : kUnary)
    for (const Dims& dims : std::vector<Dims>{{}, {0}, {1}, {3, 0}, {17}, {5, 33}, {70001}}) {
      SCOPED_TRACE(std::string(c.name) + " of " + dims_text(dims));
      check_float32(build_of(c), {{dims, c.low, c.high, c.kinks}}, 1e-5);
    }
}

TEST(Unary, SignAndFloorAreSteps) {
  const Tensor x({5}, {-1.5f, -0.0f, 0.0f, 2.25f, kInf});
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::sign(in[0]); }, {x}),
            (std::vector<float>{-1, 0, 0, 1, 1}));
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::floor(in[0]); }, {x}),
            (std::vector<float>{-2, 0, 0, 2, kInf}));
  EXPECT_TRUE(std::isnan(run_op<float>([](const Inputs& in) { return ops::sign(in[0]); }, {Tensor(kNan)})[0]));
}

TEST(Unary, CeilAndRoundAreSteps) {
  const Tensor x({8}, {-1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 2.25f, -2.75f, kInf});
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::ceil(in[0]); }, {x}),
            (std::vector<float>{-1, 0, 1, 2, 3, 3, -2, kInf}));
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::round(in[0]); }, {x}),
            (std::vector<float>{-2, 0, 0, 2, 2, 2, -3, kInf}));
}

TEST(Unary, NoGradientPassesStepFunctions) {
  for (const auto function : {ops::sign, ops::floor, ops::ceil, ops::round}) {
    const std::unique_ptr<OpRegistry> registry = make_op_registry();
    NodeGraph graph(*registry);
    const Output x = ops::placeholder(graph.handle(), DType::kFloat32, {2});
    EXPECT_FALSE(graph.handle().gradients({function(x, {})}, {x})[0]);
  }
}

TEST(Unary, IntegersStayIntegers) {
  const auto lowest = std::numeric_limits<std::int32_t>::min();
  const Tensor x({3}, {-3, 4, lowest});
  EXPECT_EQ(run_op<std::int32_t>([](const Inputs& in) { return ops::neg(in[0]); }, {x}),
            (std::vector<std::int32_t>{3, -4, lowest}));
  EXPECT_EQ(run_op<std::int32_t>([](const Inputs& in) { return ops::abs(in[0]); }, {x}),
            (std::vector<std::int32_t>{3, 4, lowest}));
  EXPECT_EQ(run_op<std::int32_t>([](const Inputs& in) { return ops::sign(in[0]); }, {x}),
            (std::vector<std::int32_t>{-1, 1, -1}));
  EXPECT_EQ(run_op<std::int32_t>([](const Inputs& in) { return ops::square(in[0]); }, {x}),
            (std::vector<std::int32_t>{9, 16, 0}));
}

TEST(Unary, EdgesGiveWhatTheCLibraryGives) {
  constexpr float kLeast = std::numeric_limits<float>::min();
  struct Case {
    UnaryCase function;
    std::function<double(double)> reference;
  };
  const std::vector<Case> cases = {{{"Exp", ops::exp}, [](double x) { return std::exp(x); }},
                                   {{"Log", ops::log}, [](double x) { return std::log(x); }},
                                   {{"Log1p", ops::log1p}, [](double x) { return std::log1p(x); }},
                                   {{"Sqrt", ops::sqrt}, [](double x) { return std::sqrt(x); }},
                                   {{"Rsqrt", ops::rsqrt}, [](double x) { return 1 / std::sqrt(x); }},
                                   {{"Reciprocal", ops::reciprocal}, [](double x) { return 1 / x; }}};
  const std::vector<float> x = {kNan, kInf, -kInf, 0.0f, -0.0f, -1.0f, -2.0f, 200.0f, -200.0f, 1e-42f, kLeast, 1.0f};
  for (const Case& c : cases) {
    const std::vector<float> y =
        run_op<float>(build_of(c.function), {Tensor({static_cast<std::int64_t>(x.size())}, x)});
    for (std::size_t i = 0; i < x.size(); ++i) {
      // Kernels flush denormals: 1e-42 is 0 to them.
      const float seen = std::fabs(x[i]) < kLeast ? std::copysign(0.0f, x[i]) : x[i];
      const auto wanted = static_cast<float>(c.reference(static_cast<double>(seen)));
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(y[i])) << c.function.name << " of " << x[i] << " is " << y[i];
      } else if (std::isinf(wanted)) {
        EXPECT_EQ(y[i], wanted) << c.function.name << " of " << x[i];
      } else {
        EXPECT_NEAR(y[i], wanted, 1e-6 * std::fabs(wanted)) << c.function.name << " of " << x[i];
      }
    }
  }
}

TEST(ClipByValue, HoldsValuesWithinItsRange) {
  const Build clip = [](const Inputs& in) { return ops::clip_by_value(in[0], -1, 0.5); };
  const std::vector<float> y = run_op<float>(clip, {Tensor({6}, {-3.0f, -1.0f, 0.25f, 0.75f, kNan, kInf})});
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{-1, -1, 0.25f, 0.5f}));
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], 0.5f);
  check_gradients(clip, {{{9}, -2, 2, {-1, 0.5}}});
  check_float32(clip, {{{1003}, -2, 2, {-1, 0.5}}});
  check_gradients([&](const Inputs& in) { return in[0].graph().gradients({clip(in)}, {in[0]}, {in[1]})[0]; },
                  {{{9}, -2, 2, {-1, 0.5}}, {{9}}});
}

TEST(Cast, GoesBetweenAllNumbersAndBool) {
  const Tensor x({4}, {-1.75f, 0.0f, 2.5f, 200.0f});
  const auto to = [](DType dtype) { return [dtype](const Inputs& in) { return ops::cast(in[0], dtype); }; };
  EXPECT_EQ(run_op<std::int32_t>(to(DType::kInt32), {x}), (std::vector<std::int32_t>{-1, 0, 2, 200}));
  EXPECT_EQ(run_op<std::int64_t>(to(DType::kInt64), {x}), (std::vector<std::int64_t>{-1, 0, 2, 200}));
  EXPECT_EQ(run_op<double>(to(DType::kFloat64), {x}), (std::vector<double>{-1.75, 0, 2.5, 200}));
  EXPECT_EQ(run_op<bool>(to(DType::kBool), {x}), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(run_op<std::uint8_t>(to(DType::kUInt8), {Tensor({2}, {std::int64_t{7}, std::int64_t{255}})}),
            (std::vector<std::uint8_t>{7, 255}));
  EXPECT_EQ(run_op<float>(to(DType::kFloat32), {Tensor({2}, std::vector<bool>{true, false})}),
            (std::vector<float>{1, 0}));
  EXPECT_EQ(run_op<bool>(to(DType::kBool), {Tensor({2}, std::vector<bool>{true, false})}),
            (std::vector<bool>{true, false}));
}

// Through 16 bits and back: numbers that both formats have, rounding to the nearest even, overflow, tiny numbers.
TEST(Cast, StoresHalfPrecision) {
  const auto through = [](DType half, std::vector<float> x) {
    const Tensor t({static_cast<std::int64_t>(x.size())}, x);
    return run_op<float>([half](const Inputs& in) { return ops::cast(ops::cast(in[0], half), DType::kFloat32); }, {t});
  };
  EXPECT_EQ(through(DType::kBFloat16, {1, -2.5f, 0, 256.5f, 257, 259, 1e30f, kInf, -kInf}),
            (std::vector<float>{1, -2.5f, 0, 256, 256, 260, std::bit_cast<float>(0x714a0000), kInf, -kInf}));
  EXPECT_EQ(through(DType::kFloat16, {1, -2.5f, 2049, 2051, 65504, 65519, 65520, -1e30f, kInf, 0x1p-14f, 0x1p-24f,
                                      0x1p-25f, 0x1.8p-25f, 0x1.ffcp-15f, -0x1.004p-14f}),
            (std::vector<float>{1, -2.5f, 2048, 2052, 65504, 65504, kInf, -kInf, kInf, 0x1p-14f, 0x1p-24f, 0, 0x1p-24f,
                                0x1p-14f, -0x1.004p-14f}));
  for (const DType half : {DType::kBFloat16, DType::kFloat16}) {
    EXPECT_TRUE(std::isnan(through(half, {kNan})[0]));
    EXPECT_TRUE(std::isnan(through(half, {std::bit_cast<float>(0x7fffffff)})[0]));
  }
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::cast(in[0], DType::kBFloat16); }, {{DType::kInt32, {2}}}),
      "INVALID_ARGUMENT: node 'Cast' (Cast): input 0 (int32 [2]) cannot be cast to bfloat16; bfloat16 and float16 "
      "are cast to and from float32 only");
}

TEST(Cast, GradientsComeBackInTheInputsDtype) {
  check_gradients(
      [](const Inputs& in) { return ops::cast(ops::square(ops::cast(in[0], DType::kFloat64)), DType::kFloat64); },
      {{{5}}});
  check_float32([](const Inputs& in) { return ops::cast(ops::cast(in[0], DType::kFloat64), in[0].dtype()); }, {{{5}}});
}

TEST(AddN, AddsAnyNumberOfTensors) {
  for (const std::size_t n : {1u, 2u, 3u, 7u}) {
    const Build add_n = [](const Inputs& in) { return ops::add_n(in); };
    check_gradients(add_n, std::vector<Operand>(n, Operand{{2, 3}}));
    for (const Dims& dims : std::vector<Dims>{{0}, {1}, {513}, {1029}, {70001}})
      check_float32(add_n, std::vector<Operand>(n, Operand{dims}));
  }
}

TEST(AddN, TakesATensorTwiceAlsoInPlace) {
  EXPECT_EQ(run_op<float>(
                [](const Inputs& in) {
                  const Output x = in[0] * 2.0, y = in[0] * 3.0;
                  return ops::add_n({x, y, x});
                },
                {Tensor({2}, {1.0f, -1.0f})}),
            (std::vector<float>{7, -7}));
}

TEST(Unary, BadInputIsNamed) {
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::sqrt(in[0]); }, {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'Sqrt' (Sqrt): input 0 (int32 [2]) must be float32 or float64");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::neg(in[0]); }, {{DType::kString, {2}}}),
            "INVALID_ARGUMENT: node 'Neg' (Neg): input 0 (string [2]) must be a number");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::clip_by_value(in[0], 2, 1); }, {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'ClipByValue' (ClipByValue): the range must have min <= max, got [2.000000, "
            "1.000000]");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::cast(in[0], DType::kString); }, {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'Cast' (Cast): input 0 (float32 [2]) cannot be cast to string");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::add_n(in); },
                        {{DType::kFloat32, {2}}, {DType::kFloat32, {2}}, {DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'AddN' (AddN): input 0 (float32 [2]) and input 2 (float32 [3]) must have the same "
            "shape");
  EXPECT_EQ(build_error([](const Inputs& in) { return in[0].graph().node("AddN").output(); }, {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'AddN' (AddN): there is nothing to add");
  EXPECT_EQ(build_error([](const Inputs&) { return ops::add_n({}); }, {}),
            "INVALID_ARGUMENT: add_n needs at least one tensor");
}

}  // namespace
}  // namespace belay::runtime::testing
