// SPDX-License-Identifier: Apache-2.0
// Kernels that only move elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// Makes a kernel that copies input 0 to output 0 bit by bit. Alias operations run it if an alias is not possible.
std::unique_ptr<Kernel> make_copy(const KernelSpec& spec);

// Copies elements between two tensors of one dtype with the same dimensions. Each has separate strides (in elements).
class StridedCopy {
 public:
  StridedCopy() = default;  // copies nothing
  StridedCopy(std::size_t element_bytes, const Dims& dims, const std::vector<std::int64_t>& from_strides,
              const std::vector<std::int64_t>& to_strides);
  // `from` and `to` are the elements at index 0 of every dimension.
  void run(const void* from, void* to, int threads) const;

 private:
  struct Dim {
    std::int64_t size;
    std::int64_t from, to;  // strides in bytes
  };
  template <std::size_t size>
  void run_as(const std::byte* from, std::byte* to, int threads) const;

  std::size_t element_bytes_ = 0;
  bool empty_ = true;
  std::vector<Dim> dims_;  // the outermost first; the last two are copied together
  std::int64_t outer_ = 1;
};

// Returns the distances between neighbours of each dimension in a dense tensor.
std::vector<std::int64_t> dense_strides(const Dims& dims);

}  // namespace belay::runtime
