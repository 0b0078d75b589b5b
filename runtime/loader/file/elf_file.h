// SPDX-License-Identifier: Apache-2.0
// An untrusted ELF file. It is read only by its program headers, since section headers may be stripped and are wrong
// more often.
//
// The dynamic linker does not survive bad files. A truncated one ends the process with SIGBUS, and one for another
// machine is reported as missing. So all that the loader can know before is read here, with checked bounds. Whatever
// the bytes are, reading ends. No call keeps more memory than the file is long.
//
// Errors are LoadErrors: not_elf, archive, object, executable, wrong_machine, truncated, corrupt, unreadable.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loader/file/byte_source.h"
#include "runtime/loader/file/load_error.h"

namespace belay::runtime {

// "GLIBC_2.34 of libc.so.6".
struct ElfVersionNeed {
  std::string library;
  std::string version;
};

struct ElfSymbol {
  std::string name;
  bool unique = false;              // STB_GNU_UNIQUE: merged with other libraries' symbols of this name
  unsigned char type = STT_NOTYPE;  // STT_OBJECT, STT_FUNC ...
};

// The content of the dynamic section.
struct ElfDynamic {
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath;    // searched before LD_LIBRARY_PATH, also for the needs of the needed libraries
  std::string runpath;  // searched after it, only for this file's needs
  bool text_relocations = false;
  bool static_tls = false;
};

class ElfFile {
 public:
  // Reads and checks the headers of a shared library for this machine. `path` is for messages. Borrows both.
  ElfFile(const ByteSource& bytes, std::string path);

  bool executable_stack() const noexcept { return executable_stack_; }
  // Returns the descriptor of the first note of this owner and type.
  std::optional<std::string> note(std::string_view owner, std::uint32_t type) const;
  ElfDynamic dynamic() const;
  std::vector<ElfVersionNeed> version_needs() const;
  std::vector<std::string> version_definitions() const;
  // Returns its symbols for others.
  std::vector<ElfSymbol> exports() const;
  // Returns the symbol of this name.
  std::optional<ElfSymbol> find_export(std::string_view name) const;

 private:
  // The tables of the dynamic section: addresses in memory, with known sizes.
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

// Returns the name of a machine, for example "x86-64". A machine without a name here is "machine 243".
std::string machine_name(std::uint16_t machine);
// Returns this process's machine.
std::uint16_t host_machine() noexcept;

}  // namespace belay::runtime
