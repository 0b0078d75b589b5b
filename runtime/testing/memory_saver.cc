// SPDX-License-Identifier: Apache-2.0
#include "runtime/testing/memory_saver.h"

#include <cstring>

#include "belay/saver.h"
#include "runtime/checkpoint/read/saver_directory.h"

namespace belay::runtime {
namespace {

constexpr const char* kFile = "in_memory";

}  // namespace

SaverUse MemorySaver::use() {
  SaverUse use;
  use.name = "in_memory";
  use.version = "1";
  use.write = [this](belay_dir* directory, belay_tensors* tensors) { write(directory, tensors); };
  use.read = [this](belay_dir* directory, belay_tensors* tensors) { read(directory, tensors); };
  return use;
}

void MemorySaver::write(belay_dir* directory, belay_tensors* tensors) {
  const TensorSource source(saver_service(), tensors);
  auto& kept = written_.emplace_back();
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    const auto [name, view] = source.get(i);
    kept.emplace(std::string(name), Tensor(view));
  }
  const std::uint64_t place = written_.size() - 1;
  File file = Directory(files_service(), directory).create(kFile);
  file.write(&place, sizeof(place));
  file.close();
}

void MemorySaver::read(belay_dir* directory, belay_tensors* tensors) const {
  std::uint64_t place = 0;
  Directory(files_service(), directory).open(kFile).read_at(0, &place, sizeof(place));
  TensorSink sink(saver_service(), tensors);
  for (const auto& [name, tensor] : written_.at(place)) {
    const TensorView view(tensor.view());
    if (void* data = sink.found(name, view.dtype(), view.dims()); data != nullptr && view.bytes() != 0)
      std::memcpy(data, view.data(), view.bytes());
  }
}

}  // namespace belay::runtime
