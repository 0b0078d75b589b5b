// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/mapped_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "belay/mapped_file.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

TEST(MappedPlace, T_116_NamesTheFileAndTheByteThatIsMappedAtAnAddress) {
  const TempDir folder;
  const std::string path = folder / "a file with blanks";
  std::ofstream(path) << std::string(20'000, 'x');
  const MappedFile file("path", path);
  MappedPlace place;
  ASSERT_TRUE(find_mapped_place(file.bytes().data() + 12'345, place));
  EXPECT_EQ(place.path, std::filesystem::canonical(path).string());
  EXPECT_EQ(place.offset, 12'345u);
  int on_the_stack = 0;
  EXPECT_FALSE(find_mapped_place(&on_the_stack, place));
  EXPECT_FALSE(find_mapped_place(nullptr, place));
}

}  // namespace
}  // namespace belay::runtime
