// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/elf_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace belay::runtime {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::uint64_t kMaxString = 1 << 16;
constexpr std::uint64_t kMaxNote = 1 << 20;
constexpr unsigned kMaxSegments = 256;          // a library has about ten
constexpr std::uint64_t kMaxVersions = 0x8000;  // a symbol's version has 15 bits

bool adds_up(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

const char* const kUseAddPlugin = "build a shared library with belay_add_plugin, or with -shared -fPIC";

ElfSymbol exported_symbol(const Elf64_Sym& s, std::string name) {
  return {std::move(name), ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE,
          static_cast<unsigned char>(ELF64_ST_TYPE(s.st_info))};
}

// True for a page that a server sends instead of a file. `head` is the first bytes, with or without a byte order mark
// and white space.
bool is_html(std::string_view head) {
  if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  std::string lower(head);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower.rfind("<!doctype html", 0) == 0 || lower.rfind("<html", 0) == 0;
}

}  // namespace

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    default: return fmt::format("machine {}", machine);
  }
}

std::uint16_t host_machine() noexcept {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
#error "the loader knows x86-64 and aarch64"
#endif
}

// Limits the bytes that one call may still read and keep to the size of the file. This bounds memory and time for
// tables that overlap or point at each other.
class ElfFile::Budget {
 public:
  Budget(const ElfFile& file, const char* what) : file_(file), left_(file.bytes_.size()), what_(what) {}
  void spend(std::uint64_t n) {
    if (n > left_) file_.corrupt(std::string("its ") + what_ + " are larger than the file");
    left_ -= n;
  }

 private:
  const ElfFile& file_;
  std::uint64_t left_;
  const char* what_;
};

class ElfFile::Strings {
 public:
  Strings(const ElfFile& file, const char* what) : file_(file), budget_(file, what) {}

  std::string at(std::uint64_t offset) {
    const Tables& t = file_.tables_;
    std::string text;
    std::array<char, 256> block;
    for (;;) {
      if (offset >= t.strings_size || text.size() > kMaxString) file_.corrupt("a name lies outside its string table");
      const std::size_t n = std::min<std::uint64_t>(block.size(), t.strings_size - offset);
      file_.read_bytes(file_.offset_of(t.strings + offset, n, "string table"), block.data(), n, "string table");
      const std::size_t length =
          static_cast<std::size_t>(std::find(block.begin(), block.begin() + n, '\0') - block.begin());
      budget_.spend(length + (text.empty() ? 3 * sizeof(std::string) : 0));
      text.append(block.data(), length);
      if (length < n) return text;
      offset += n;
    }
  }

  bool equals(std::uint64_t offset, std::string_view expected) const {
    const Tables& t = file_.tables_;
    const std::size_t n = expected.size() + 1;
    std::array<char, 256> block;
    if (n > block.size() || !adds_up(offset, n, t.strings_size)) return false;
    file_.read_bytes(file_.offset_of(t.strings + offset, n, "string table"), block.data(), n, "string table");
    return std::memcmp(block.data(), expected.data(), expected.size()) == 0 && block[expected.size()] == '\0';
  }

 private:
  const ElfFile& file_;
  Budget budget_;
};

