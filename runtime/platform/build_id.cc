#include "runtime/platform/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace belay::runtime {
namespace {

int find_build_id(dl_phdr_info* info, std::size_t, void* data) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the linker tells addresses as numbers
    const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* name = at + sizeof(note);
      const char* bytes = name + (std::size_t{note.n_namesz} + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        auto& text = *static_cast<std::string*>(data);
        static constexpr char kHex[] = "0123456789abcdef";
        for (ElfW(Word) b = 0; b < note.n_descsz; ++b) {
          const auto byte = static_cast<unsigned char>(bytes[b]);
          text += kHex[byte >> 4];
          text += kHex[byte & 15];
        }
        return 1;
      }
      at = bytes + (std::size_t{note.n_descsz} + 3) / 4 * 4;
    }
  }
  return 1;  // the program itself comes first; libraries do not matter
}

}  // namespace

std::string build_id() {
  std::string text;
  dl_iterate_phdr(find_build_id, &text);
  return text.empty() ? "unknown" : text;
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

}  // namespace belay::runtime
