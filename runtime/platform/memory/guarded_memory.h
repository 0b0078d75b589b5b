// SPDX-License-Identifier: Apache-2.0
// Memory for plugins, between two zones of known bytes. A write just outside of a tensor damages nothing, and is found.
//
//   void* data = allocate_guarded(bytes);
//   ...                                                       // a plugin's callback gets it
//   if (!guards_hold(data, bytes)) fail_outside("'x'", data, bytes);   // inside of the call, to name the callback
//   free_guarded(data);
//
// guards_hold() compares 256 bytes. near_guards_hold() compares 16 of them, for calls that are many and short. Builds
// with the address sanitizer have no zones, since it finds such writes itself. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "belay/error.h"

namespace belay::runtime {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kGuardBytes = 0;
#else
inline constexpr std::size_t kGuardBytes = 128;  // of each zone
#endif

namespace detail_of_guards {
struct Zone {
  unsigned char bytes[kGuardBytes == 0 ? 1 : kGuardBytes];
};
// Neighbours differ, so a run of one value does not look like the zone.
constexpr Zone make_zone() {
  Zone zone{};
  for (std::size_t i = 0; i < kGuardBytes; ++i) zone.bytes[i] = static_cast<unsigned char>(0xa5 ^ (i * 37));
  return zone;
}
inline constexpr Zone kZone = make_zone();
}  // namespace detail_of_guards

// Works like allocate_aligned, with a zone before the first byte and one after the last. free_guarded() frees it.
void* allocate_guarded(std::size_t bytes) noexcept;
void free_guarded(void* data) noexcept;

// Moves the second zone: the memory has `bytes` bytes from now on, at most as many as were allocated.
inline void guard_end(void* data, std::size_t bytes) noexcept {
  std::memcpy(static_cast<char*>(data) + bytes, detail_of_guards::kZone.bytes, kGuardBytes);
}

// A whole zone was overwritten, so other memory may be damaged, too.
class DamagedMemory : public Error {
 public:
  using Error::Error;
};

// True if both zones are unchanged.
inline bool guards_hold(const void* data, std::size_t bytes) noexcept {
  const auto* begin = static_cast<const char*>(data);
  return std::memcmp(begin - kGuardBytes, detail_of_guards::kZone.bytes, kGuardBytes) == 0 &&
         std::memcmp(begin + bytes, detail_of_guards::kZone.bytes, kGuardBytes) == 0;
}
// True if the words next to the memory are unchanged. Nearly each write past an end begins there.
inline bool near_guards_hold(const void* data, std::size_t bytes) noexcept {
  if constexpr (kGuardBytes == 0) return true;
  const auto* begin = static_cast<const char*>(data);
  const auto word = [](const void* at) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  const unsigned char* zone = detail_of_guards::kZone.bytes;
  return word(begin - sizeof(std::uint64_t)) == word(zone + kGuardBytes - sizeof(std::uint64_t)) &&
         word(begin + bytes) == word(zone);
}
// Restores the zones, and throws INTERNAL or DamagedMemory with the number of bytes. `what`: "'x'".
[[noreturn]] void fail_outside(const std::string& what, void* data, std::size_t bytes);

}  // namespace belay::runtime
