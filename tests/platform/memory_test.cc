// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/memory/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace belay::runtime {
namespace {

using Block = std::unique_ptr<void, void (*)(void*)>;

TEST(Memory, IsAlignedWhateverItsSize) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65}, (std::size_t{8} << 20) + 3}) {
    const Block block(allocate_aligned(bytes), std::free);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.get()) % 64, 0u) << bytes;
    std::memset(block.get(), 1, bytes);
  }
}

TEST(Memory, WhatDoesNotExistIsNull) {
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} / 2}) EXPECT_EQ(allocate_aligned(bytes), nullptr);
}

TEST(Memory, T_151_AddressSpaceThatThereIsNotIsKnownWithoutTakingAny) {
  EXPECT_TRUE(has_address_space(std::size_t{1} << 20));
  EXPECT_FALSE(has_address_space(~std::size_t{0} / 2));
}

bool huge_pages_are_for_those_who_ask() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string modes{std::istreambuf_iterator<char>(file), {}};
  return modes.find("[madvise]") != modes.npos || modes.find("[always]") != modes.npos;
}

// A fault is a page that the kernel clears; pages are 4 KiB or 2 MiB.
TEST(Memory, T_47c_OfALargeBlockIsClearedInHugePages) {
  if (!huge_pages_are_for_those_who_ask()) GTEST_SKIP() << "this system has no transparent huge pages to ask for";
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Block block(allocate_aligned(kBytes), std::free);
  ASSERT_NE(block, nullptr);
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  std::memset(block.get(), 1, kBytes);
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, static_cast<long>(kBytes / 4096 / 4));
}

// Small ones, blocks of whole pages, and the rest before and after them.
TEST(Memory, ACopyPastTheCachesIsACopyAndTouchesNothingElse) {
  constexpr std::size_t kMost = std::size_t{600} << 10, kAround = 64;
  std::string from(kMost + kAround, '\0');
  std::uint32_t state = 1;
  for (char& c : from) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{262143}, std::size_t{262144},
                                  std::size_t{262145}, std::size_t{278528}, std::size_t{500'001}, kMost})
    for (const std::size_t at : {0, 1, 4, 63})
      for (const std::size_t start : {0, 3, 16}) {
        std::string to(kMost + 2 * kAround, '?');
        copy_past_caches(to.data() + at, from.data() + start, bytes);
        ASSERT_EQ(to.compare(at, bytes, from, start, bytes), 0) << bytes << " bytes from " << start << " to " << at;
        ASSERT_EQ(to.substr(0, at), std::string(at, '?'));
        ASSERT_EQ(to.substr(at + bytes), std::string(to.size() - at - bytes, '?'));
      }
}

}  // namespace
}  // namespace belay::runtime