ElfFile::ElfFile(const ByteSource& bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {
  read_identity();
  const auto header = read_at<Elf64_Ehdr>(0, "ELF header");
  if (header.e_machine != host_machine())
    throw LoadError(
        LoadErrorKind::kWrongMachine, path_,
        fmt::format("is built for {}, this host is {}", machine_name(header.e_machine), machine_name(host_machine())),
        "rebuild it for " + machine_name(host_machine()));
  if (header.e_type == ET_REL)
    throw LoadError(LoadErrorKind::kObject, path_, "is an object file (.o), not a shared library", kUseAddPlugin);
  if (header.e_type == ET_EXEC)
    throw LoadError(LoadErrorKind::kExecutable, path_, "is a program, not a shared library", kUseAddPlugin);
  if (header.e_type != ET_DYN) corrupt(fmt::format("it has the unknown ELF type {}", header.e_type));
  read_segments(header);
  read_tables();
  // A shared library that can also be started has an interpreter, but is not marked as a program.
  if ((tables_.flags_1 & DF_1_PIE) != 0)
    throw LoadError(LoadErrorKind::kExecutable, path_, "is a program (position-independent), not a shared library",
                    kUseAddPlugin);
}

void ElfFile::read_identity() const {
  unsigned char id[EI_NIDENT] = {};
  const std::uint64_t size = bytes_.size();
  read_bytes(0, id, std::min<std::uint64_t>(size, sizeof(id)), "ELF header");
  const auto begins = [&](std::string_view magic) { return std::memcmp(id, magic.data(), magic.size()) == 0; };
  if (begins("!<arch>\n") || begins("!<thin>\n"))
    throw LoadError(LoadErrorKind::kArchive, path_, "is a static library (.a), not a shared library", kUseAddPlugin);
  if (!begins(std::string_view(ELFMAG, SELFMAG))) refuse_html();
  if (!begins(std::string_view(ELFMAG, SELFMAG)))
    throw LoadError(LoadErrorKind::kNotElf, path_,
                    size < sizeof(Elf64_Ehdr) ? fmt::format("is too short for a shared library: {} bytes", size)
                                              : std::string("is no ELF file"),
                    "give the .so file of a plugin");
  if (size < sizeof(Elf64_Ehdr))
    throw LoadError(LoadErrorKind::kNotElf, path_, fmt::format("is too short for a shared library: {} bytes", size),
                    "copy it or build it again; is the disk full?");
  const auto wrong = [&](const std::string& reason) {
    throw LoadError(LoadErrorKind::kWrongMachine, path_, reason, "rebuild it for " + machine_name(host_machine()));
  };
  if (id[EI_CLASS] == ELFCLASS32) wrong("is a 32-bit file, this host is 64-bit " + machine_name(host_machine()));
  if (id[EI_DATA] == ELFDATA2MSB) wrong("is built for a big-endian machine, this host is little-endian");
  if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB || id[EI_VERSION] != EV_CURRENT)
    corrupt("its ELF identification is unknown");
  if (id[EI_OSABI] != ELFOSABI_NONE && id[EI_OSABI] != ELFOSABI_GNU)
    wrong(fmt::format("is built for another operating system (OS ABI {})", id[EI_OSABI]));
}

void ElfFile::refuse_html() const {
  std::array<char, 64> head{};
  const std::size_t n = std::min<std::uint64_t>(bytes_.size(), head.size());
  read_bytes(0, head.data(), n, "ELF header");
  if (is_html({head.data(), n}))
    throw LoadError(LoadErrorKind::kNotElf, path_, "is an HTML page, not a shared library",
                    "it was probably downloaded from an address that answered with an error page; download it again");
}

void ElfFile::read_segments(const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kMaxSegments)
    corrupt("it has no readable program headers");
  const std::uint64_t table_size = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  std::vector<Elf64_Phdr> all;
  if (adds_up(header.e_phoff, table_size, bytes_.size())) all.resize(header.e_phnum);
  read_bytes(header.e_phoff, all.data(), table_size, "program header table");
  bool has_dynamic = false, has_load = false;
  std::size_t kept = 0;
  for (const Elf64_Phdr& p : all) {
    switch (p.p_type) {
      case PT_LOAD:
        check_loaded_segment(p);
        has_load = true;
        all[kept++] = p;
        break;
      case PT_NOTE: all[kept++] = p; break;
      case PT_DYNAMIC:
        dynamic_segment_ = p;
        has_dynamic = true;
        break;
      case PT_GNU_STACK: executable_stack_ = (p.p_flags & PF_X) != 0; break;
      default: break;
    }
  }
  all.resize(kept);
  segments_ = std::move(all);
  if (!has_load) corrupt("it has no segment to load");
  if (!has_dynamic) corrupt("it has no dynamic section");
}

