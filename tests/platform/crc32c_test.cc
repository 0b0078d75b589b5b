// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/crc32c.h"

#include <cpuid.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <random>

namespace belay::runtime {
namespace {

// Bit by bit, from the polynomial.
std::uint32_t reference(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const unsigned char c : bytes) {
    crc ^= c;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

TEST(Crc32c, HasTheKnownValueOfTheDigits) { EXPECT_EQ(crc32c("123456789"), 0xe3069283u); }

TEST(Crc32c, OfNothingIsZero) { EXPECT_EQ(crc32c(""), 0u); }

TEST(Crc32c, AgreesWithThePolynomialAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::string bytes(600, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  for (std::size_t begin = 0; begin < 16; ++begin)
    for (std::size_t n = 0; n < 500; n += n < 70 ? 1 : 37) {
      const std::string_view part = std::string_view(bytes).substr(begin, n);
      ASSERT_EQ(crc32c(part), reference(part)) << begin << " " << n;
    }
}

TEST(Crc32c, PiecesChain) {
  const std::string bytes = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
    EXPECT_EQ(crc32c(std::string_view(bytes).substr(cut), crc32c(std::string_view(bytes).substr(0, cut))),
              crc32c(bytes));
}

// Whether the processor reports the vector registers in use (XGETBV with ECX = 1).
bool tells_registers_in_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kExtendedStates = 0xd, kXgetbvWithOne = 1U << 2;
  return __builtin_cpu_supports("avx") && __get_cpuid_count(kExtendedStates, 1, &a, &b, &c, &d) != 0 &&
         (a & kXgetbvWithOne) != 0;
}

__attribute__((target("xsave"))) unsigned long long registers_in_use() { return _xgetbv(1); }
__attribute__((target("avx"))) void clear_upper_halves() { _mm256_zeroupper(); }
__attribute__((target("avx"))) void use_upper_halves() {
  asm volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" ::: "xmm0");
}

TEST(Crc32c, LeavesTheUpperHalvesOfTheVectorRegistersClear) {
  if (!tells_registers_in_use()) GTEST_SKIP() << "the processor does not tell which registers are in use";
  constexpr unsigned long long kUpperHalves = 1ULL << 2;
  use_upper_halves();
  ASSERT_NE(registers_in_use() & kUpperHalves, 0u);
  clear_upper_halves();
  if ((registers_in_use() & kUpperHalves) != 0) GTEST_SKIP() << "the processor calls registers that are clear in use";
  const std::string bytes(1 << 16, 'b');
  const std::uint32_t crc = crc32c(bytes);
  const unsigned long long used = registers_in_use();
  EXPECT_EQ(used & kUpperHalves, 0u);
  EXPECT_EQ(crc, reference(bytes));
}

TEST(Crc32c, MaskRotatesAndAdds) { EXPECT_EQ(masked_crc(0x00008000u), 0x00000001u + 0xa282ead8u); }

TEST(Crc32c, TextIsEightLowerCaseDigitsAndNothingElse) {
  EXPECT_EQ(crc_text(0x0a1b2c3d), "0a1b2c3d");
  EXPECT_EQ(parse_crc("0a1b2c3d"), 0x0a1b2c3du);
  for (const char* bad : {"", "0a1b2c3", "0a1b2c3d0", "0A1b2c3d", "0x1b2c3d", " a1b2c3d", "0a1b2c3g"})
    EXPECT_EQ(parse_crc(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace belay::runtime
