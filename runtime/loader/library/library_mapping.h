// SPDX-License-Identifier: Apache-2.0
// Knows the memory of each loaded library in this process, and the library of an address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::runtime {

class LibraryMapping {
 public:
  // `handle` is dlopen's result.
  explicit LibraryMapping(void* handle);

  bool holds(const void* data, std::uint64_t size) const noexcept { return size <= bytes_from(data); }
  // Returns how many bytes of the library begin there; 0: the address is outside.
  std::uint64_t bytes_from(const void* data) const noexcept;

 private:
  struct Segment {
    std::uintptr_t begin = 0, end = 0;
  };
  std::vector<Segment> segments_;
};

// Returns "'/p/a.so'" for the library with this address, else "memory of no library".
std::string owner_of(const void* data);

}  // namespace belay::runtime
