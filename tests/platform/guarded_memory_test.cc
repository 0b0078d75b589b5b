// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/memory/guarded_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace belay::runtime {
namespace {

class GuardedMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kGuardBytes == 0) GTEST_SKIP() << "SKIPPED: the address sanitizer finds such writes by itself";
    data_ = static_cast<char*>(allocate_guarded(kBytes));
    ASSERT_NE(data_, nullptr);
  }
  void TearDown() override { free_guarded(data_); }
  // The message about a write there, and whether other memory may be damaged.
  std::pair<std::string, bool> said(std::ptrdiff_t at, std::size_t n) {
    std::memset(data_ + at, 0x41, n);
    EXPECT_FALSE(guards_hold(data_, kBytes));
    try {
      fail_outside("'x'", data_, kBytes);
    } catch (const DamagedMemory& e) {
      return {e.what(), true};
    } catch (const Error& e) {
      return {e.what(), false};
    }
  }

  static constexpr std::size_t kBytes = 100;
  char* data_ = nullptr;
};

TEST_F(GuardedMemory, IsAlignedAndWhatIsWrittenInsideShowsNowhere) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data_) % 64, 0u);
  std::memset(data_, 0x41, kBytes);
  EXPECT_TRUE(guards_hold(data_, kBytes));
  guard_end(data_, 60);
  std::memset(data_, 0, 60);
  EXPECT_TRUE(guards_hold(data_, 60));
  data_[60] = 0;
  EXPECT_FALSE(guards_hold(data_, 60));
}

TEST_F(GuardedMemory, T_145_AWriteOutsideIsAnErrorWithItsBytesAndTheZonesAreRestored) {
  const auto whole = [](const char* text) { return std::pair<std::string, bool>(text, false); };
  EXPECT_EQ(said(kBytes, 1), whole("it wrote 1 byte past the end of 'x', which has 100 bytes"));
  EXPECT_TRUE(guards_hold(data_, kBytes));
  EXPECT_EQ(said(kBytes, 64), whole("it wrote 64 bytes past the end of 'x', which has 100 bytes"));
  EXPECT_EQ(said(-8, 8), whole("it wrote 8 bytes before the start of 'x', which has 100 bytes"));
  EXPECT_EQ(said(-8, kBytes + 16),
            whole("it wrote 8 bytes before the start and 8 bytes past the end of 'x', which has 100 bytes"));
  EXPECT_TRUE(guards_hold(data_, kBytes));
}

TEST_F(GuardedMemory, T_145_TheNearWordsShowAWriteThatBeginsAtTheMemory) {
  EXPECT_TRUE(near_guards_hold(data_, kBytes));
  for (const std::ptrdiff_t at :
       {std::ptrdiff_t{-1}, std::ptrdiff_t{-8}, std::ptrdiff_t{kBytes}, std::ptrdiff_t{kBytes + 7}}) {
    data_[at] = 0x41;
    EXPECT_FALSE(near_guards_hold(data_, kBytes)) << at;
    EXPECT_THROW(fail_outside("'x'", data_, kBytes), Error);
    EXPECT_TRUE(near_guards_hold(data_, kBytes)) << at;
  }
  data_[kBytes + 8] = 0x41;
  EXPECT_TRUE(near_guards_hold(data_, kBytes));
  EXPECT_FALSE(guards_hold(data_, kBytes));
}

TEST_F(GuardedMemory, T_145_AWriteThatReachesTheEndOfAZoneMayHaveDamagedMore) {
  EXPECT_EQ(said(kBytes, kGuardBytes),
            std::pair(std::string("it wrote 128 bytes or more past the end of 'x', which has 100 bytes"), true));
  EXPECT_EQ(said(-static_cast<std::ptrdiff_t>(kGuardBytes), 1).second, true);
}

TEST(Guards, MemoryThatThereIsNotIsNull) {
  EXPECT_EQ(allocate_guarded(SIZE_MAX), nullptr);
  // The address sanitizer ends a program that asks for so much.
  if (kGuardBytes != 0) {
    EXPECT_EQ(allocate_guarded(SIZE_MAX / 4), nullptr);
  }
  free_guarded(nullptr);
}

}  // namespace
}  // namespace belay::runtime
