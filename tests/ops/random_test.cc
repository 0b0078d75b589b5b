// SPDX-License-Identifier: Apache-2.0
// belay/ops/random.h: the numbers and their distributions, and dropout with its mask.
#include "belay/ops/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "belay/ops/math.h"
#include "belay/philox.h"
#include "runtime/ops/kernels/random_numbers.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

constexpr std::int64_t kDraws = 200'003;  // no multiple of a block or of a thread's share

using Draw = std::function<Output(const Graph&, DType)>;

Draw uniform(double low, double high) {
  return [=](const Graph& g, DType dtype) { return ops::random_uniform(g, {kDraws}, low, high, dtype, "x"); };
}
Draw normal(double mean, double stddev) {
  return [=](const Graph& g, DType dtype) { return ops::random_normal(g, {kDraws}, mean, stddev, dtype, "x"); };
}
Draw truncated(double mean, double stddev) {
  return [=](const Graph& g, DType dtype) { return ops::truncated_normal(g, {kDraws}, mean, stddev, dtype, "x"); };
}

// The numbers of a session with the default seed; the operand only brings the graph.
template <class T>
std::vector<T> draw(const Draw& f, int threads = 1) {
  const DType dtype = std::is_same_v<T, double> ? DType::kFloat64 : DType::kFloat32;
  return run_op<T>([&](const Inputs& in) { return f(in[0].graph(), dtype); }, {Tensor(0.0f)}, threads);
}

double mean_of(const std::vector<double>& x, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double v : x) sum += f(v);
  return sum / static_cast<double>(x.size());
}

// The mean of n independent numbers of this variance is within five of its standard deviations of the expected one.
void expect_mean(double got, double expected, double variance, const char* what) {
  EXPECT_NEAR(got, expected, 5 * std::sqrt(variance / static_cast<double>(kDraws))) << what;
}

double lag_product(const std::vector<double>& z) {
  double sum = 0;
  for (std::size_t i = 0; i < z.size(); ++i) sum += z[i] * z[(i + 1) % z.size()];
  return sum / static_cast<double>(z.size());
}

struct DrawCase {
  const char* title;
  Draw draw;
};
const std::vector<DrawCase> kDrawCases = {
    {"uniform", uniform(-3, 5)}, {"normal", normal(2, 0.5)}, {"truncated", truncated(-1, 3)}};

TEST(RandomNumbers, T_43a_AreTheSameBitsForAnyTeam) {
  for (const DrawCase& c : kDrawCases) {
    SCOPED_TRACE(c.title);
    for (const int threads : {2, 3, 7}) {
      EXPECT_EQ(draw<float>(c.draw, 1), draw<float>(c.draw, threads)) << threads;
      EXPECT_EQ(draw<double>(c.draw, 1), draw<double>(c.draw, threads)) << threads;
    }
  }
}

std::vector<HotLevel> levels() {
  std::vector<HotLevel> all{HotLevel::kBase};
  if (hot_level() >= HotLevel::kAvx2) all.push_back(HotLevel::kAvx2);
  if (hot_level() >= HotLevel::kAvx512) all.push_back(HotLevel::kAvx512);
  return all;
}
constexpr RandomStream kStream{0x0123456789abcdef, 0x1'0000'0007};
const std::vector<RandomNumbers> kNumbers = {{Distribution::kUniform, -3, 8, 5},
                                             {Distribution::kNormal, 0, 1},
                                             {Distribution::kNormal, 2, 0.5},
                                             {Distribution::kTruncatedNormal, -1, 3},
                                             {Distribution::kTruncatedNormal, 0, 0.02}};

