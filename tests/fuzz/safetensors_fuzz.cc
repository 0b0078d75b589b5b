// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the header of a .safetensors file; the first byte is the size of the data after it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/savers/safetensors/header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    const auto entries = belay_safetensors::parse_header({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0]);
    std::uint64_t covered = 0;
    for (const auto& e : entries) {
      if (e.begin != covered || e.end < e.begin) std::abort();
      covered = e.end;
    }
    if (covered != data[0]) std::abort();
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
