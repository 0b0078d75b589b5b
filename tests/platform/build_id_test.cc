// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/build_id.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace belay::runtime {
namespace {

using ::testing::MatchesRegex;

void here() {}

TEST(BuildId, OfALibraryIsThatOfTheFileThatItsAddressesLieIn) {
  EXPECT_THAT(build_id(), MatchesRegex("[0-9a-f]{40}"));
  EXPECT_EQ(build_id_of(reinterpret_cast<const void*>(&here)), build_id());
  const std::string libc = build_id_of(::dlsym(RTLD_DEFAULT, "qsort"));
  EXPECT_THAT(libc, MatchesRegex("[0-9a-f]{40}"));
  EXPECT_NE(libc, build_id());
  const int local = 0;
  EXPECT_EQ(build_id_of(&local), "");
}

TEST(CLibrary, T_51_IsNamedWithItsVersion) { EXPECT_THAT(c_library_text(), MatchesRegex("glibc 2[.][0-9]+")); }

// Two builds of one source, neither of which the linker gave an id.
TEST(BuildId, T_51_OfALibraryWithoutOneIsAHashOfItsCode) {
  std::string found[2];
  for (int i = 0; i < 2; ++i) {
    void* library = ::dlopen(i == 0 ? BELAY_NAMELESS_ONE : BELAY_NAMELESS_TWO, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    const void* address = ::dlsym(library, "nameless");
    found[i] = build_id_of(address);
    EXPECT_THAT(found[i], MatchesRegex("hash:[0-9a-f]{16}"));
    EXPECT_EQ(build_id_of(address), found[i]);
  }
  EXPECT_NE(found[0], found[1]);
}

}  // namespace
}  // namespace belay::runtime
