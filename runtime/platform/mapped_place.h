// SPDX-License-Identifier: Apache-2.0
// Which file is mapped at an address of this process, by /proc/self/maps. For the handler of SIGBUS, which a read gets
// where the file has become shorter: it allocates nothing.
#pragma once

#include <cstdint>

namespace belay::runtime {

struct MappedPlace {
  char path[4096] = {};      // as the kernel writes it, cut if it is longer
  std::uint64_t offset = 0;  // of the address in the file
};

// False: no file is mapped there. Any thread, and handlers.
bool find_mapped_place(const void* address, MappedPlace& place) noexcept;

}  // namespace belay::runtime
