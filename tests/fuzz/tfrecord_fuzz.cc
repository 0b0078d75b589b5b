// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: TFRecord files, plain or gzip, and the record itself as a tf.train.Example, since a checksum keeps
// most damage from getting that far.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "belay/error.h"
#include "plugins/inputs/tfrecord/decode_example.h"
#include "plugins/inputs/tfrecord/record_file.h"
#include "tests/fuzz/memory_path.h"

namespace {

using namespace tfrecord_input;

// Features "a" to "d", one of each dtype, each of two elements.
void decode(std::string_view record) {
  std::vector<FeatureSpec> specs;
  for (const belay::DType dtype :
       {belay::DType::kFloat32, belay::DType::kInt64, belay::DType::kString, belay::DType::kUInt8}) {
    FeatureSpec spec;
    spec.name = std::string(1, static_cast<char>('a' + specs.size()));
    spec.dtype = dtype;
    spec.dims = {2};
    spec.elements = 2;
    specs.push_back(spec);
  }
  for (const FeatureSpec& spec : specs) {
    std::int64_t numbers[2] = {};
    std::string texts[2];
    try {
      decode_example(record, {spec}, {{numbers, texts}});
    } catch (const belay::Error&) {
      // Refused, which is right.
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  decode(bytes);
  try {
    const belay_fuzz::MemoryPath path(bytes);
    const RecordFile file("files", path.path());
    for (std::int64_t i = 0; i < file.records(); ++i) decode(file.record(i));
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
