// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/memory/guarded_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "runtime/platform/memory/memory.h"

namespace belay::runtime {

namespace {

void set_zones(void* data, std::size_t bytes) noexcept {
  std::memcpy(static_cast<char*>(data) - kGuardBytes, detail_of_guards::kZone.bytes, kGuardBytes);
  guard_end(data, bytes);
}

}  // namespace

void* allocate_guarded(std::size_t bytes) noexcept {
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) / 2) return nullptr;
  auto* block = static_cast<char*>(allocate_aligned(bytes + 2 * kGuardBytes));
  if (block == nullptr) return nullptr;
  void* data = block + kGuardBytes;
  set_zones(data, bytes);
  return data;
}

void free_guarded(void* data) noexcept {
  if (data != nullptr) std::free(static_cast<char*>(data) - kGuardBytes);
}

void fail_outside(const std::string& what, void* data, std::size_t bytes) {
  const unsigned char* zone = detail_of_guards::kZone.bytes;
  const auto* begin = static_cast<const unsigned char*>(data);
  std::size_t before = 0, behind = 0;
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    if (begin[bytes + i] != zone[i]) behind = i + 1;
    if (begin[-1 - static_cast<std::ptrdiff_t>(i)] != zone[kGuardBytes - 1 - i]) before = i + 1;
  }
  set_zones(data, bytes);
  const auto count = [](std::size_t n, const char* where) {
    return std::to_string(n) + (n == 1 ? " byte" : " bytes") + (n == kGuardBytes ? " or more" : "") + where;
  };
  std::string text = "it wrote " + (before == 0 ? "" : count(before, " before the start "));
  if (behind != 0) text += (before == 0 ? "" : "and ") + count(behind, " past the end ");
  text += fmt::format("of {}, which has {} bytes", what, bytes);
  if (std::max(before, behind) == kGuardBytes) throw DamagedMemory(Code::kInternal, text);
  fail(Code::kInternal, text);
}

}  // namespace belay::runtime
