// SPDX-License-Identifier: Apache-2.0
// The data of one run of a plan: values, programs by stage, arenas, fetch buffers. A run leases it, and later runs use
// it again.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/host_kernel.h"
#include "runtime/platform/memory/memory.h"
#include "runtime/platform/process/resources.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

// 64-byte aligned memory; it only grows.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  ~Arena() { std::free(data_); }
  std::byte* at_least(std::size_t bytes) {
    if (bytes > size_ || data_ == nullptr) {
      const std::size_t size = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
      void* data = allocate_aligned(size);
      if (data == nullptr) fail_no_memory("the values of a step, " + std::to_string(size) + " bytes");
      std::free(data_);
      data_ = data;
      size_ = size;
    }
    return static_cast<std::byte*>(data_);
  }
  std::size_t size() const noexcept { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

struct CachedPlan;  // plan_cache.h

struct StageState {
  std::vector<std::unique_ptr<Program>> programs;  // a few, the last used one first
  Program* published = nullptr;
  Arena arena;
  std::vector<std::unique_ptr<HostKernel>> host_kernels;
};

struct TakenPosition {
  const std::string* input = nullptr;
  std::optional<Position>* slot = nullptr;
  Position position;
  bool fresh = false;  // of the current run
};

struct PlanState {
  CachedPlan* plan = nullptr;
  RunValuesTable values;
  std::vector<Dims> feed_dims;
  std::vector<DenseTensor> host_values;  // by ValueId
  std::vector<FetchBuffer> slots;
  std::vector<StageState> stages;
  std::vector<std::int64_t> key;  // dims of the outside values so far
  std::size_t feed_key = 0;       // length of the feeds' part
  std::int64_t pass = 0;          // index in Plan::passes
  SlotMask mask;
  std::vector<TakenPosition> taken;
  KernelContext context;
  bool context_known = false;
  bool committed = false;
  bool finite = true;  // as far as the commit has looked
};

}  // namespace belay::runtime
