#include "runtime/loader/cpu_features.h"

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

}  // namespace
}  // namespace belay::runtime
