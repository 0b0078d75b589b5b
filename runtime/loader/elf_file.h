// SPDX-License-Identifier: Apache-2.0
// An untrusted ELF file, read by its program headers alone (section headers may be stripped, and lie more easily).
//
// The dynamic linker does not survive bad files: a truncated one ends the process with SIGBUS, one for another machine
// is reported as missing. So everything that the loader can know beforehand is read here, bounds-checked. Whatever the
// bytes are, reading ends, and no call keeps more memory than the file is long.
//
// Errors are LoadErrors: not_elf, archive, object, executable, wrong_machine, truncated, corrupt, unreadable.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loader/byte_source.h"
#include "runtime/loader/load_error.h"

namespace belay::runtime {

// "GLIBC_2.34 of libc.so.6"
struct ElfVersionNeed {
  std::string library;
  std::string version;
};

struct ElfSymbol {
  std::string name;
  bool unique = false;              // STB_GNU_UNIQUE: merged with other libraries' symbols of that name
  unsigned char type = STT_NOTYPE;  // STT_OBJECT, STT_FUNC ...
};

// What the dynamic section says.
struct ElfDynamic {
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath;    // searched before LD_LIBRARY_PATH, also for what the needed libraries need
  std::string runpath;  // searched after it, for this file's own needs only
  bool text_relocations = false;
  bool static_tls = false;
};

class ElfFile {
 public:
  // Reads and checks the headers of a shared library for this machine. `path` is for messages. Both are borrowed.
  ElfFile(const ByteSource& bytes, std::string path);

  bool executable_stack() const noexcept { return executable_stack_; }
  // The descriptor of the first note of that owner and type.
  std::optional<std::string> note(std::string_view owner, std::uint32_t type) const;
  ElfDynamic dynamic() const;
  std::vector<ElfVersionNeed> version_needs() const;
  std::vector<std::string> version_definitions() const;
  // Symbols that it defines for others.
  std::vector<ElfSymbol> exports() const;
  // The one of that name.
  std::optional<ElfSymbol> find_export(std::string_view name) const;

 private:
  // Table of the dynamic section: address in memory and what else is known of it.
  struct Tables {
    std::uint64_t strings = 0, strings_size = 0;
    std::uint64_t symbols = 0, hash = 0, gnu_hash = 0;
    std::uint64_t version_needs = 0, n_version_needs = 0;
    std::uint64_t version_definitions = 0, n_version_definitions = 0;
    std::uint64_t flags_1 = 0;
  };
  class Budget;
  class Strings;

  void read_identity() const;
  void refuse_html() const;
  void read_segments(const Elf64_Ehdr& header);
  void check_loaded_segment(const Elf64_Phdr& segment) const;
  void read_tables();
  template <class T>
  T read_at(std::uint64_t offset, const char* what) const;
  void read_bytes(std::uint64_t offset, void* to, std::uint64_t size, const char* what) const;
  std::uint64_t offset_of(std::uint64_t address, std::uint64_t size, const char* what) const;
  template <class F>
  void each_dynamic_entry(F&& f) const;
  template <class F>
  void each_export(F&& f) const;
  std::uint64_t symbol_count() const;
  std::uint64_t gnu_symbol_count() const;
  [[noreturn]] void corrupt(const std::string& reason) const;

  const ByteSource& bytes_;
  std::string path_;
  std::vector<Elf64_Phdr> segments_;  // PT_LOAD and PT_NOTE
  Elf64_Phdr dynamic_segment_{};
  bool executable_stack_ = false;
  Tables tables_;
};

// "x86-64", "aarch64", "machine 243"
std::string machine_name(std::uint16_t machine);
// Of this process.
std::uint16_t host_machine() noexcept;

}  // namespace belay::runtime
