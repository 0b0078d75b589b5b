// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the index of a TensorFlow checkpoint. By the first byte: the whole file; its records, each with the
// lengths of key and value before it, which no checksum hides; a tensor of strings, after their number.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "belay/error.h"
#include "plugins/savers/tf_bundle/bundle_index.h"
#include "plugins/savers/tf_bundle/slices.h"
#include "plugins/savers/tf_bundle/string_tensor.h"

namespace {

using namespace tf_bundle;

// The parts of a tensor are what reading relies on: no element outside of it.
void check(const Tensor& t) {
  constexpr std::uint64_t kMostElements = 100'000;
  if (t.slices.empty() || t.elements() > kMostElements) return;
  std::uint64_t covered = 0;
  for (const Slice& slice : t.slices)
    for_each_run(slice, t.dims, 1, [&](std::uint64_t at, std::uint64_t n) {
      if (at + n > t.elements()) std::abort();
      covered += n;
    });
  if (covered != t.elements()) std::abort();
}

void read_index(const Records& records) {
  for (const Tensor& t : parse_index(records).tensors) check(t);
}

Records records_of(std::string_view bytes) {
  Records records;
  while (bytes.size() > 2) {
    const std::size_t key = static_cast<unsigned char>(bytes[0]), value = static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    records.emplace_back(bytes.substr(0, key), bytes.substr(std::min(key, bytes.size()), value));
    bytes.remove_prefix(std::min(key + value, bytes.size()));
  }
  return records;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 3 == 0) {
      read_index(read_table(bytes));
    } else if (data[0] % 3 == 1) {
      read_index(records_of(bytes));
    } else if (decode_strings(bytes.substr(1), data[1], 0, (data[0] & 4) != 0).size() != data[1]) {
      std::abort();
    }
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
