// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: TFRecord files, plain or gzip, and where the first byte is odd, a record itself as a
// tf.train.Example, since a checksum keeps most damage from getting that far.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "belay/error.h"
#include "plugins/inputs/tfrecord/decode_example.h"
#include "plugins/inputs/tfrecord/record_file.h"
#include "tests/fuzz/memory_path.h"

namespace {

using namespace tfrecord_input;

// Features "a" to "d", one of each dtype, each of two elements; by itself, since the first that does not fit ends it.
std::vector<std::vector<FeatureSpec>> features() {
  std::vector<std::vector<FeatureSpec>> all;
  for (const belay::DType dtype :
       {belay::DType::kFloat32, belay::DType::kInt64, belay::DType::kString, belay::DType::kUInt8}) {
    FeatureSpec spec;
    spec.name = std::string(1, static_cast<char>('a' + all.size()));
    spec.dtype = dtype;
    spec.dims = {2};
    spec.elements = 2;
    all.push_back({spec});
  }
  return all;
}

void decode(std::string_view record) {
  static const std::vector<std::vector<FeatureSpec>> kFeatures = features();
  for (const std::vector<FeatureSpec>& feature : kFeatures) {
    std::int64_t numbers[2] = {};
    std::string texts[2];
    try {
      decode_example(record, feature, {{numbers, texts}});
    } catch (const belay::Error& e) {
      if (e.code() == belay::Code::kDataLoss) return;  // no Example at all, whatever is looked for in it
    }
  }
}

void read_file(std::string_view bytes) {
  const belay_fuzz::MemoryPath path(bytes);
  const RecordFile file("files", path.path());
  for (std::int64_t i = 0; i < file.records(); ++i) decode(file.record(i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0)
      read_file(bytes);
    else
      decode(bytes);
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
