// SPDX-License-Identifier: Apache-2.0
// A tensor's value in the engine: dense, row-major, 64-byte aligned, shared. Copies share the elements, which do not
// change after the tensor is passed on. [any thread]
//
// A producer of many batches takes buffers from a BufferPool, so that a running pipeline allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "belay/tensor.h"
#include "runtime/graph/shape.h"
#include "runtime/platform/memory/guarded_memory.h"

namespace belay::runtime {

inline constexpr std::size_t kAlignment = 64;

class BufferPool;

// The data that a tensor's owners share: its description and its memory.
class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void retain() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  friend class BufferPool;
  friend class DenseTensor;
  explicit Buffer(std::size_t bytes);
  ~Buffer();

  std::atomic<std::uint32_t> owners_{1};
  DType dtype_ = DType::kInvalid;
  Dims dims_;
  void* data_;
  std::size_t capacity_;
  std::vector<std::string> texts_;    // the content of a string tensor, whose data is belay_str[n] into these
  std::shared_ptr<BufferPool> pool_;  // the pool that it returns to
};

// Keeps released buffers for later tensors of at most their size. Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static std::shared_ptr<BufferPool> make() { return std::shared_ptr<BufferPool>(new BufferPool()); }
  ~BufferPool();

 private:
  friend class Buffer;
  friend class DenseTensor;
  BufferPool() = default;
  Buffer* take(std::size_t bytes);
  void give_back(Buffer* buffer) noexcept;

  std::mutex mutex_;
  std::vector<Buffer*> free_;
  std::size_t made_ = 0;
};

class DenseTensor {
 public:
  DenseTensor() noexcept = default;
  // Elements are not set (strings are empty). With a pool, memory comes from it and returns to it.
  DenseTensor(DType dtype, const Dims& dims, BufferPool* pool = nullptr);
  // Copies the elements.
  explicit DenseTensor(const TensorView& view, BufferPool* pool = nullptr);
  DenseTensor(const DenseTensor& o) noexcept : buffer_(o.buffer_) {
    if (buffer_ != nullptr) buffer_->retain();
  }
  DenseTensor(DenseTensor&& o) noexcept : buffer_(std::exchange(o.buffer_, nullptr)) {}
  DenseTensor& operator=(DenseTensor o) noexcept {
    std::swap(buffer_, o.buffer_);
    return *this;
  }
  ~DenseTensor() {
    if (buffer_ != nullptr) buffer_->release();
  }

  explicit operator bool() const noexcept { return buffer_ != nullptr; }
  // guards_hold is true if a plugin with these elements wrote only inside them. Else fail_outside makes the error
  // (guarded_memory.h).
  bool guards_hold() const noexcept { return runtime::guards_hold(buffer_->data_, bytes()); }
  [[noreturn]] void fail_outside(const std::string& what) const { runtime::fail_outside(what, data(), bytes()); }
  DType dtype() const noexcept { return buffer_ == nullptr ? DType::kInvalid : buffer_->dtype_; }
  const Dims& dims() const noexcept { return buffer_->dims_; }
  std::int64_t elements() const noexcept { return count_of(buffer_->dims_); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * dtype_size(dtype()); }
  // True if another DenseTensor shares the memory.
  bool shared() const noexcept { return buffer_ != nullptr && buffer_->owners_.load(std::memory_order_acquire) > 1; }
  // For strings it is belay_str[elements()].
  void* data() const noexcept { return buffer_ == nullptr ? nullptr : buffer_->data_; }
  template <class T>
  T* data() const noexcept {
    return static_cast<T*>(data());
  }
  void set_text(std::size_t i, std::string_view text);
  // Valid as long as one owner lives.
  belay_tensor view() const noexcept {
    return detail::raw_tensor(buffer_->dtype_, static_cast<std::int32_t>(buffer_->dims_.size()), buffer_->dims_.data(),
                              buffer_->data_, bytes());
  }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace belay::runtime