TEST(RandomNumbers, T_43b_AreTheSameBitsForAnyInstructionSet) {
  if (levels().size() == 1) GTEST_SKIP() << "this processor, or this build, has one version of the loops";
  constexpr std::int64_t kFirst = 4 * 1001, kEnd = kFirst + kDraws;
  for (const RandomNumbers& numbers : kNumbers) {
    std::vector<float> base(kDraws), other(kDraws);
    random_floats(kStream, numbers, kFirst, kEnd, base.data(), HotLevel::kBase);
    for (const HotLevel level : levels()) {
      random_floats(kStream, numbers, kFirst, kEnd, other.data(), level);
      EXPECT_EQ(std::memcmp(base.data(), other.data(), kDraws * sizeof(float)), 0) << static_cast<int>(level);
    }
  }
  std::vector<std::uint32_t> base(kDraws), other(kDraws);
  random_words(kStream, kFirst, kEnd, base.data(), HotLevel::kBase);
  for (const HotLevel level : levels()) {
    random_words(kStream, kFirst, kEnd, other.data(), level);
    EXPECT_EQ(base, other) << static_cast<int>(level);
  }
}

// Number i, as it was when the C library computed every one of them.
float by_the_library(const RandomNumbers& numbers, std::int64_t i) {
  for (std::uint64_t again = 0;; ++again) {
    const std::uint64_t key = again == 0 ? kStream.key : mix_key(kStream.key, again);
    const PhiloxBlock b = philox(key, static_cast<std::uint64_t>(i), kStream.step);
    const double u = uniform_double(b[0], b[1]), v = uniform_double(b[2], b[3]);
    const double normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(6.283185307179586 * v);
    const double z = numbers.distribution == Distribution::kUniform ? u : normal;
    if (numbers.distribution == Distribution::kTruncatedNormal && !(z >= -2 && z <= 2)) continue;
    return std::min(static_cast<float>(numbers.a + numbers.b * z), numbers.last);
  }
}

TEST(RandomNumbers, T_43c_OfAnEarlierVersionsSeedsStay) {
  constexpr std::int64_t kMany = 1'000'000;  // among them some that the vector loops leave to the expensive functions
  for (const RandomNumbers& numbers : kNumbers) {
    std::vector<float> now(kMany);
    random_floats(kStream, numbers, 0, kMany, now.data());
    for (std::int64_t i = 0; i < kMany; ++i)
      ASSERT_EQ(now[static_cast<std::size_t>(i)], by_the_library(numbers, i)) << i;
  }
}

TEST(RandomNumbers, T_43c_OneDoesNotDependOnTheRangeThatItIsDrawnWith) {
  for (const RandomNumbers& numbers : kNumbers) {
    std::vector<float> all(1000);
    random_floats(kStream, numbers, 0, 1000, all.data());
    for (const std::int64_t begin : {1, 15, 16, 17, 500}) {
      std::vector<float> part(100);
      random_floats(kStream, numbers, begin, begin + 100, part.data());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin)) << begin;
    }
  }
}

TEST(RandomNumbers, OfBothDtypesAreTheSameUpToRounding) {
  for (const DrawCase& c : kDrawCases) {
    SCOPED_TRACE(c.title);
    const std::vector<double> wide = draw<double>(c.draw);
    std::vector<float> rounded(wide.begin(), wide.end());
    EXPECT_EQ(draw<float>(c.draw), rounded);
  }
}

TEST(RandomNumbers, AreThoseOfTheNodesPhiloxStream) {
  const std::uint64_t key = mix_key(DirectSessionOptions().seed, stream_id("x"));
  const std::vector<double> u = draw<double>(uniform(-3, 5)), z = draw<double>(normal(2, 0.5));
  for (std::size_t i = 0; i < u.size(); ++i) {
    const PhiloxBlock b = philox(key, i, 0);
    const double first = uniform_double(b[0], b[1]), second = uniform_double(b[2], b[3]);
    ASSERT_DOUBLE_EQ(u[i], -3 + 8 * first) << i;
    ASSERT_NEAR(z[i], 2 + 0.5 * std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * M_PI * second), 1e-12) << i;
  }
}

