#include "runtime/loader/library_file.h"

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

// The first program header of a type, and where it stands.
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
  FileIdentity identity;
  open_library(sample_file(), identity);
  EXPECT_EQ(library.identity, identity);
}

}  // namespace
}  // namespace belay::runtime
