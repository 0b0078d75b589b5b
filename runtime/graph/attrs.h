// SPDX-License-Identifier: Apache-2.0
// The attributes of nodes: an operation declares them, and a node gets values for them.
//
//   .attrs = {float_attr("alpha", "the slope below 0").defaults_to(0.2),            // OpDef.attrs
//             string_attr("padding", "what is put round images").one_of({"SAME", "VALID"}).defaults_to("VALID"),
//             int_attr("k", "how many").at_least(0)}                                 // no default: a node must have it
//
// NodeGraph::add checks the attributes of a new node. Shape rules, gradients and kernels read them by name. A missing
// attribute has the declared default, so no reader repeats it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/graph/dense_tensor.h"

namespace belay::runtime {

// An attribute's value: bools, dtypes and integers are int64.
using AttrValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>, DenseTensor>;

enum class AttrType {
  kBool,
  kInt,
  kFloat,  // also takes integers
  kString,
  kDType,
  kInts,
  kShape,   // a list of dims, -1: unknown
  kDTypes,  // a list of dtypes
  kTensor,
};

// Returns the name of an option type in `belay describe`, for example "bool" or "int_list".
const char* type_name(AttrType type) noexcept;

// One attribute in its operation's declaration. A node must have it if it has no default and is not optional. Names,
// docs and choices are literals.
struct AttrDef {
  std::string_view name;
  AttrType type;
  std::string_view doc;
  std::optional<AttrValue> default_value = {};
  bool is_optional = false;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // true: min itself is not allowed
  bool below_max = false;
  std::vector<std::string_view> choices = {};  // empty: any

  AttrDef defaults_to(AttrValue value) &&;
  AttrDef defaults_to(DType value) && { return std::move(*this).defaults_to(static_cast<std::int64_t>(value)); }
  // Makes it optional. Attrs::has is true if a node has it.
  AttrDef optional() &&;
  AttrDef at_least(double least) &&;
  AttrDef above(double bound) &&;
  AttrDef below(double bound) &&;
  AttrDef one_of(std::initializer_list<std::string_view> values) &&;

  // Returns an empty text if the value fits, else "must be an integer, not a string", "must be in [0, 1), got 2" ...
  std::string problem(const AttrValue& value) const;
  // Returns "at least 0" or "in [0, 1)"; empty: every number is allowed.
  std::string range() const;
};

// The default is `false` unless another one is set.
AttrDef bool_attr(std::string_view name, std::string_view doc);
AttrDef int_attr(std::string_view name, std::string_view doc);
AttrDef float_attr(std::string_view name, std::string_view doc);
AttrDef string_attr(std::string_view name, std::string_view doc);
AttrDef dtype_attr(std::string_view name, std::string_view doc);
AttrDef ints_attr(std::string_view name, std::string_view doc);
AttrDef shape_attr(std::string_view name, std::string_view doc);
AttrDef dtypes_attr(std::string_view name, std::string_view doc);
AttrDef tensor_attr(std::string_view name, std::string_view doc);

// A node's attributes. They are few, so this is a list.
class Attrs {
 public:
  void set(std::string name, AttrValue value);
  // Checks the given attributes against the operation's declaration; that list outlives this object. INVALID_ARGUMENT,
  // without the node: an attribute is repeated, unknown, mistyped, out of range or missing.
  void declare(const std::vector<AttrDef>& declared);
  void need_each_once() const;

  // Returns the given attributes in their order.
  const std::vector<std::pair<std::string, AttrValue>>& all() const noexcept { return given_; }
  // Returns null if the attribute was not given.
  const AttrValue* given(std::string_view name) const noexcept;

  // Return the given value, else the default. INTERNAL: the operation does not declare the attribute, which is its
  // defect.
  bool has(std::string_view name) const;  // true: it was given
  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  DType dtype(std::string_view name) const { return static_cast<DType>(integer(name)); }
  const DenseTensor& tensor(std::string_view name) const;

 private:
  const AttrDef& declared(std::string_view name) const;
  const AttrValue& value(std::string_view name) const;

  std::vector<std::pair<std::string, AttrValue>> given_;
  const std::vector<AttrDef>* declared_ = nullptr;  // null: nothing was declared, and there are no defaults
};

}  // namespace belay::runtime