TEST(RandomUniform, HasItsRangeAndMoments) {
  const std::vector<double> x = draw<double>(uniform(-3, 5));
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  EXPECT_GE(*least, -3);
  EXPECT_LT(*most, 5);
  // None of n falls into a tenth of a thousandth at an end: probability e^-20.
  EXPECT_LT(*least, -3 + 8e-4);
  EXPECT_GT(*most, 5 - 8e-4);
  std::vector<double> z;
  for (const double v : x) z.push_back((v - 1) / 8);
  expect_mean(mean_of(z, [](double v) { return v; }), 0, 1.0 / 12, "mean");
  expect_mean(mean_of(z, [](double v) { return v * v; }), 1.0 / 12, 1.0 / 180, "variance");
  expect_mean(mean_of(z, [](double v) { return v < -0.25 ? 1 : 0; }), 0.25, 0.25 * 0.75, "first quarter");
  expect_mean(lag_product(z), 0, 1.0 / 144, "neighbours");
}

TEST(RandomUniform, NeverRoundsUpToItsEnd) {
  // Between two neighbours in float32 every second number would be rounded to the upper one.
  const float high = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(draw<float>(uniform(1, high)), std::vector<float>(kDraws, 1.0f));
}

TEST(RandomUniform, OfNoWidthIsConstant) {
  EXPECT_EQ(draw<float>(uniform(2.5, 2.5)), std::vector<float>(kDraws, 2.5f));
}

TEST(RandomNormal, HasItsMoments) {
  const std::vector<double> x = draw<double>(normal(2, 0.5));
  std::vector<double> z;
  for (const double v : x) z.push_back((v - 2) / 0.5);
  expect_mean(mean_of(z, [](double v) { return v; }), 0, 1, "mean");
  expect_mean(mean_of(z, [](double v) { return v * v; }), 1, 2, "variance");
  expect_mean(mean_of(z, [](double v) { return v * v * v; }), 0, 15, "third moment");
  expect_mean(mean_of(z, [](double v) { return v * v * v * v; }), 3, 96, "fourth moment");
  for (const double bound : {1.0, 2.0, 3.0}) {
    const double p = std::erfc(bound / std::sqrt(2.0));
    expect_mean(mean_of(z, [&](double v) { return std::fabs(v) > bound ? 1 : 0; }), p, p * (1 - p), "tails");
  }
  expect_mean(lag_product(z), 0, 1, "neighbours");
}

TEST(RandomNormal, OfNoDeviationIsItsMean) {
  EXPECT_EQ(draw<float>(normal(1.5, 0)), std::vector<float>(kDraws, 1.5f));
  EXPECT_EQ(draw<float>(truncated(1.5, 0)), std::vector<float>(kDraws, 1.5f));
}

TEST(TruncatedNormal, StaysWithinTwoDeviations) {
  const std::vector<double> x = draw<double>(truncated(-1, 3));
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  EXPECT_GE(*least, -7);
  EXPECT_LE(*most, 5);
  // The density there is 0.019 per unit: none of n in 0.01 has probability e^-38.
  EXPECT_LT(*least, -7 + 0.01);
  EXPECT_GT(*most, 5 - 0.01);
  for (const float v : draw<float>(truncated(-1, 3))) {
    ASSERT_GE(v, -7);
    ASSERT_LE(v, 5);
  }
}

TEST(TruncatedNormal, HasItsMoments) {
  const std::vector<double> x = draw<double>(truncated(-1, 3));
  std::vector<double> z;
  for (const double v : x) z.push_back((v + 1) / 3);
  const double density = std::exp(-2.0) / std::sqrt(2 * M_PI), within = std::erf(std::sqrt(2.0));
  const double second = 1 - 4 * density / within, fourth = 3 * second - 16 * density / within;
  expect_mean(mean_of(z, [](double v) { return v; }), 0, second, "mean");
  expect_mean(mean_of(z, [](double v) { return v * v; }), second, fourth - second * second, "variance");
  const double p = std::erf(1 / std::sqrt(2.0)) / within;
  expect_mean(mean_of(z, [](double v) { return std::fabs(v) < 1 ? 1 : 0; }), p, p * (1 - p), "within one deviation");
}

TEST(TruncatedNormal, IsTheNormalOneWhereThatFits) {
  const std::vector<double> all = draw<double>(normal(0, 1)), cut = draw<double>(truncated(0, 1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::fabs(all[i]) <= 2) {
      ASSERT_EQ(cut[i], all[i]) << i;
    }
  }
}

