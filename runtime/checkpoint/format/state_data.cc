// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/state_data.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "runtime/platform/process/resources.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

bool StateTensor::operator==(const StateTensor& other) const {
  return dtype == other.dtype && dims == other.dims && crc_of(*this) == crc_of(other);
}

std::uint64_t byte_size(const StateTensor& tensor) noexcept { return byte_size(tensor.dtype, tensor.dims).value_or(0); }

std::uint32_t crc_of(const StateTensor& tensor) noexcept {
  return tensor.memory == nullptr ? tensor.crc32c
                                  : crc32c(tensor.memory.get(), static_cast<std::size_t>(byte_size(tensor)));
}

StateTensor allocated(DType dtype, Dims dims) {
  StateTensor tensor{dtype, std::move(dims)};
  const std::uint64_t bytes = byte_size(tensor);
  if (bytes == 0) return tensor;
  void* memory = allocate_guarded(static_cast<std::size_t>(bytes));
  if (memory == nullptr) fail_no_memory(fmt::format("a tensor of {} bytes", bytes));
  tensor.memory = {memory, &free_guarded};
  return tensor;
}

bool has_tensors(const RunState& state) {
  bool found = false;
  for_each_tensor(state, [&](const auto&...) { found = true; });
  return found;
}

std::uint64_t tensor_bytes(const RunState& state) {
  std::uint64_t bytes = 0;
  for_each_tensor(state, [&](const std::string&, const std::string&, const StateTensor& t) { bytes += byte_size(t); });
  return bytes;
}

FileEntry write_state_data(OpenDirectory& directory, const RunState& state) {
  // It writes in pieces, so that each is still in the cache after its checksum when the kernel copies it.
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;
  FileEntry entry{std::string(kStateDataName)};
  const std::unique_ptr<OpenFile> file = directory.create(kStateDataName);
  for_each_tensor(state, [&](const std::string&, const std::string&, const StateTensor& t) {
    const auto* from = static_cast<const char*>(t.memory.get());
    for (std::uint64_t done = 0, bytes = byte_size(t); done < bytes; done += kPiece) {
      const auto n = static_cast<std::size_t>(std::min(kPiece, bytes - done));
      entry.crc32c = crc32c(from + done, n, entry.crc32c);
      file->write(from + done, n);
    }
    entry.length += byte_size(t);
  });
  file->sync();
  file->close();
  return entry;
}

void open_state_data(RunState& state, const OpenDirectory& directory, const CheckpointIndex& index) {
  const auto entry =
      std::find_if(index.files.begin(), index.files.end(), [](const FileEntry& f) { return f.name == kStateDataName; });
  const bool there = entry != index.files.end();
  const std::uint64_t length = there ? entry->length : 0, described = tensor_bytes(state);
  if (there != has_tensors(state) || length != described)
    fail(Code::kDataLoss, fmt::format("[B4009] the hooks' tensors have {} bytes, {}", described,
                                      there ? "state.data has " + std::to_string(length) : "there is no state.data"));
  if (!there) return;
  const std::shared_ptr<const OpenFile> file = directory.open(kStateDataName);
  for_each_tensor(state, [&](const std::string&, const std::string&, StateTensor& t) { t.file = file; });
}

std::shared_ptr<const void> elements_of(const StateTensor& tensor) {
  if (tensor.memory != nullptr || byte_size(tensor) == 0) return tensor.memory;
  const StateTensor read = allocated(tensor.dtype, tensor.dims);
  const auto bytes = static_cast<std::size_t>(byte_size(tensor));
  tensor.file->read_at(tensor.offset, read.memory.get(), bytes);
  if (const std::uint32_t crc = crc_of(read); crc != tensor.crc32c)
    fail(Code::kDataLoss, fmt::format("[B4010] {} has the CRC32C {} (bytes {} to {}), but `state` records {}",
                                      single_quoted(tensor.file->path()), crc_text(crc), tensor.offset,
                                      tensor.offset + bytes, crc_text(tensor.crc32c)));
  return read.memory;
}

}  // namespace belay::runtime
