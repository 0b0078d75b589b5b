// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/library_mapping.h"

#include <dlfcn.h>
#include <link.h>

#include "runtime/platform/text/text.h"

namespace belay::runtime {

LibraryMapping::LibraryMapping(void* handle) {
  struct Search {
    const link_map* map;
    std::vector<Segment>* segments;
  } search{nullptr, &segments_};
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &search.map) != 0) return;
  const auto collect = [](dl_phdr_info* info, std::size_t, void* data) {
    const auto& wanted = *static_cast<const Search*>(data);
    if (info->dlpi_addr != wanted.map->l_addr || std::string_view(info->dlpi_name) != wanted.map->l_name) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& p = info->dlpi_phdr[i];
      if (p.p_type != PT_LOAD || (p.p_flags & PF_R) == 0) continue;
      const std::uintptr_t begin = info->dlpi_addr + p.p_vaddr;
      wanted.segments->push_back({begin, begin + p.p_memsz});
    }
    return 1;
  };
  ::dl_iterate_phdr(collect, &search);
}

std::uint64_t LibraryMapping::bytes_from(const void* data) const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  for (const Segment& s : segments_)
    if (at >= s.begin && at < s.end) return s.end - at;
  return 0;
}

std::string owner_of(const void* data) {
  Dl_info info{};
  if (::dladdr(data, &info) == 0 || info.dli_fname == nullptr) return "memory of no library";
  return single_quoted(info.dli_fname);
}

}  // namespace belay::runtime
