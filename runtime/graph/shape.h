// SPDX-License-Identifier: Apache-2.0
// A partial shape: unknown rank, or a rank with some unknown dimensions (-1).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "belay/tensor.h"

namespace belay::runtime {

class Shape {
 public:
  // Makes a scalar.
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(Dims dims) : dims_(std::move(dims)) {}
  Shape(const std::int64_t* dims, std::int32_t rank);
  static Shape unknown() {
    Shape s;
    s.known_rank_ = false;
    return s;
  }
  static Shape unknown_of_rank(std::size_t rank) { return Shape(Dims(rank, -1)); }

  bool has_rank() const noexcept { return known_rank_; }
  // Returns -1 if it is unknown.
  std::int32_t rank() const noexcept { return known_rank_ ? static_cast<std::int32_t>(dims_.size()) : -1; }
  std::int64_t dim(std::size_t i) const noexcept { return dims_[i]; }
  void set_dim(std::size_t i, std::int64_t value) noexcept { dims_[i] = value; }
  const Dims& dims() const noexcept { return dims_; }
  bool fully_known() const noexcept;
  // Returns -1 if it is unknown.
  std::int64_t elements() const noexcept;
  std::string text() const { return known_rank_ ? dims_text(dims_) : "[...]"; }

  // True if a tensor can have these dims; -1 among them is unknown.
  bool allows(const Dims& dims) const noexcept;
  // True if one tensor can have both shapes.
  static bool compatible(const Shape& a, const Shape& b) noexcept;
  // Returns all that both shapes know. `ok` becomes false if they contradict each other.
  static Shape merged(const Shape& a, const Shape& b, bool& ok);

  friend bool operator==(const Shape&, const Shape&) noexcept = default;

 private:
  Dims dims_;
  bool known_rank_ = true;
};

// Returns the shape that two operands broadcast to, by numpy's rule. `ok` is false if they do not fit.
Shape broadcast(const Shape& a, const Shape& b, bool& ok);

// Parses the shapes of a queue's components in its node's attribute `shapes`: rank, dims, rank, dims, ...; rank -1 is
// unknown. None: the list is malformed.
std::optional<std::vector<Shape>> shapes_of_components(const std::vector<std::int64_t>& flat);

// Returns the product of concrete dimensions.
std::int64_t count_of(const Dims& dims) noexcept;

}  // namespace belay::runtime
