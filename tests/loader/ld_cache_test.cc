// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/ld_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "tests/loader/plugin_files.h"

namespace belay::runtime {
namespace {

TEST(LdCache, KnowsTheCLibrary) {
  if (!std::filesystem::exists("/etc/ld.so.cache")) GTEST_SKIP() << "this system has no /etc/ld.so.cache";
  const auto cache = read_ld_cache();
  const auto at = cache.find("libc.so.6");
  ASSERT_NE(at, cache.end());
  EXPECT_TRUE(std::filesystem::exists(at->second)) << at->second;
  EXPECT_EQ(cache.count("libbelay_test_absent.so"), 0u);
}

TEST(LdCache, OfAnotherFormatIsEmpty) {
  EXPECT_TRUE(parse_ld_cache("").empty());
  EXPECT_TRUE(parse_ld_cache("ld.so-1.7.0 and so on").empty());
  EXPECT_TRUE(parse_ld_cache("glibc-ld.so.cache1.1").empty());
}

TEST(LdCache, NoMutationCrashesTheReader) {
  if (!std::filesystem::exists("/etc/ld.so.cache")) GTEST_SKIP() << "this system has no /etc/ld.so.cache";
  const std::string whole = bytes_of("/etc/ld.so.cache");
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole.substr(0, round % 3 == 0 ? random() % whole.size() : whole.size());
    for (int n = 0; n < 20 && !bytes.empty(); ++n)
      bytes[random() % std::min<std::size_t>(bytes.size(), 2000)] = static_cast<char>(random());
    parse_ld_cache(bytes);
  }
}

}  // namespace
}  // namespace belay::runtime
