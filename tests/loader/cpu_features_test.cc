// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CpuFeatures, TellsWhatIsMissingInTheOrderWanted) {
  const CpuFeatures cpu({"sse4_2", "avx"});
  EXPECT_THAT(cpu.missing({"avx2", "avx", "avx512f"}), ElementsAre("avx2", "avx512f"));
  EXPECT_THAT(cpu.missing({}), IsEmpty());
}

TEST(CpuFeatures, OfThisProcessorHasItsBaselineAndNoFantasy) {
  const CpuFeatures cpu;
#if defined(__x86_64__)
  EXPECT_THAT(cpu.missing({"sse2"}), IsEmpty());
#else
  EXPECT_THAT(cpu.missing({"asimd"}), IsEmpty());
#endif
  EXPECT_THAT(cpu.missing({"sse2_of_the_future"}), ElementsAre("sse2_of_the_future"));
}

TEST(CpuFeatures, Bf16NeedsItsInstructions) {
  const CpuFeatures old({"avx2", "avx512f"}), recent({"avx512f", "avx512_bf16"});
  EXPECT_EQ(why_not(Precision::kBfloat16, old), "this processor cannot compute in bf16: it lacks avx512_bf16");
  EXPECT_EQ(why_not(Precision::kBfloat16, recent), "");
  EXPECT_EQ(why_not(Precision::kFloat32, old), "");
}

}  // namespace
}  // namespace belay::runtime
