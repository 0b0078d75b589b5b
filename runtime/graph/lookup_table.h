// SPDX-License-Identifier: Apache-2.0
// A hash table of a session: filled once, at local initialization, and only read from then on. [any thread]
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "belay/tensor.h"
#include "runtime/graph/dense_tensor.h"

namespace belay::runtime {

class LookupTable {
 public:
  // Keys are int64 or strings; values have one element each, of any type.
  LookupTable(std::string name, DType key_dtype, DType value_dtype);

  // Fills it with keys[i] -> values[i]. INVALID_ARGUMENT where a key comes twice with different values. A second time
  // is FAILED_PRECONDITION unless it brings the same.
  void initialize(const TensorView& keys, const TensorView& values);
  // A tensor of the keys' shape: each key's value, or the default (a scalar). FAILED_PRECONDITION before initialize.
  DenseTensor look_up(const TensorView& keys, const TensorView& default_value) const;
  // 0 before initialize.
  std::int64_t size() const noexcept;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  // Row of the key in values_; -1: it is not there.
  std::int64_t row_of(const TensorView& keys, std::size_t i) const;
  bool holds_the_same(const TensorView& keys, const TensorView& values) const;
  void copy(const TensorView& from, std::size_t i, DenseTensor& to, std::size_t j) const;

  const std::string name_;
  const DType key_dtype_;
  const DType value_dtype_;
  std::mutex mutex_;  // of initialize
  std::atomic<bool> initialized_{false};
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> rows_by_text_;
  std::unordered_map<std::int64_t, std::int64_t> rows_by_number_;
  DenseTensor values_;
};

}  // namespace belay::runtime
