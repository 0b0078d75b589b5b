// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/lookup_table.h"

#include <fmt/core.h>

#include <cstring>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string key_text(const TensorView& keys, std::size_t i) {
  return keys.dtype() == DType::kString ? "'" + escaped(keys.text(i)) + "'"
                                        : std::to_string(keys.data<std::int64_t>()[i]);
}

bool same_element(const TensorView& a, std::size_t i, const TensorView& b, std::size_t j) {
  if (a.dtype() == DType::kString) return a.text(i) == b.text(j);
  const std::size_t width = dtype_size(a.dtype());
  return std::memcmp(static_cast<const std::byte*>(a.data()) + i * width,
                     static_cast<const std::byte*>(b.data()) + j * width, width) == 0;
}

}  // namespace

LookupTable::LookupTable(std::string name, DType key_dtype, DType value_dtype)
    : name_(std::move(name)), key_dtype_(key_dtype), value_dtype_(value_dtype) {}

void LookupTable::initialize(const TensorView& keys, const TensorView& values) {
  if (keys.size() != values.size())
    fail(Code::kInvalidArgument, fmt::format("table '{}' is given {} keys and {} values; they must be equal", name_,
                                             keys.size(), values.size()));
  const std::lock_guard lock(mutex_);
  if (initialized_) {
    if (holds_the_same(keys, values)) return;
    fail(Code::kFailedPrecondition, "table '" + name_ + "' is initialized already, with other contents");
  }
  values_ = DenseTensor(values);
  rows_by_text_.clear();
  rows_by_number_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t there = key_dtype_ == DType::kString
                                   ? rows_by_text_.try_emplace(std::string(keys.text(i)), row).first->second
                                   : rows_by_number_.try_emplace(keys.data<std::int64_t>()[i], row).first->second;
    if (there != row && !same_element(values, i, values, static_cast<std::size_t>(there)))
      fail(Code::kInvalidArgument, "table '" + name_ + "' is given two values for the key " + key_text(keys, i));
  }
  initialized_.store(true, std::memory_order_release);
}

bool LookupTable::holds_the_same(const TensorView& keys, const TensorView& values) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::int64_t row = row_of(keys, i);
    if (row < 0 || !same_element(values, i, TensorView(values_.view()), static_cast<std::size_t>(row))) return false;
  }
  return static_cast<std::int64_t>(keys.size()) >= size();
}

std::int64_t LookupTable::row_of(const TensorView& keys, std::size_t i) const {
  if (key_dtype_ == DType::kString) {
    const auto it = rows_by_text_.find(keys.text(i));
    return it == rows_by_text_.end() ? -1 : it->second;
  }
  const auto it = rows_by_number_.find(keys.data<std::int64_t>()[i]);
  return it == rows_by_number_.end() ? -1 : it->second;
}

void LookupTable::copy(const TensorView& from, std::size_t i, DenseTensor& to, std::size_t j) const {
  if (value_dtype_ == DType::kString) {
    to.set_text(j, from.text(i));
    return;
  }
  const std::size_t width = dtype_size(value_dtype_);
  std::memcpy(to.data<std::byte>() + j * width, static_cast<const std::byte*>(from.data()) + i * width, width);
}

DenseTensor LookupTable::look_up(const TensorView& keys, const TensorView& default_value) const {
  if (!initialized_.load(std::memory_order_acquire))
    fail(Code::kFailedPrecondition, "table '" + name_ +
                                        "' is not initialized: run its initializer (the collection "
                                        "'table_initializer') first; a session's local init does");
  DenseTensor out(value_dtype_, keys.dims());
  const TensorView values(values_.view());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::int64_t row = row_of(keys, i);
    if (row < 0) {
      copy(default_value, 0, out, i);
    } else {
      copy(values, static_cast<std::size_t>(row), out, i);
    }
  }
  return out;
}

std::int64_t LookupTable::size() const noexcept {
  if (!initialized_.load(std::memory_order_acquire)) return 0;
  return static_cast<std::int64_t>(key_dtype_ == DType::kString ? rows_by_text_.size() : rows_by_number_.size());
}

}  // namespace belay::runtime
