// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/read_tensors.h"

#include <algorithm>

#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/format/tensor_bytes.h"

namespace belay::runtime {

bool is_readable(const TensorInfo& tensor) { return byte_size(tensor.dtype, tensor.dims).has_value(); }

TensorMemory::TensorMemory(const std::vector<TensorInfo>& tensors) : infos_(tensors) {
  for (const TensorInfo& t : infos_) {
    memory_.push_back(allocated(t.dtype, t.dims).memory);
    tensors_.push_back({t.name,
                        detail::raw_tensor(t.dtype, static_cast<std::int32_t>(t.dims.size()), t.dims.data(),
                                           memory_.back().get(), *byte_size(t.dtype, t.dims)),
                        true});
  }
}

namespace {

// Calls f with a few tensors at a time, since a saver reads its header or index again at each call.
template <class F>
void in_groups(const std::vector<TensorInfo>& tensors, std::uint64_t most_bytes, F&& f) {
  std::vector<TensorInfo> group;
  std::uint64_t bytes = 0;
  for (const TensorInfo& t : tensors) {
    const std::uint64_t size = *byte_size(t.dtype, t.dims);
    if (!group.empty() && size > most_bytes - std::min(bytes, most_bytes)) {
      f(group);
      group.clear();
      bytes = 0;
    }
    group.push_back(t);
    bytes += size;
  }
  if (!group.empty()) f(group);
}

}  // namespace

void read_tensors(const StoredTensors& stored, const SaverUse& saver, const std::vector<TensorInfo>& tensors,
                  const std::function<void(const NamedTensor&)>& use, std::uint64_t most_bytes) {
  in_groups(tensors, most_bytes, [&](const std::vector<TensorInfo>& group) {
    const TensorMemory memory(group);
    stored.read(saver, memory.tensors());
    for (const NamedTensor& t : memory.tensors()) use(t);
  });
}

void read_two(const StoredBySaver& a, const StoredBySaver& b, const std::vector<TensorInfo>& tensors,
              const UseOfTwo& use, std::uint64_t most_bytes) {
  in_groups(tensors, most_bytes / 2, [&](const std::vector<TensorInfo>& group) {
    const TensorMemory of_a(group), of_b(group);
    a.stored.read(a.saver, of_a.tensors());
    b.stored.read(b.saver, of_b.tensors());
    for (std::size_t i = 0; i < group.size(); ++i) use(of_a.tensors()[i], of_b.tensors()[i]);
  });
}

}  // namespace belay::runtime
