// SPDX-License-Identifier: Apache-2.0
// Where a loaded library lies in this process's memory: what belongs to it, and to whom else an address belongs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::runtime {

class LibraryMapping {
 public:
  // `handle`: what dlopen returned.
  explicit LibraryMapping(void* handle);

  bool holds(const void* data, std::uint64_t size) const noexcept { return size <= bytes_from(data); }
  // How many bytes of the library begin there; 0: it is none of its bytes.
  std::uint64_t bytes_from(const void* data) const noexcept;

 private:
  struct Segment {
    std::uintptr_t begin = 0, end = 0;
  };
  std::vector<Segment> segments_;
};

// "'/p/a.so'", of the library that holds the address; else "memory of no library".
std::string owner_of(const void* data);

}  // namespace belay::runtime
