// SPDX-License-Identifier: Apache-2.0
// Compiled without contraction of products and sums (CMakeLists.txt), so all versions of a loop give the same bits.
#include "runtime/ops/kernels/random_numbers.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "belay/philox.h"

namespace belay::runtime {
namespace {

constexpr int kLanes = 16;

// Words 0 to 3 of a block for each lane, each in 64 bits. A multiplication of two words takes their lower halves.
using Blocks = std::uint64_t[4][kLanes];
constexpr std::uint64_t kLow = 0xFFFFFFFFu;

// The registers of a level of processors. Compilers multiply all 64 bits, which takes at least three times as long.
struct Base {
  using Lanes = std::uint64_t __attribute__((vector_size(16)));
  static inline void multiply(Lanes& x, const Lanes& y) {
    x = reinterpret_cast<Lanes>(_mm_mul_epu32(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
  }
};
#ifdef BELAY_HOT_VERSIONS
struct Avx2 {
  using Lanes = std::uint64_t __attribute__((vector_size(32)));
  BELAY_AVX2 static inline void multiply(Lanes& x, const Lanes& y) {
    x = reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
  }
};
struct Avx512 {
  using Lanes = std::uint64_t __attribute__((vector_size(64)));
  BELAY_AVX512 static inline void multiply(Lanes& x, const Lanes& y) {
    x = reinterpret_cast<Lanes>(
        _mm512_maskz_mul_epu32(__mmask8{0xff}, reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
  }
};
#endif

// Makes blocks first, first + 1, ... of the stream. It fills two registers at a time, since each round waits for the
// previous one.
template <class Registers>
[[gnu::always_inline]] inline void philox_lanes(const RandomStream& stream, std::uint64_t first, Blocks& blocks) {
  using Lanes = typename Registers::Lanes;
  constexpr int kOne = sizeof(Lanes) / sizeof(std::uint64_t), kTwo = 2;
  alignas(64) constexpr std::uint64_t kCount[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  Lanes count;
  std::memcpy(&count, kCount, sizeof(count));
  const Lanes m0 = Lanes{} + 0xD2511F53u, m1 = Lanes{} + 0xCD9E8D57u;
  const Lanes step_low = Lanes{} + (stream.step & kLow), step_high = Lanes{} + (stream.step >> 32);
  for (int l = 0; l < kLanes; l += kTwo * kOne) {
    Lanes c0[kTwo], c1[kTwo], c2[kTwo] = {step_low, step_low}, c3[kTwo] = {step_high, step_high};
    for (int r = 0; r < kTwo; ++r) {
      const Lanes block = count + (first + static_cast<std::uint64_t>(l + r * kOne));
      c0[r] = block & kLow;
      c1[r] = block >> 32;
    }
    std::uint64_t k0 = stream.key & kLow, k1 = stream.key >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      for (int r = 0; r < kTwo; ++r) {
        Lanes p0 = c0[r], p1 = c2[r];
        Registers::multiply(p0, m0);
        Registers::multiply(p1, m1);
        c0[r] = (p1 >> 32) ^ (c1[r] & kLow) ^ k0;
        c2[r] = (p0 >> 32) ^ (c3[r] & kLow) ^ k1;
        c1[r] = p1;
        c3[r] = p0;
      }
      k0 = (k0 + 0x9E3779B9u) & kLow;
      k1 = (k1 + 0xBB67AE85u) & kLow;
    }
    for (int r = 0; r < kTwo; ++r) {
      const Lanes made[4] = {c0[r] & kLow, c1[r] & kLow, c2[r] & kLow, c3[r] & kLow};
      for (int w = 0; w < 4; ++w) std::memcpy(&blocks[w][l + r * kOne], &made[w], sizeof(Lanes));
    }
  }
}

// The bits of 2^52 plus a word. With it every processor converts whole numbers to doubles.
constexpr std::uint64_t kWhole = 0x4330000000000000u;
[[gnu::always_inline]] inline double whole(std::uint64_t below_2_52) {
  return std::bit_cast<double>(kWhole | below_2_52) - 0x1p52;
}

// Computes uniform_double() of philox.h.
[[gnu::always_inline]] inline double unit(std::uint64_t high, std::uint64_t low) {
  return (whole(high) * 0x1p21 + whole(low >> 11)) * 0x1p-53;
}

// Returns log(x) for x in [2^-53, 1], with a relative error of at most 2^-49.
[[gnu::always_inline]] inline double log_of_unit(double x) {
  // With x = 2^n * (1 + f), 1 + f is in [sqrt(1/2), sqrt(2)). The series is that of log(1 + f) = 2 atanh(s), s = f / (2
  // + f).
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu, kFraction = 0x000fffffffffffffu, kBias = 1023;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) - kSqrtHalf + (kBias << 52);
  const double n = whole(bits >> 52) - static_cast<double>(kBias);
  const double f = std::bit_cast<double>((bits & kFraction) + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  return n * kLn2High + (n * kLn2Low + (s * 2.0 + s * (p * z)));
}

// Returns cos(x) for x in [0, 2 pi], with an error of at most 2^-49.
[[gnu::always_inline]] inline double cos_of_turn(double x) {
  // With x = q * pi / 2 + r, |r| is at most pi / 4. q selects the series of cos or sin at r.
  constexpr double kRound = 0x1.8p52, kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPiHigh = 0x1.921fb544p+0, kHalfPiLow = 0x1.0b4611a626331p-34;
  const double shifted = x * kTwoOverPi + kRound;
  const std::uint64_t q = std::bit_cast<std::uint64_t>(shifted);  // in its low bits
  const double n = shifted - kRound;
  const double r = (x - n * kHalfPiHigh) - n * kHalfPiLow;
  const double z = r * r;
  double c = 0x1.ae7f3e733b81fp-45;  // 1 / 16!
  c = c * z - 0x1.93974a8c07c9dp-37;
  c = c * z + 0x1.1eed8eff8d898p-29;
  c = c * z - 0x1.27e4fb7789f5cp-22;
  c = c * z + 0x1.a01a01a01a01ap-16;
  c = c * z - 0x1.6c16c16c16c17p-10;
  c = c * z + 0x1.5555555555555p-5;
  const double cosine = 1.0 - (0.5 - c * z) * z;
  double s = -0x1.ae7f3e733b81fp-41;  // -1 / 15!
  s = s * z + 0x1.6124613a86d09p-33;
  s = s * z - 0x1.ae64567f544e4p-26;
  s = s * z + 0x1.71de3a556c734p-19;
  s = s * z - 0x1.a01a01a01a01ap-13;
  s = s * z + 0x1.1111111111111p-7;
  s = s * z - 0x1.5555555555555p-3;
  const double sine = r + r * z * s;
  const std::uint64_t odd = std::uint64_t{0} - (q & 1), sign = ((q + 1) & 2) << 62;
  const std::uint64_t bits = (std::bit_cast<std::uint64_t>(sine) & odd) | (std::bit_cast<std::uint64_t>(cosine) & ~odd);
  return std::bit_cast<double>(bits ^ sign);
}

constexpr double kTurn = 6.283185307179586;

// Returns the C library's float64 results of log and cos on every processor. Those functions have versions for several
// processors that differ in the last bit. The versions for long double do not.
double box_muller_everywhere(double u, double v) {
  const auto log = static_cast<double>(std::log(static_cast<long double>(1 - u)));
  const auto cosine = static_cast<double>(std::cos(static_cast<long double>(kTurn * v)));
  return std::sqrt(-2 * log) * cosine;
}

// A number from float64 functions that are nearly as exact as the C library's.
struct CheapNormal {
  float value;
  // These are 1 or 0 as numbers, since branches would keep the loop over the lanes from becoming vector code.
  std::uint64_t unsure;   // the error may change the float32 or its truncation: one of 10^6
  std::uint64_t outside;  // 1: outside of the truncated range
};
[[gnu::always_inline]] inline CheapNormal cheap_normal(const RandomNumbers& numbers, double u, double v) {
  constexpr double kError = 0x1p-46;
  const double most = numbers.distribution == Distribution::kTruncatedNormal ? 2.0 : 1e300;
  const double radius = std::sqrt(-2 * log_of_unit(1 - u));
  const double z = radius * cos_of_turn(kTurn * v), size = std::fabs(z), z_error = radius * kError;
  const double y = numbers.a + numbers.b * z;
  const double error = std::fabs(numbers.b) * z_error + std::fabs(y) * kError;
  const std::uint64_t rounds_apart = static_cast<float>(y - error) != static_cast<float>(y + error) ? 1 : 0;
  const std::uint64_t outside = size - z_error > most ? 1 : 0, maybe_outside = size + z_error > most ? 1 : 0;
  return {static_cast<float>(y), rounds_apart | (maybe_outside ^ outside), outside};
}

// Returns number i if the cheap first draw did not settle it. A truncated one is drawn again, each time from another
// stream, until it fits. About one of twenty is.
[[gnu::noinline]] float settled_normal(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t i) {
  for (std::uint64_t again = 0;; ++again) {
    const std::uint64_t key = again == 0 ? stream.key : mix_key(stream.key, again);
    const PhiloxBlock b = philox(key, static_cast<std::uint64_t>(i), stream.step);
    const double u = uniform_double(b[0], b[1]), v = uniform_double(b[2], b[3]);
    const CheapNormal cheap = cheap_normal(numbers, u, v);
    if (cheap.outside != 0) continue;
    if (cheap.unsure == 0) return cheap.value;
    const double z = box_muller_everywhere(u, v);
    if (numbers.distribution == Distribution::kTruncatedNormal && !(z >= -2 && z <= 2)) continue;
    return static_cast<float>(numbers.a + numbers.b * z);
  }
}

// Fills the lanes' numbers. Returns true if `unsettled` is not 0 in one of them.
[[gnu::always_inline]] inline bool cheap_normals(const RandomNumbers& numbers, const Blocks& words, float* out,
                                                 std::uint64_t* unsettled) {
  std::uint64_t any = 0;
  for (int l = 0; l < kLanes; ++l) {
    const CheapNormal cheap = cheap_normal(numbers, unit(words[0][l], words[1][l]), unit(words[2][l], words[3][l]));
    out[l] = cheap.value;
    unsettled[l] = cheap.unsure | cheap.outside;
    any |= unsettled[l];
  }
  return any != 0;
}

[[gnu::always_inline]] inline void uniforms(const RandomNumbers& numbers, const Blocks& words, float* out) {
  for (int l = 0; l < kLanes; ++l)
    out[l] = std::min(static_cast<float>(numbers.a + numbers.b * unit(words[0][l], words[1][l])), numbers.last);
}

template <class Registers>
[[gnu::always_inline]] inline void floats(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t begin,
                                          std::int64_t end, float* out) {
  for (std::int64_t at = begin; at < end; at += kLanes) {
    Blocks words;
    philox_lanes<Registers>(stream, static_cast<std::uint64_t>(at), words);
    float made[kLanes];
    if (numbers.distribution == Distribution::kUniform) {
      uniforms(numbers, words, made);
    } else {
      std::uint64_t unsettled[kLanes];
      if (cheap_normals(numbers, words, made, unsettled))
        for (int l = 0; l < kLanes; ++l)
          if (unsettled[l] != 0) made[l] = settled_normal(stream, numbers, at + l);
    }
    std::copy_n(made, std::min<std::int64_t>(end - at, kLanes), out + (at - begin));
  }
}

template <class Registers>
[[gnu::always_inline]] inline void words(const RandomStream& stream, std::int64_t begin, std::int64_t end,
                                         std::uint32_t* out) {
  for (std::int64_t at = begin; at < end; at += 4 * kLanes) {
    Blocks c;
    philox_lanes<Registers>(stream, static_cast<std::uint64_t>(at) / 4, c);
    std::uint32_t made[4 * kLanes];
    for (int l = 0; l < kLanes; ++l)
      for (int w = 0; w < 4; ++w) made[4 * l + w] = static_cast<std::uint32_t>(c[w][l]);
    std::copy_n(made, std::min<std::int64_t>(end - at, 4 * kLanes), out + (at - begin));
  }
}

#ifdef BELAY_HOT_VERSIONS
BELAY_AVX2 void floats_avx2(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t begin,
                            std::int64_t end, float* out) {
  floats<Avx2>(stream, numbers, begin, end, out);
}
BELAY_AVX512 void floats_avx512(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t begin,
                                std::int64_t end, float* out) {
  floats<Avx512>(stream, numbers, begin, end, out);
}
BELAY_AVX2 void words_avx2(const RandomStream& stream, std::int64_t begin, std::int64_t end, std::uint32_t* out) {
  words<Avx2>(stream, begin, end, out);
}
BELAY_AVX512 void words_avx512(const RandomStream& stream, std::int64_t begin, std::int64_t end, std::uint32_t* out) {
  words<Avx512>(stream, begin, end, out);
}
#endif

}  // namespace

void random_words(const RandomStream& stream, std::int64_t begin, std::int64_t end, std::uint32_t* out,
                  HotLevel level) {
#ifdef BELAY_HOT_VERSIONS
  if (level == HotLevel::kAvx512) return words_avx512(stream, begin, end, out);
  if (level == HotLevel::kAvx2) return words_avx2(stream, begin, end, out);
#endif
  static_cast<void>(level);
  words<Base>(stream, begin, end, out);
}

void random_floats(const RandomStream& stream, const RandomNumbers& numbers, std::int64_t begin, std::int64_t end,
                   float* out, HotLevel level) {
#ifdef BELAY_HOT_VERSIONS
  if (level == HotLevel::kAvx512) return floats_avx512(stream, numbers, begin, end, out);
  if (level == HotLevel::kAvx2) return floats_avx2(stream, numbers, begin, end, out);
#endif
  static_cast<void>(level);
  floats<Base>(stream, numbers, begin, end, out);
}

double box_muller(double u, double v) { return std::sqrt(-2 * std::log(1 - u)) * std::cos(kTurn * v); }

}  // namespace belay::runtime
