// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: plugin files. elf_seed.so, which is built beside it, is the seed.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/read_plugin_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  belay::runtime::read_plugin_file({reinterpret_cast<const char*>(data), size});
  return 0;
}
