// SPDX-License-Identifier: Apache-2.0
// exp, log, tanh ... of one number. The float32 functions have no branches and are always inlined, so a loop over them
// becomes vector code. They are within 3 units in the last place of the exact value. Results below the smallest normal
// number are an exception. The float64 functions are the C library's. NaN returns NaN. Infinities and overflow give the
// C library's results.
//
// The polynomials were fitted at Chebyshev nodes. The range reductions are those of the literature (Cody and Waite
// 1980, Muller 2016).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace belay::runtime {

namespace vector_math {

// n and r of x = n * ln 2 + r, |r| <= ln 2 / 2, for |x| < 2^21. The low bits of `biased`, which is n + kBias, are n,
// too.
struct Reduced {
  float r;
  std::int32_t n;
};
[[gnu::always_inline]] inline Reduced reduce(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  constexpr float kLog2e = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float shifted = x * kLog2e + kRound;
  const float n = shifted - kRound;
  return {(x - n * kLn2High) - n * kLn2Low, std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound)};
}

// Returns 2^n for n in [-126, 127].
[[gnu::always_inline]] inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23);
}

// Returns e^r - 1 for |r| <= ln 2 / 2.
[[gnu::always_inline]] inline float expm1_reduced(float r) {
  float q = 0.0001989098271f;
  q = q * r + 0.001393364269f;
  q = q * r + 0.008333310933f;
  q = q * r + 0.04166646499f;
  q = q * r + 0.1666666668f;
  q = q * r + 0.5f;
  return r + (r * r) * q;
}

}  // namespace vector_math

[[gnu::always_inline]] inline float exp_of(float x) {
  using namespace vector_math;
  x = x > 89.0f ? 89.0f : x;      // above it the result overflows to infinity
  x = x < -104.0f ? -104.0f : x;  // below it the result is 0
  const Reduced y = reduce(x);
  const std::int32_t half = y.n >> 1;  // 2^n itself may not be a normal number
  return (expm1_reduced(y.r) + 1.0f) * power_of_two(half) * power_of_two(y.n - half);
}
inline double exp_of(double x) { return std::exp(x); }

// Returns e^x - 1 for x <= 0.
[[gnu::always_inline]] inline float expm1_of_negative(float x) {
  using namespace vector_math;
  x = x < -87.0f ? -87.0f : x;  // below it the result is -1
  const Reduced y = reduce(x);
  const float scale = power_of_two(y.n);
  return scale * expm1_reduced(y.r) + (scale - 1.0f);
}
inline double expm1_of_negative(double x) { return std::expm1(x); }

[[gnu::always_inline]] inline float log_of(float x) {
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kSmallest = 1.17549435e-38f, kInfinity = __builtin_inff();
  const bool tiny = x < kSmallest;
  const float scaled = tiny ? x * 8388608.0f : x;  // 2^23
  // With x = 2^n * m, m is in [sqrt(1/2), sqrt(2)).
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  // It is unsigned: for a negative number it wraps, and the result is not used.
  const auto bits = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(scaled) - std::uint32_t{kSqrtHalf});
  const auto n = static_cast<float>((bits >> 23) - (tiny ? 23 : 0));
  const float f = std::bit_cast<float>((bits & 0x007fffff) + kSqrtHalf) - 1.0f;
  // Computes log(1 + f) = f - f^2/2 + s * (f^2/2 + R(s^2)), s = f / (2 + f).
  const float s = f / (2.0f + f);
  const float z = s * s;
  float p = 0.2333096405f;
  p = p * z + 0.2855080255f;
  p = p * z + 0.40000122f;
  p = p * z + 0.6666666655f;
  const float half_square = 0.5f * f * f;
  const float log = ((s * (half_square + p * z) + n * kLn2Low) - half_square) + f + n * kLn2High;
  const float below = x == 0.0f ? -kInfinity : __builtin_nanf("");
  return x > 0.0f ? (x == kInfinity ? x : log) : (x != x ? x : below);
}
inline double log_of(double x) { return std::log(x); }

[[gnu::always_inline]] inline float log1p_of(float x) {
  const float u = 1.0f + x;
  const float log = log_of(u);
  // The rounding error of u, to first order; it is not used if u is 0, infinite or NaN.
  const float lost = (x - (u - 1.0f)) / u;
  return u > 0.0f && u < __builtin_inff() ? log + lost : log;
}
inline double log1p_of(double x) { return std::log1p(x); }

[[gnu::always_inline]] inline float tanh_of(float x) {
  const float t = expm1_of_negative(-2.0f * std::fabs(x));
  return std::copysign(-t / (t + 2.0f), x);
}
inline double tanh_of(double x) { return std::tanh(x); }

template <class T>
[[gnu::always_inline]] inline T sigmoid_of(T x) {
  return T(1) / (T(1) + exp_of(-x));
}

// Returns log(1 + e^x).
template <class T>
[[gnu::always_inline]] inline T softplus_of(T x) {
  const T positive = x < T(0) ? T(0) : x;
  return positive + log1p_of(exp_of(x < T(0) ? x : -x));
}

}  // namespace belay::runtime
