// SPDX-License-Identifier: Apache-2.0
// Plans how a reduction walks over a tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// A tensor's dimensions as results (kept dimensions) times terms (reduced ones); neighbours of one kind are merged. The
// innermost merged dimension is a run of terms of one result, or a run of results that share their terms.
class ReductionPlan {
 public:
  ReductionPlan(const Dims& dims, const std::vector<bool>& reduced);

  bool inner_reduced() const noexcept { return inner_reduced_; }
  std::int64_t inner() const noexcept { return inner_; }
  // These do not count the inner dimension.
  std::int64_t results() const noexcept { return count(kept_); }
  std::int64_t terms() const noexcept { return count(reduced_); }
  // Terms come as rows at a fixed distance, in `terms() / term_rows()` blocks.
  std::int64_t term_rows() const noexcept { return reduced_.empty() ? 1 : reduced_[0].size; }
  std::int64_t term_stride() const noexcept { return reduced_.empty() ? 0 : reduced_[0].stride; }
  // The distance in elements from the tensor's start to a result, and from there to a block's first term.
  std::int64_t result_offset(std::int64_t result) const noexcept { return offset(kept_, 0, result); }
  std::int64_t block_offset(std::int64_t block) const noexcept { return offset(reduced_, 1, block); }

 private:
  struct Dim {
    std::int64_t size;
    std::int64_t stride;
  };
  static std::int64_t count(const std::vector<Dim>& dims) noexcept {
    std::int64_t n = 1;
    for (const Dim& d : dims) n *= d.size;
    return n;
  }
  static std::int64_t offset(const std::vector<Dim>& dims, std::size_t first, std::int64_t i) noexcept {
    std::int64_t at = 0;
    for (std::size_t d = first; d < dims.size(); ++d) {
      at += i % dims[d].size * dims[d].stride;
      i /= dims[d].size;
    }
    return at;
  }

  std::vector<Dim> kept_;     // the innermost first
  std::vector<Dim> reduced_;  // the innermost first
  std::int64_t inner_ = 1;
  bool inner_reduced_ = true;
};

}  // namespace belay::runtime
