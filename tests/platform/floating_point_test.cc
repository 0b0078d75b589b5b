// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/floating_point.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

#if defined(__x86_64__)
TEST(KernelMode, T_41a_FlushesDenormalsWhileItLivesAndIsUndoneAfterwards) {
  const std::uint32_t own = vector_control();
  volatile float denormal = 1e-40f, half = 0.5f, least = 1.5e-38f;
  for (const std::uint32_t before : {0x1f80u, 0x7f80u, 0x9f80u, 0x1d80u}) {  // as usual, toward 0, half flushed, a trap
    set_vector_control(before);
    {
      const KernelMode mode;
      EXPECT_EQ(denormal * 1e20f, 0.0f);
      EXPECT_EQ(least * half, 0.0f);
    }
    EXPECT_EQ(vector_control() & kVectorModeBits, before & kVectorModeBits);
  }
  set_vector_control(own);
  EXPECT_GT(denormal * 1e20f, 0.0f);
}

TEST(FloatingPointMode, AChangeIsNamedByWhatChanged) {
  EXPECT_EQ(mode_change_text(0x1f80, 0x9f80, false), "the floating-point mode (flush-to-zero)");
  EXPECT_EQ(mode_change_text(0x1f80, 0x1fc0, false), "the floating-point mode (flush-to-zero)");
  EXPECT_EQ(mode_change_text(0x1f80, 0x5d80, true), "the floating-point mode (rounding, traps, x87 control word)");
}
#endif

}  // namespace
}  // namespace belay::runtime
