// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/dense_tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/platform/process/resources.h"

namespace belay::runtime {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Buffer::Buffer(std::size_t bytes) : capacity_(std::max(rounded_up(bytes), kAlignment)) {
  data_ = allocate_guarded(capacity_);
  if (data_ == nullptr) fail_no_memory(fmt::format("a tensor of {} bytes", bytes));
}

Buffer::~Buffer() { free_guarded(data_); }

void Buffer::release() noexcept {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (pool_ == nullptr) {
    delete this;
    return;
  }
  const std::shared_ptr<BufferPool> pool = std::move(pool_);
  pool->give_back(this);
}

BufferPool::~BufferPool() {
  for (Buffer* b : free_) delete b;
}

Buffer* BufferPool::take(std::size_t bytes) {
  Buffer* found = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = free_.size(); i-- > 0;) {
      if (free_[i]->capacity_ < bytes) continue;
      found = free_[i];
      free_[i] = free_.back();
      free_.pop_back();
      break;
    }
    if (found == nullptr) free_.reserve(++made_);  // so that returning a buffer never allocates
  }
  if (found == nullptr) found = new Buffer(bytes);
  found->owners_.store(1, std::memory_order_relaxed);
  found->pool_ = shared_from_this();
  return found;
}

void BufferPool::give_back(Buffer* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

DenseTensor::DenseTensor(DType dtype, const Dims& dims, BufferPool* pool) {
  const std::size_t size = static_cast<std::size_t>(count_of(dims)) * dtype_size(dtype);
  buffer_ = pool == nullptr ? new Buffer(size) : pool->take(size);
  guard_end(buffer_->data_, size);
  buffer_->dtype_ = dtype;
  buffer_->dims_.assign(dims.begin(), dims.end());
  if (dtype == DType::kString) {
    buffer_->texts_.assign(static_cast<std::size_t>(count_of(dims)), std::string());
    std::memset(buffer_->data_, 0, size);
  }
}

DenseTensor::DenseTensor(const TensorView& view, BufferPool* pool) : DenseTensor(view.dtype(), view.dims(), pool) {
  if (view.dtype() == DType::kString) {
    for (std::size_t i = 0, n = view.size(); i < n; ++i) set_text(i, view.text(i));
  } else if (view.bytes() != 0) {
    std::memcpy(data(), view.data(), view.bytes());
  }
}

void DenseTensor::set_text(std::size_t i, std::string_view text) {
  std::string& own = buffer_->texts_.at(i);
  own.assign(text);
  data<belay_str>()[i] = {own.data(), own.size()};
}

}  // namespace belay::runtime
