// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/library_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> flaws_of(const std::string& bytes) {
  const MemoryBytes source(bytes);
  return link_flaws(ElfFile(source, "x.so"));
}

// The first program header of a type, and where it is.
std::pair<Elf64_Phdr, std::size_t> segment(const std::string& bytes, std::uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  Elf64_Phdr p{};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(p);
    std::memcpy(&p, bytes.data() + at, sizeof(p));
    if (p.p_type == type) return {p, at};
  }
  ADD_FAILURE() << "no such segment";
  return {p, 0};
}

TEST(LibraryFile, AGoodOneHasNoFlaws) { EXPECT_THAT(flaws_of(bytes_of(sample_file())), IsEmpty()); }

TEST(LibraryFile, AnExecutableStackIsAFlaw) {
  const std::string bytes = bytes_of(sample_file());
  const auto [stack, at] = segment(bytes, PT_GNU_STACK);
  EXPECT_THAT(flaws_of(patched(bytes, at + offsetof(Elf64_Phdr, p_flags), std::uint32_t{PF_R | PF_W | PF_X})),
              ElementsAre("asks for an executable stack, which every thread gets; relink it with -z noexecstack"));
}

TEST(LibraryFile, TextRelocationsAndStaticThreadLocalStorageAreFlaws) {
  std::string bytes = bytes_of(sample_file());
  const auto [dynamic, unused] = segment(bytes, PT_DYNAMIC);
  for (std::size_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
    const std::size_t at = dynamic.p_offset + i * sizeof(Elf64_Dyn);
    Elf64_Dyn entry;
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    if (entry.d_tag != DT_FLAGS) continue;
    entry.d_un.d_val |= DF_TEXTREL | DF_STATIC_TLS;
    bytes = patched(bytes, at, entry);
  }
  EXPECT_THAT(flaws_of(bytes),
              ElementsAre("changes its own code when it is loaded; rebuild it with -fPIC",
                          "takes static thread-local storage, of which a process has little; rebuild it without "
                          "-ftls-model=initial-exec"));
}

TEST(LibraryFile, IsVettedByItsPath) {
  FilePolicy policy;
  const CpuFeatures cpu;
  const LibraryFile library = vet_library(sample_file(), policy, cpu);
  EXPECT_EQ(library.path, sample_file());
  EXPECT_EQ(library.module.version, "1.2.0");
  EXPECT_EQ(library.stamp, open_library(sample_file()).stamp);
}

TEST(LibraryFile, BytesAreTheFilesOnBothSidesOfTheHeadThatIsKept) {
  const belay::testing::TemporaryFolder folder;
  constexpr std::size_t kHead = 16 << 10;
  std::string content(kHead + 100, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 % 251);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kHead - 1, kHead, kHead + 100}) {
    const OpenLibrary opened = open_library(folder.write("x.so", content.substr(0, size)));
    ASSERT_EQ(opened.bytes->size(), size);
    for (const std::size_t at : {std::size_t{0}, std::size_t{5}, kHead - 8, kHead - 4, kHead, kHead + 90})
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{10}}) {
        if (at + n > size) continue;
        std::string read(n, '?');
        EXPECT_TRUE(opened.bytes->read(at, read.data(), n));
        EXPECT_EQ(read, content.substr(at, n)) << size << " bytes, " << n << " from " << at;
      }
  }
}

TEST(LibraryFile, AFileThatShrinksWhileItIsReadCannotBeReadBeyondItsEnd) {
  const belay::testing::TemporaryFolder folder;
  const std::string path = folder.write("x.so", std::string(100, 'x'));
  const OpenLibrary opened = open_library(path);
  std::filesystem::resize_file(path, 10);
  char bytes[20];
  EXPECT_FALSE(opened.bytes->read(5, bytes, 20));
  EXPECT_TRUE(opened.bytes->read(5, bytes, 5));
}

}  // namespace
}  // namespace belay::runtime
