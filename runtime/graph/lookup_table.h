// SPDX-License-Identifier: Apache-2.0
// A hash table of a session. Local initialization fills it once; afterwards it is only read. [any thread]
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
  // Keys are int64 or strings. Values have one element each, of any type.
  LookupTable(std::string name, DType key_dtype, DType value_dtype);

  // Fills it with keys[i] -> values[i]. INVALID_ARGUMENT: a key has two different values. FAILED_PRECONDITION: a second
  // call has other content.
  void initialize(const TensorView& keys, const TensorView& values);
  // Returns a tensor of the keys' shape: each key's value, or the default (a scalar). FAILED_PRECONDITION: it is called
  // before initialize.
  DenseTensor look_up(const TensorView& keys, const TensorView& default_value) const;
  // Returns 0 before initialize.
  std::int64_t size() const noexcept;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  // Returns the row of the key in values_; -1: it is not there.
  std::int64_t row_of(const TensorView& keys, std::size_t i) const;
  bool holds_the_same(const TensorView& keys, const TensorView& values) const;
  void copy(const TensorView& from, std::size_t i, DenseTensor& to, std::size_t j) const;

  const std::string name_;
  const DType key_dtype_;
  const DType value_dtype_;
  std::mutex mutex_;  // guards initialize
  std::atomic<bool> initialized_{false};
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> rows_by_text_;
  std::unordered_map<std::int64_t, std::int64_t> rows_by_number_;
  DenseTensor values_;
};

}  // namespace belay::runtime
