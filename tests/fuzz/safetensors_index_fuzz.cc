// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the index of a model in several .safetensors files.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "belay/error.h"
#include "plugins/savers/safetensors/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& [tensor, file] : belay_safetensors::parse_shard_index({reinterpret_cast<const char*>(data), size}))
      if (file.empty() || file == ".." || file.find('/') != file.npos) std::abort();
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
