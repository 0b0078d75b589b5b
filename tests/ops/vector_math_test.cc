// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace belay::runtime::testing {
namespace {

struct Function {
  const char* name;
  float (*fast)(float);
  double (*exact)(double);
};
float below_zero(float x) { return expm1_of_negative(x > 0 ? -x : x); }
double below_zero_exactly(double x) { return std::expm1(x > 0 ? -x : x); }
const Function kFunctions[] = {
    {"exp", [](float x) { return exp_of(x); }, [](double x) { return std::exp(x); }},
    {"expm1 of negative", below_zero, below_zero_exactly},
    {"log", [](float x) { return log_of(x); }, [](double x) { return std::log(x); }},
    {"log1p", [](float x) { return log1p_of(x); }, [](double x) { return std::log1p(x); }},
    {"tanh", [](float x) { return tanh_of(x); }, [](double x) { return std::tanh(x); }},
    {"sigmoid", [](float x) { return sigmoid_of(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", [](float x) { return softplus_of(x); },
     [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }}};

float from_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// Every 4099th float of all there are, NaNs, infinities and subnormal ones among them.
TEST(VectorMath, StaysWithinThreeUlp) {
  for (const Function& f : kFunctions) {
    double worst = 0;
    float worst_at = 0;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
      const float x = from_bits(static_cast<std::uint32_t>(bits));
      const double wanted = f.exact(static_cast<double>(x));
      const float y = f.fast(x);
      const auto rounded = static_cast<float>(wanted);
      if (std::isnan(rounded)) {
        ASSERT_TRUE(std::isnan(y)) << f.name << " of " << x;
      } else if (std::isinf(rounded)) {
        ASSERT_EQ(y, rounded) << f.name << " of " << x;
      } else if (std::fabs(wanted) < std::numeric_limits<float>::min()) {
        ASSERT_LT(std::fabs(y), 2 * std::numeric_limits<float>::min()) << f.name << " of " << x;
      } else {
        const double error = std::fabs(y - wanted) / std::ldexp(1.0, std::ilogb(rounded) - 23);
        if (error > worst) worst = error, worst_at = x;
      }
    }
    EXPECT_LE(worst, 3) << f.name << " of " << worst_at;
  }
}

TEST(VectorMath, ExactWhereItMatters) {
  EXPECT_EQ(exp_of(0.0f), 1.0f);
  EXPECT_EQ(log_of(1.0f), 0.0f);
  EXPECT_EQ(tanh_of(0.0f), 0.0f);
  EXPECT_TRUE(std::signbit(tanh_of(-0.0f)));
  EXPECT_EQ(sigmoid_of(0.0f), 0.5f);
  EXPECT_EQ(expm1_of_negative(-1e-20f), -1e-20f);
}

}  // namespace
}  // namespace belay::runtime::testing