void ElfFile::check_loaded_segment(const Elf64_Phdr& p) const {
  if (p.p_offset + p.p_filesz < p.p_offset || p.p_vaddr + p.p_memsz < p.p_vaddr || p.p_filesz > p.p_memsz)
    corrupt("a segment's size makes no sense");
  if (p.p_offset + p.p_filesz > bytes_.size())
    throw LoadError(
        LoadErrorKind::kTruncated, path_,
        fmt::format("is cut off: a segment ends at byte {}, the file has {}", p.p_offset + p.p_filesz, bytes_.size()),
        "copy it or build it again; is the disk full?");
}

void ElfFile::read_tables() {
  each_dynamic_entry([&](const Elf64_Dyn& d) {
    switch (d.d_tag) {
      case DT_STRTAB: tables_.strings = d.d_un.d_ptr; break;
      case DT_STRSZ: tables_.strings_size = d.d_un.d_val; break;
      case DT_SYMTAB: tables_.symbols = d.d_un.d_ptr; break;
      case DT_HASH: tables_.hash = d.d_un.d_ptr; break;
      case DT_GNU_HASH: tables_.gnu_hash = d.d_un.d_ptr; break;
      case DT_VERNEED: tables_.version_needs = d.d_un.d_ptr; break;
      case DT_VERNEEDNUM: tables_.n_version_needs = d.d_un.d_val; break;
      case DT_VERDEF: tables_.version_definitions = d.d_un.d_ptr; break;
      case DT_VERDEFNUM: tables_.n_version_definitions = d.d_un.d_val; break;
      case DT_FLAGS_1: tables_.flags_1 = d.d_un.d_val; break;
      default: break;
    }
  });
}

template <class F>
void ElfFile::each_dynamic_entry(F&& f) const {
  std::array<Elf64_Dyn, kBlock / sizeof(Elf64_Dyn)> block;
  const std::uint64_t begin = offset_of(dynamic_segment_.p_vaddr, dynamic_segment_.p_filesz, "dynamic section");
  const std::uint64_t count = dynamic_segment_.p_filesz / sizeof(Elf64_Dyn);
  for (std::uint64_t i = 0; i < count; i += block.size()) {
    const std::size_t n = std::min<std::uint64_t>(block.size(), count - i);
    read_bytes(begin + i * sizeof(Elf64_Dyn), block.data(), n * sizeof(Elf64_Dyn), "dynamic section");
    for (std::size_t k = 0; k < n; ++k) {
      if (block[k].d_tag == DT_NULL) return;
      f(block[k]);
    }
  }
}

ElfDynamic ElfFile::dynamic() const {
  ElfDynamic result;
  Strings strings(*this, "dynamic entries");
  each_dynamic_entry([&](const Elf64_Dyn& d) {
    switch (d.d_tag) {
      case DT_SONAME: result.soname = strings.at(d.d_un.d_val); break;
      case DT_NEEDED: result.needed.push_back(strings.at(d.d_un.d_val)); break;
      case DT_RPATH: result.rpath = strings.at(d.d_un.d_val); break;
      case DT_RUNPATH: result.runpath = strings.at(d.d_un.d_val); break;
      case DT_TEXTREL: result.text_relocations = true; break;
      case DT_FLAGS:
        result.text_relocations = result.text_relocations || (d.d_un.d_val & DF_TEXTREL) != 0;
        result.static_tls = (d.d_un.d_val & DF_STATIC_TLS) != 0;
        break;
      default: break;
    }
  });
  return result;
}

