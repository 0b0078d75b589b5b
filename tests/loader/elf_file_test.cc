// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/elf_file.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "runtime/loader/library/loader.h"
#include "tests/fuzz/read_plugin_file.h"
#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

// Counts the bytes that live and their peak, to show that no file makes the reader keep more than the file has. The
// address sanitizer brings its own operator new.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BELAY_COUNTS_BYTES
namespace {
constexpr int kRounds = 12000;
std::atomic<std::size_t> live_bytes{0}, peak_bytes{0};
}  // namespace
void* operator new(std::size_t size) {
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  const std::size_t now = live_bytes += malloc_usable_size(p);
  if (now > peak_bytes) peak_bytes = now;
  return p;
}
void operator delete(void* p) noexcept {
  if (p != nullptr) live_bytes -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
#else
namespace {
constexpr int kRounds = 4000;
}
#endif

namespace belay::runtime {
namespace {

std::string error_of_bytes(std::string_view bytes) {
  return load_error_of([&] {
    const MemoryBytes source(bytes);
    const ElfFile elf(source, "x.so");
  });
}

Elf64_Ehdr header_of(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

// Offset in the file of the n-th program header of a type.
std::size_t segment_at(const std::string& bytes, std::uint32_t type, int n = 0) {
  const Elf64_Ehdr header = header_of(bytes);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr p;
    const std::size_t at = header.e_phoff + i * sizeof(p);
    std::memcpy(&p, bytes.data() + at, sizeof(p));
    if (p.p_type == type && n-- == 0) return at;
  }
  ADD_FAILURE() << "no such segment";
  return 0;
}

std::string of_type(std::uint16_t type) { return patched(bytes_of(sample_file()), offsetof(Elf64_Ehdr, e_type), type); }

TEST(ElfFile, ReadsWhatAPluginNeedsAndOffers) {
  const std::string bytes = bytes_of(sample_file());
  const MemoryBytes source(bytes);
  const ElfFile elf(source, "x.so");
  const ElfDynamic dynamic = elf.dynamic();
  EXPECT_NE(std::find(dynamic.needed.begin(), dynamic.needed.end(), "libc.so.6"), dynamic.needed.end());
  EXPECT_NE(std::find(dynamic.needed.begin(), dynamic.needed.end(), "libstdc++.so.6"), dynamic.needed.end());
  EXPECT_FALSE(dynamic.text_relocations);
  EXPECT_FALSE(elf.executable_stack());
  ASSERT_TRUE(elf.find_export(BELAY_MODULE_SYMBOL));
  EXPECT_EQ(elf.find_export(BELAY_MODULE_SYMBOL)->type, STT_OBJECT);
  EXPECT_FALSE(elf.find_export("belay_module_v"));
  EXPECT_FALSE(elf.find_export("main"));
  ASSERT_EQ(elf.exports().size(), 1u);
  EXPECT_EQ(elf.exports()[0].name, BELAY_MODULE_SYMBOL);
  bool has_glibc = false;
  for (const ElfVersionNeed& need : elf.version_needs())
    has_glibc = has_glibc || (need.library == "libc.so.6" && need.version.rfind("GLIBC_2.", 0) == 0);
  EXPECT_TRUE(has_glibc);
  const auto note = elf.note("BELAY", BELAY_NOTE_TYPE);
  ASSERT_TRUE(note.has_value());
  EXPECT_EQ(note->front(), '{');
  EXPECT_EQ(note->back(), '}');
  EXPECT_FALSE(elf.note("BELAY", 2).has_value());
  EXPECT_FALSE(elf.note("OTHER", BELAY_NOTE_TYPE).has_value());
}

TEST(ElfFile, ReadsTheVersionsThatASystemLibraryDefines) {
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"}) {
    if (!std::filesystem::exists(path)) continue;
    const std::string bytes = bytes_of(path);
    const MemoryBytes source(bytes);
    const ElfFile elf(source, path);
    const auto versions = elf.version_definitions();
    EXPECT_NE(std::find(versions.begin(), versions.end(), "GLIBC_2.34"), versions.end());
    EXPECT_EQ(elf.dynamic().soname, "libc.so.6");
    EXPECT_TRUE(elf.find_export("dlopen"));
    EXPECT_GT(elf.exports().size(), 1000u);
    return;
  }
  GTEST_SKIP() << "no libc.so.6 where Debian has it";
}

TEST(ElfFile, NamesEachKindOfWrongFile) {
  const std::string sample = bytes_of(sample_file());
  const struct {
    std::string bytes, expected;
  } cases[] = {
      {"", "[B2005] not_elf: 'x.so' is too short for a shared library: 0 bytes\n  help: give the .so file of a plugin"},
      {"0123456789",
       "[B2005] not_elf: 'x.so' is too short for a shared library: 10 bytes\n  help: give the .so file of a plugin"},
      {sample.substr(0, 10),
       "[B2005] not_elf: 'x.so' is too short for a shared library: 10 bytes\n"
       "  help: copy it or build it again; is the disk full?"},
      {sample.substr(0, 63),
       "[B2005] not_elf: 'x.so' is too short for a shared library: 63 bytes\n"
       "  help: copy it or build it again; is the disk full?"},
      {"\n" + sample, "[B2005] not_elf: 'x.so' is no ELF file\n  help: give the .so file of a plugin"},
      {"!<thin>\n" + std::string(100, ' '),
       "[B2006] archive: 'x.so' is a static library (.a), not a shared library\n"
       "  help: build a shared library with belay_add_plugin, or with -shared -fPIC"},
      {of_type(ET_EXEC),
       "[B2008] executable: 'x.so' is a program, not a shared library\n"
       "  help: build a shared library with belay_add_plugin, or with -shared -fPIC"},
      {of_type(ET_REL),
       "[B2007] object: 'x.so' is an object file (.o), not a shared library\n"
       "  help: build a shared library with belay_add_plugin, or with -shared -fPIC"},
      {of_type(ET_CORE),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: it has the unknown ELF type 4\n"
       "  help: copy it or build it again"},
      {patched(sample, EI_DATA, ELFDATA2MSB),
       "[B2009] wrong_machine: 'x.so' is built for a big-endian machine, this host is little-endian\n  help: rebuild "
       "it for " +
           machine_name(host_machine())},
      {patched(sample, EI_CLASS, ELFCLASS32), "[B2009] wrong_machine: 'x.so' is a 32-bit file, this host is 64-bit " +
                                                  machine_name(host_machine()) + "\n  help: rebuild it for " +
                                                  machine_name(host_machine())},
      {patched(sample, EI_OSABI, ELFOSABI_FREEBSD),
       "[B2009] wrong_machine: 'x.so' is built for another operating system (OS ABI 9)\n  help: rebuild it for " +
           machine_name(host_machine())},
      {patched(sample, EI_CLASS, '\7'),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: its ELF identification is unknown\n  help: copy it or build it "
       "again"},
      {patched(sample, offsetof(Elf64_Ehdr, e_machine), std::uint16_t{EM_RISCV}),
       "[B2009] wrong_machine: 'x.so' is built for riscv, this host is " + machine_name(host_machine()) +
           "\n  help: rebuild it for " + machine_name(host_machine())},
      {patched(sample, offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{0}),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: it has no readable program headers\n  help: copy it or build it "
       "again"},
      {patched(sample, offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{60000}),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: it has no readable program headers\n  help: copy it or build it "
       "again"},
      {patched(sample, offsetof(Elf64_Ehdr, e_phoff), ~std::uint64_t{0}),
       "[B2010] truncated: 'x.so' is cut off: its program header table lies outside the file of " +
           std::to_string(sample.size()) + " bytes\n  help: copy it or build it again; is the disk full?"},
      {patched(sample, segment_at(sample, PT_DYNAMIC), std::uint32_t{PT_NULL}),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: it has no dynamic section\n  help: copy it or build it again"},
      {patched(sample, segment_at(sample, PT_DYNAMIC) + offsetof(Elf64_Phdr, p_vaddr), std::uint64_t{1} << 40),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: its dynamic section lies outside its segments\n"
       "  help: copy it or build it again"},
      {patched(sample, segment_at(sample, PT_LOAD) + offsetof(Elf64_Phdr, p_filesz), ~std::uint64_t{0}),
       "[B2011] corrupt: 'x.so' is a corrupt ELF file: a segment's size makes no sense\n  help: copy it or build it "
       "again"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of_bytes(c.bytes), c.expected);
}

TEST(ElfFile, ATruncatedFileIsRefusedUntilItsLastSegmentIsWholeAndThenLoads) {
  const std::string whole = bytes_of(sample_file());
  std::uint64_t end = 0;
  for (int i = 0; i < 16; ++i) {
    const Elf64_Ehdr header = header_of(whole);
    if (i >= header.e_phnum) break;
    Elf64_Phdr p;
    std::memcpy(&p, whole.data() + header.e_phoff + static_cast<unsigned>(i) * sizeof(p), sizeof(p));
    if (p.p_type == PT_LOAD) end = std::max(end, p.p_offset + p.p_filesz);
  }
  for (std::size_t size = 64; size < whole.size(); size += 1024)
    EXPECT_EQ(
        error_of_bytes(std::string_view(whole).substr(0, size)).rfind("[B2010] truncated: 'x.so' is cut off: ", 0),
        size < end ? 0 : std::string::npos)
        << size;
  EXPECT_EQ(error_of_bytes(std::string_view(whole).substr(0, end - 1)),
            "[B2010] truncated: 'x.so' is cut off: a segment ends at byte " + std::to_string(end) + ", the file has " +
                std::to_string(end - 1) + "\n  help: copy it or build it again; is the disk full?");
  // The rest has no section headers, as after sstrip.
  const testing::TemporaryFolder folder;
  const std::string path = folder.write("cut.so", std::string_view(whole).substr(0, end));
  FilePolicy policy;
  const CpuFeatures cpu;
  Loader loader(policy, cpu, "");
  EXPECT_EQ(loader.load(path).info.plugins.size(), 5u);
}

TEST(ElfFile, NoMutationCrashesTheReaderOrMakesItKeepMoreThanTheFile) {
  const std::string whole = bytes_of(sample_file());
  const Elf64_Ehdr header = header_of(whole);
  const std::size_t headers = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  Elf64_Phdr dynamic;
  std::memcpy(&dynamic, whole.data() + segment_at(whole, PT_DYNAMIC), sizeof(dynamic));
  std::mt19937_64 random(20240614);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::uint64_t kEdges[] = {0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, ~0ULL};
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole;
    for (std::size_t n = 1 + below(6); n != 0; --n) {
      // Headers, the dynamic section, the tables at the start of the file, anywhere.
      const std::size_t from = round % 4 == 1 ? dynamic.p_offset : 0;
      const std::size_t range = round % 4 == 0   ? headers
                                : round % 4 == 1 ? dynamic.p_filesz
                                : round % 4 == 2 ? 8192
                                                 : whole.size();
      const std::size_t at = std::min(from + below(range), bytes.size() - 8);
      const std::uint64_t value = random() % 2 == 0 ? kEdges[below(std::size(kEdges))] : random();
      std::memcpy(bytes.data() + at, &value, std::size_t{1} << below(4));
    }
    if (round % 16 == 0) bytes.resize(below(bytes.size()));
#ifdef BELAY_COUNTS_BYTES
    const std::size_t before = live_bytes;
    peak_bytes = before;
#endif
    read_plugin_file(bytes);
#ifdef BELAY_COUNTS_BYTES
    // One table at a time; the constant is for messages of errors and the note's parsed form.
    ASSERT_LE(peak_bytes - before, bytes.size() + 256 * 1024) << "round " << round;
#endif
  }
}

}  // namespace
}  // namespace belay::runtime
