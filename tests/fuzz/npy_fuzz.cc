// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: .npy files and, if the first byte is odd, .npz files with an array "x".
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "belay/error.h"
#include "plugins/inputs/npy/npy_array.h"
#include "plugins/inputs/npy/npz_member.h"
#include "tests/fuzz/memory_path.h"

namespace {

using namespace npy_input;

void read_array(std::string_view bytes) {
  const belay_fuzz::MemoryPath path(bytes);
  const NpyArray array("features", path.path());
  if (array.header().elements() * element_size(array.header().type) > bytes.size()) std::abort();
  if (array.header().elements() == 0) return;
  std::vector<double> row(array.row_elements());
  for (std::int64_t i = 0; i < array.rows(); ++i) array.copy_row(i, row.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0) {
      read_array(bytes);
    } else {
      const std::vector<char> member = read_npz_member("features", belay_fuzz::MemoryPath(bytes).path(), "x");
      read_array({member.data(), member.size()});
    }
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