std::optional<std::string> ElfFile::note(std::string_view owner, std::uint32_t type) const {
  const auto corrupt_note = [&](const std::string& reason) {
    throw LoadError(LoadErrorKind::kNoNote, path_, "has a corrupt note: " + reason, "build it again");
  };
  Budget budget(*this, "notes");
  for (const Elf64_Phdr& p : segments_) {
    if (p.p_type != PT_NOTE || !adds_up(p.p_offset, p.p_filesz, bytes_.size())) continue;
    budget.spend(p.p_filesz);
    const std::uint64_t align = p.p_align == 8 ? 8 : 4;
    const auto padded = [&](std::uint64_t n) { return (n + align - 1) / align * align; };
    for (std::uint64_t at = 0; p.p_filesz - at >= sizeof(Elf64_Nhdr);) {
      const auto header = read_at<Elf64_Nhdr>(p.p_offset + at, "note");
      const std::uint64_t name = at + sizeof(header), text = name + padded(header.n_namesz);
      if (text > p.p_filesz) break;
      std::array<char, 16> found{};
      if (header.n_namesz == owner.size() + 1 && header.n_namesz <= found.size() && header.n_type == type) {
        read_bytes(p.p_offset + name, found.data(), header.n_namesz, "note");
        if (owner == std::string_view(found.data(), owner.size())) {
          if (header.n_descsz > p.p_filesz - text) corrupt_note("by its header it is longer than its segment");
          if (header.n_descsz > kMaxNote)
            corrupt_note(fmt::format("it is {} bytes long, at most 1 MiB is read", header.n_descsz));
          std::string descriptor(header.n_descsz, '\0');
          read_bytes(p.p_offset + text, descriptor.data(), descriptor.size(), "note");
          return descriptor;
        }
      }
      at = text + padded(header.n_descsz);
      if (at > p.p_filesz) break;
    }
  }
  return std::nullopt;
}

std::vector<ElfVersionNeed> ElfFile::version_needs() const {
  std::vector<ElfVersionNeed> result;
  Strings strings(*this, "symbol versions");
  std::uint64_t at = tables_.version_needs;
  for (std::uint64_t i = 0; i < std::min(tables_.n_version_needs, kMaxVersions) && at != 0; ++i) {
    const auto need = read_at<Elf64_Verneed>(offset_of(at, sizeof(Elf64_Verneed), "version table"), "version table");
    const std::string library = strings.at(need.vn_file);
    std::uint64_t aux_at = at + need.vn_aux;
    for (unsigned k = 0; k < need.vn_cnt; ++k) {
      const auto aux =
          read_at<Elf64_Vernaux>(offset_of(aux_at, sizeof(Elf64_Vernaux), "version table"), "version table");
      std::string version = strings.at(aux.vna_name);
      if ((aux.vna_flags & VER_FLG_WEAK) == 0) result.push_back({library, std::move(version)});
      if (aux.vna_next == 0) break;
      aux_at += aux.vna_next;
    }
    if (need.vn_next == 0) break;
    at += need.vn_next;
  }
  return result;
}

std::vector<std::string> ElfFile::version_definitions() const {
  std::vector<std::string> result;
  Strings strings(*this, "symbol versions");
  std::uint64_t at = tables_.version_definitions;
  for (std::uint64_t i = 0; i < std::min(tables_.n_version_definitions, kMaxVersions) && at != 0; ++i) {
    const auto def = read_at<Elf64_Verdef>(offset_of(at, sizeof(Elf64_Verdef), "version table"), "version table");
    if (def.vd_cnt != 0 && (def.vd_flags & VER_FLG_BASE) == 0) {
      const auto aux =
          read_at<Elf64_Verdaux>(offset_of(at + def.vd_aux, sizeof(Elf64_Verdaux), "version table"), "version table");
      result.push_back(strings.at(aux.vda_name));
    }
    if (def.vd_next == 0) break;
    at += def.vd_next;
  }
  return result;
}

std::vector<ElfSymbol> ElfFile::exports() const {
  std::vector<ElfSymbol> result;
  Strings strings(*this, "symbols");
  each_export([&](const Elf64_Sym& s) {
    result.push_back(exported_symbol(s, strings.at(s.st_name)));
    return false;
  });
  return result;
}

std::optional<ElfSymbol> ElfFile::find_export(std::string_view name) const {
  std::optional<ElfSymbol> found;
  const Strings strings(*this, "symbols");
  each_export([&](const Elf64_Sym& s) {
    if (strings.equals(s.st_name, name)) found = exported_symbol(s, std::string(name));
    return found.has_value();
  });
  return found;
}

