// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: IDX files, plain or compressed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "belay/error.h"
#include "plugins/inputs/idx/idx_file.h"
#include "tests/fuzz/memory_path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace idx_input;
  const belay_fuzz::MemoryPath file({reinterpret_cast<const char*>(data), size});
  try {
    const IdxHeader header = read_idx_header("images", file.path());
    const auto elements = read_idx_elements("images", file.path(), header);
    if (elements.size() != header.bytes_per_record() * static_cast<std::size_t>(header.records())) std::abort();
    for (std::size_t at = 0; at < elements.size(); at += element_size(header.type))
      (void)element_value(header.type, &elements[at]);
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
