// SPDX-License-Identifier: Apache-2.0
// Finds the file that is mapped at an address of this process, by /proc/self/maps. It is for the handler of SIGBUS,
// which a read gets if the file became shorter. It allocates nothing.
#pragma once

#include <cstdint>

namespace belay::runtime {

struct MappedPlace {
  char path[4096] = {};      // from the kernel, cut if it is longer
  std::uint64_t offset = 0;  // of the address in the file
};

// False: no file is mapped there. Call it from any thread, and from handlers.
bool find_mapped_place(const void* address, MappedPlace& place) noexcept;

}  // namespace belay::runtime
