// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/build_id.h"

#include <elf.h>
#include <features.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

namespace belay::runtime {
namespace {

std::string hex_text(const unsigned char* bytes, std::size_t n) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    text += kHex[bytes[i] >> 4];
    text += kHex[bytes[i] & 15];
  }
  return text;
}

const char* start_of(const dl_phdr_info& object, const ElfW(Phdr) & segment) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the linker reports addresses as numbers
  return reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
}

std::string build_id_in(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = start_of(object, segment);
    const char* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* name = at + sizeof(note);
      const char* bytes = name + (std::size_t{note.n_namesz} + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        return hex_text(reinterpret_cast<const unsigned char*>(bytes), note.n_descsz);
      at = bytes + (std::size_t{note.n_descsz} + 3) / 4 * 4;
    }
  }
  return "";
}

// Hashes (FNV-1a) the segments that are only read or run, since no address is put into them.
std::string hash_of(const dl_phdr_info& object) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 || (segment.p_flags & PF_R) == 0) continue;
    const char* bytes = start_of(object, segment);
    for (std::size_t b = 0; b < segment.p_filesz; ++b)
      hash = (hash ^ static_cast<unsigned char>(bytes[b])) * 0x100000001b3;
  }
  return "hash:" + hex_text(reinterpret_cast<const unsigned char*>(&hash), sizeof(hash));
}

bool holds(const dl_phdr_info& object, const char* address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    const char* start = start_of(object, segment);
    if (segment.p_type == PT_LOAD && address >= start && address < start + segment.p_memsz) return true;
  }
  return false;
}

struct Search {
  const char* address;
  std::string found;
};

}  // namespace

std::string build_id() {
  std::string id;
  // The program itself comes first.
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* text) {
        *static_cast<std::string*>(text) = build_id_in(*object);
        return 1;
      },
      &id);
  return id.empty() ? "unknown" : id;
}

std::string build_id_of(const void* address) {
  Search search{static_cast<const char*>(address), ""};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        Search& s = *static_cast<Search*>(data);
        if (!holds(*object, s.address)) return 0;
        s.found = build_id_in(*object);
        if (s.found.empty()) s.found = hash_of(*object);
        return 1;
      },
      &search);
  return search.found;
}

std::string isa_text() {
#if defined(BELAY_OLD_PROCESSOR)
  return "x86-64-v2";
#elif defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return "x86-64-v3";
  return "x86-64";
#else
  return "generic";
#endif
}

std::string c_library_text() {
#ifdef __GLIBC__
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "";
#endif
}

}  // namespace belay::runtime