TEST(RandomNumbers, BadAttributesAreNamed) {
  const auto error = [](const std::function<Output(const Graph&)>& f) {
    return build_error([&](const Inputs& in) { return f(in[0].graph()); }, {{DType::kFloat32, {}}});
  };
  EXPECT_EQ(error([](const Graph& g) { return ops::random_uniform(g, {2}, 1, 0.5); }),
            "INVALID_ARGUMENT: node 'RandomUniform' (RandomUniform): attribute 'low' must not be above 'high', got "
            "1.000000 and 0.500000");
  EXPECT_EQ(error([](const Graph& g) { return ops::random_uniform(g, {2}, std::nan(""), 0.5); }),
            "INVALID_ARGUMENT: node 'RandomUniform' (RandomUniform): attribute 'low' must not be above 'high', got "
            "nan and 0.500000");
  EXPECT_EQ(error([](const Graph& g) { return ops::random_normal(g, {2}, 0, -0.5); }),
            "INVALID_ARGUMENT: node 'RandomNormal' (RandomNormal): attribute 'stddev' must be at least 0, got "
            "-0.5");
  EXPECT_EQ(error([](const Graph& g) { return ops::truncated_normal(g, {2}, 0, -0.5); }),
            "INVALID_ARGUMENT: node 'TruncatedNormal' (TruncatedNormal): attribute 'stddev' must be at least 0, got "
            "-0.5");
  EXPECT_EQ(error([](const Graph& g) {
              return ops::random_normal(g, {2, -1});
            }),
            "INVALID_ARGUMENT: node 'RandomNormal' (RandomNormal): attribute 'shape' must be known, got [2, ?]");
  for (const DType dtype : {DType::kInt32, DType::kFloat16, DType::kString})
    EXPECT_EQ(error([&](const Graph& g) { return ops::truncated_normal(g, {2}, 0, 1, dtype); }),
              "INVALID_ARGUMENT: node 'TruncatedNormal' (TruncatedNormal): random numbers are float32 or float64");
  EXPECT_EQ(error([](const Graph& g) { return ops::he_normal(g, {0, 3}); }), "no error") << "no element to draw";
}

// ---- dropout

Build dropout(double rate) {
  return [=](const Inputs& in) { return ops::dropout(in[0], rate, "drop"); };
}
Build dropout_mask(double rate) {
  return [=](const Inputs& in) { return ops::dropout(in[0], rate, "drop").sibling(1); };
}

TEST(Dropout, KeepsAFractionAndScalesIt) {
  std::vector<float> ones(kDraws, 1.0f);
  for (std::size_t i = 0; i < ones.size(); ++i) ones[i] = 1 + static_cast<float>(i % 7);
  const Tensor x({kDraws}, ones);
  for (const double rate : {0.0, 0.25, 0.5, 0.9}) {
    SCOPED_TRACE(rate);
    const std::vector<float> y = run_op<float>(dropout(rate), {x});
    const std::vector<std::uint8_t> mask = run_op<std::uint8_t>(dropout_mask(rate), {x});
    const auto scale = static_cast<float>(1 / (1 - rate));
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_LE(mask[i], 1);
      ASSERT_EQ(y[i], mask[i] == 1 ? ones[i] * scale : 0.0f) << i;
    }
    const auto kept = static_cast<double>(std::count(mask.begin(), mask.end(), 1)) / static_cast<double>(kDraws);
    expect_mean(kept, 1 - rate, rate * (1 - rate), "kept");
    EXPECT_EQ(run_op<float>(dropout(rate), {x}, 2), y) << "two threads";
  }
}

TEST(Dropout, OfAlmostEverythingKeepsNothing) {
  const Tensor x({1000}, std::vector<float>(1000, 1.0f));
  for (const double rate : {1 - 1e-9, 1 - 1e-10, 1 - 1e-15}) {
    SCOPED_TRACE(1 - rate);
    EXPECT_EQ(run_op<float>(dropout(rate), {x}), std::vector<float>(1000, 0.0f));
  }
}

