// SPDX-License-Identifier: Apache-2.0
// Goes over stored tensors with little memory: each of them for itself, or several small ones at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/saver_tensors.h"

namespace belay::runtime {

// Whether belay has memory for it: a number, of a type that it has.
bool is_readable(const TensorInfo& tensor);

// What read_tensors holds at a time, unless one tensor alone is larger.
inline constexpr std::uint64_t kMostBytesAtOnce = std::uint64_t{64} << 20;

// Calls `use` for each of them, in their order; the value is valid for the call. All are readable. Throws what
// StoredTensors::read does; RESOURCE_EXHAUSTED where there is no memory for one of them.
void read_tensors(const StoredTensors& stored, const SaverUse& saver, const std::vector<TensorInfo>& tensors,
                  const std::function<void(const NamedTensor&)>& use, std::uint64_t most_bytes = kMostBytesAtOnce);

// The same of two places that both hold them.
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