// f returns true to stop.
template <class F>
void ElfFile::each_export(F&& f) const {
  if (tables_.symbols == 0) return;
  const std::uint64_t count = symbol_count();
  if (count > bytes_.size() / sizeof(Elf64_Sym)) corrupt("its symbol table is larger than the file");
  if (count == 0) return;
  const std::uint64_t begin = offset_of(tables_.symbols, count * sizeof(Elf64_Sym), "symbol table");
  std::array<Elf64_Sym, kBlock / sizeof(Elf64_Sym)> block;
  for (std::uint64_t i = 0; i < count; i += block.size()) {
    const std::size_t n = std::min<std::uint64_t>(block.size(), count - i);
    read_bytes(begin + i * sizeof(Elf64_Sym), block.data(), n * sizeof(Elf64_Sym), "symbol table");
    for (std::size_t k = 0; k < n; ++k) {
      const unsigned bind = ELF64_ST_BIND(block[k].st_info), visibility = ELF64_ST_VISIBILITY(block[k].st_other);
      const bool global = bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE;
      const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
      if (global && visible && block[k].st_shndx != SHN_UNDEF && f(block[k])) return;
    }
  }
}

std::uint64_t ElfFile::symbol_count() const {
  if (tables_.hash != 0) return read_at<std::uint32_t>(offset_of(tables_.hash + 4, 4, "hash table"), "hash table");
  return tables_.gnu_hash == 0 ? 0 : gnu_symbol_count();
}

// A GNU hash table does not have the number of symbols: it is at the end of the last chain.
std::uint64_t ElfFile::gnu_symbol_count() const {
  struct Header {
    std::uint32_t n_buckets, first_symbol, n_bloom, bloom_shift;
  };
  const auto header = read_at<Header>(offset_of(tables_.gnu_hash, sizeof(Header), "hash table"), "hash table");
  const std::uint64_t buckets = tables_.gnu_hash + sizeof(Header) + std::uint64_t{header.n_bloom} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{header.n_buckets} * 4;
  if (header.n_buckets > bytes_.size() / 4) corrupt("its hash table is larger than the file");
  std::array<std::uint32_t, kBlock / 4> block;
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < header.n_buckets; i += block.size()) {
    const std::size_t n = std::min<std::uint64_t>(block.size(), header.n_buckets - i);
    read_bytes(offset_of(buckets + i * 4, n * 4, "hash table"), block.data(), n * 4, "hash table");
    last = std::max(last, *std::max_element(block.begin(), block.begin() + n));
  }
  if (last < header.first_symbol) return header.first_symbol;
  const std::uint64_t most = bytes_.size() / sizeof(Elf64_Sym);
  for (std::uint64_t symbol = last; symbol < most; ++symbol) {
    const std::uint64_t chain = chains + (symbol - header.first_symbol) * 4;
    if ((read_at<std::uint32_t>(offset_of(chain, 4, "hash table"), "hash table") & 1) != 0) return symbol + 1;
  }
  corrupt("its symbol table is larger than the file");
}

template <class T>
T ElfFile::read_at(std::uint64_t offset, const char* what) const {
  T value{};
  read_bytes(offset, &value, sizeof(T), what);
  return value;
}

void ElfFile::read_bytes(std::uint64_t offset, void* to, std::uint64_t size, const char* what) const {
  if (!adds_up(offset, size, bytes_.size()))
    throw LoadError(LoadErrorKind::kTruncated, path_,
                    fmt::format("is cut off: its {} lies outside the file of {} bytes", what, bytes_.size()),
                    "copy it or build it again; is the disk full?");
  if (size != 0 && !bytes_.read(offset, to, static_cast<std::size_t>(size)))
    throw LoadError(LoadErrorKind::kUnreadable, path_, fmt::format("cannot be read at byte {}", offset),
                    "is it being written, or is the disk failing?");
}

std::uint64_t ElfFile::offset_of(std::uint64_t address, std::uint64_t size, const char* what) const {
  for (const Elf64_Phdr& p : segments_)
    if (p.p_type == PT_LOAD && address >= p.p_vaddr && adds_up(address - p.p_vaddr, size, p.p_filesz))
      return p.p_offset + (address - p.p_vaddr);
  corrupt("its " + std::string(what) + " lies outside its segments");
}

void ElfFile::corrupt(const std::string& reason) const {
  throw LoadError(LoadErrorKind::kCorrupt, path_, "is a corrupt ELF file: " + reason, "copy it or build it again");
}

}  // namespace belay::runtime
