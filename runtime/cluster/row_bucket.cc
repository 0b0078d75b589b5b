// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/row_bucket.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace belay::runtime {
namespace {

constexpr std::int64_t kNoRow = -1;

// A tensor over n elements of this object's memory, for one call.
class MemoryTensor {
 public:
  MemoryTensor(DType dtype, void* data, std::int64_t n)
      : dim_(n), raw_(detail::raw_tensor(dtype, 1, &dim_, data, static_cast<std::size_t>(n) * dtype_size(dtype))) {}
  MemoryTensor(const MemoryTensor&) = delete;
  MemoryTensor& operator=(const MemoryTensor&) = delete;
  TensorView view() const noexcept { return TensorView(raw_); }

 private:
  std::int64_t dim_;
  belay_tensor raw_;
};

}  // namespace

float* RowBucket::records(std::int64_t count, std::int64_t room) {
  mine_of_step_ = {count, room};
  mine_.reserve(static_cast<std::size_t>(room * record_));
  mine_.resize(static_cast<std::size_t>(count * record_));
  return mine_.data();
}

void RowBucket::gather_headers(const Gather& call) {
  headers_.resize(static_cast<std::size_t>(ranks_));
  const MemoryTensor mine(DType::kInt64, &mine_of_step_, 2), all(DType::kInt64, headers_.data(), 2 * ranks_);
  call(mine.view(), all.view());
  most_ = room_ = 0;
  for (std::size_t r = 0; r < headers_.size(); ++r) {
    const Header& h = headers_[r];
    if (h.count < 0 || h.count > h.room)
      fail(Code::kDataLoss,
           fmt::format("[B5105] rank {} has {} rows in room for {}, which cannot be", r, h.count, h.room));
    most_ = std::max(most_, h.count);
    room_ = std::max(room_, h.room);
  }
}

void RowBucket::gather(const Gather& call) {
  gather_headers(call);
  if (most_ == 0) return;
  const std::int64_t own = mine_of_step_.count, floats = most_ * record_;
  mine_.reserve(static_cast<std::size_t>(room_ * record_));
  all_.reserve(static_cast<std::size_t>(room_ * record_ * ranks_));
  mine_.resize(static_cast<std::size_t>(floats));
  for (std::int64_t i = own; i < most_; ++i) {
    float* const record = mine_.data() + i * record_;
    std::memcpy(record, &kNoRow, sizeof(kNoRow));
    std::fill(record + kFloatsOfId, record + record_, 0.0F);
  }
  all_.resize(static_cast<std::size_t>(floats * ranks_));
  // The elements are int32, because ids are no floats.
  const MemoryTensor mine(DType::kInt32, mine_.data(), floats), all(DType::kInt32, all_.data(), floats * ranks_);
  call(mine.view(), all.view());
}

}  // namespace belay::runtime