TEST(Dropout, TheMaskIsThatOfTheNodesPhiloxStream) {
  const Tensor x({kDraws}, std::vector<float>(kDraws, 1.0f));
  const std::uint64_t key = mix_key(DirectSessionOptions().seed, stream_id("drop"));
  const std::vector<std::uint8_t> mask = run_op<std::uint8_t>(dropout_mask(0.75), {x}, 2);
  for (std::size_t i = 0; i < mask.size(); ++i) ASSERT_EQ(mask[i], philox(key, i / 4, 0)[i % 4] >= 0xC0000000u) << i;
}

TEST(Dropout, GradientsAgreeWithFiniteDifferences) {
  for (const double rate : {0.0, 0.3, 0.8}) check_gradients(dropout(rate), {{{5, 7}}});
}

TEST(Dropout, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{}, {1}, {0, 4}, {17, 33}, {300, 257}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(dropout(0.4), {{dims}});
  }
}

TEST(Dropout, TheGradientOfItsGradientHasTheSameMask) {
  // Linear in the incoming gradient; the value itself does not matter.
  const Build backward = [](const Inputs& in) {
    return in[0].graph().gradients({ops::dropout(in[0], 0.4, "drop")}, {in[0]}, {in[1]})[0];
  };
  check_gradients(backward, {{{5, 7}}, {{5, 7}}});
  check_float32(backward, {{{100, 130}}, {{100, 130}}});
}

class DropoutInASession : public SessionTest {};

TEST_F(DropoutInASession, ForwardAndGradientShareOneMask) {
  const Output step = ops::create_global_step(g);
  const Output next = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
  const Output x = ops::placeholder(g, DType::kFloat32, {1000}, "x");
  const Output y = ops::dropout(x, 0.5), dx = g.gradients({y}, {x})[0];
  open();
  initialize();
  const Tensor ones({1000}, std::vector<float>(1000, 1.0f));
  std::vector<float> before;
  for (int i = 0; i < 3; ++i) {
    const RunResult r = session().handle().run({y, dx, y.sibling(1)}, {{x, ones}});
    std::vector<float> value(1000), gradient(1000);
    for (std::size_t e = 0; e < 1000; ++e) {
      value[e] = static_cast<float>(r[0].number(e));
      gradient[e] = static_cast<float>(r[1].number(e));
      ASSERT_EQ(value[e], r[2].number(e) * 2) << e;
    }
    EXPECT_EQ(gradient, value);
    EXPECT_NE(value, before) << "another step draws another mask";
    before = value;
    run(next);
  }
}

TEST(Dropout, BadInputIsNamed) {
  EXPECT_EQ(build_error(dropout(1), {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'drop' (Dropout): attribute 'rate' must be in [0, 1), got 1");
  EXPECT_EQ(build_error(dropout(-0.5), {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'drop' (Dropout): attribute 'rate' must be in [0, 1), got -0.5");
  EXPECT_EQ(build_error([](const Inputs& in) { return in[0].graph().node("Dropout", "drop").in(in[0]).output(); },
                        {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'drop' (Dropout): attribute 'rate' is missing; it is a number: the fraction that "
            "is dropped");
  EXPECT_EQ(build_error(dropout(0.5), {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'drop' (Dropout): input 0 (int32 [2]) must be float32 or float64");
  const Build grad = [](const Inputs& in) {
    return in[0].graph().node("DropoutGrad", "back").in(in[0]).in(in[1]).attr("rate", 0.5).output();
  };
  EXPECT_EQ(build_error(grad, {{DType::kFloat32, {2}}, {DType::kUInt8, {3}}}),
            "INVALID_ARGUMENT: node 'back' (DropoutGrad): input 0 (float32 [2]) and input 1 (uint8 [3]) must have the "
            "same shape");
  EXPECT_EQ(build_error(grad, {{DType::kFloat32, {2}}, {DType::kBool, {2}}}),
            "INVALID_ARGUMENT: node 'back' (DropoutGrad): input 1 (bool [2]) must be uint8");
}

}  // namespace
}  // namespace belay::runtime::testing
