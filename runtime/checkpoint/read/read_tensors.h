// SPDX-License-Identifier: Apache-2.0
// Reads stored tensors with little memory: each alone, or several small ones at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"

namespace belay::runtime {

// True if belay can allocate it: a number of a known type.
bool is_readable(const TensorInfo& tensor);

// The limit of read_tensors' memory, unless one tensor is larger.
inline constexpr std::uint64_t kMostBytesAtOnce = std::uint64_t{64} << 20;

// Calls `use` for each of them, in order. The value is valid for the call. All must be readable. Throws the errors of
// StoredTensors::read. RESOURCE_EXHAUSTED: there is no memory for one.
void read_tensors(const StoredTensors& stored, const SaverUse& saver, const std::vector<TensorInfo>& tensors,
                  const std::function<void(const NamedTensor&)>& use, std::uint64_t most_bytes = kMostBytesAtOnce);

// Does the same for two places that both have them.
using UseOfTwo = std::function<void(const NamedTensor& a, const NamedTensor& b)>;
struct StoredBySaver {
  const StoredTensors& stored;
  const SaverUse& saver;
};
void read_two(const StoredBySaver& a, const StoredBySaver& b, const std::vector<TensorInfo>& tensors,
              const UseOfTwo& use, std::uint64_t most_bytes = kMostBytesAtOnce);

// Tensors in memory that is allocated together with them and not set.
class TensorMemory {
 public:
  explicit TensorMemory(const std::vector<TensorInfo>& tensors);
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  const std::vector<NamedTensor>& tensors() const noexcept { return tensors_; }

 private:
  const std::vector<TensorInfo> infos_;  // their dimensions are the tensors'
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace belay::runtime
