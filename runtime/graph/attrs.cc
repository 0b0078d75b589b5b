// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/attrs.h"

#include <fmt/core.h>

#include <algorithm>

#include "belay/detail/parse_options.h"  // number_text
#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using detail::number_text;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the words for a valid value of a type, in a message.
const char* words(AttrType type) noexcept {
  switch (type) {
    case AttrType::kBool: return "true or false";
    case AttrType::kInt: return "an integer";
    case AttrType::kFloat: return "a number";
    case AttrType::kString: return "a string";
    case AttrType::kDType: return "a dtype";
    case AttrType::kInts: return "a list of integers";
    case AttrType::kShape: return "a shape, a list of integers";
    case AttrType::kDTypes: return "a list of dtypes";
    case AttrType::kTensor: return "a tensor";
  }
  return "";
}

// Returns the words for a given value.
const char* words_of(const AttrValue& value) {
  struct {
    const char* operator()(std::int64_t) const { return "an integer"; }
    const char* operator()(double) const { return "a number"; }
    const char* operator()(const std::string&) const { return "a string"; }
    const char* operator()(const std::vector<std::int64_t>&) const { return "a list of integers"; }
    const char* operator()(const std::vector<double>&) const { return "a list of numbers"; }
    const char* operator()(const std::vector<std::string>&) const { return "a list of strings"; }
    const char* operator()(const DenseTensor&) const { return "a tensor"; }
  } const name;
  return std::visit(name, value);
}

bool has_type(AttrType type, const AttrValue& value) {
  switch (type) {
    case AttrType::kBool:
    case AttrType::kInt:
    case AttrType::kDType: return std::holds_alternative<std::int64_t>(value);
    case AttrType::kFloat: return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
    case AttrType::kString: return std::holds_alternative<std::string>(value);
    case AttrType::kInts:
    case AttrType::kShape:
    case AttrType::kDTypes: return std::holds_alternative<std::vector<std::int64_t>>(value);
    case AttrType::kTensor: return std::holds_alternative<DenseTensor>(value);
  }
  return false;
}

bool is_dtype(std::int64_t value) {
  return value >= 0 && value <= std::numeric_limits<std::int32_t>::max() && dtype_size(static_cast<DType>(value)) != 0;
}

std::string number_of(const AttrValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  return number_text(std::get<double>(value));
}

// Returns "SAME, VALID or EXPLICIT".
std::string either(const std::vector<std::string_view>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
  return text;
}

std::string problem_of_numbers(AttrType type, const std::vector<std::int64_t>& values) {
  for (const std::int64_t v : values) {
    if (type == AttrType::kShape && v < -1) return fmt::format("has the dimension {}", v);
    if (type == AttrType::kDTypes && !is_dtype(v)) return fmt::format("has {}, which is no dtype", v);
  }
  return "";
}

}  // namespace

const char* type_name(AttrType type) noexcept {
  switch (type) {
    case AttrType::kBool: return "bool";
    case AttrType::kInt: return "int";
    case AttrType::kFloat: return "float";
    case AttrType::kString: return "string";
    case AttrType::kDType: return "dtype";
    case AttrType::kInts: return "int_list";
    case AttrType::kShape: return "shape";
    case AttrType::kDTypes: return "dtype_list";
    case AttrType::kTensor: return "tensor";
  }
  return "";
}

AttrDef AttrDef::defaults_to(AttrValue value) && {
  const auto* i = std::get_if<std::int64_t>(&value);
  default_value = type == AttrType::kFloat && i != nullptr ? AttrValue(static_cast<double>(*i)) : std::move(value);
  return std::move(*this);
}
AttrDef AttrDef::optional() && {
  is_optional = true;
  return std::move(*this);
}
AttrDef AttrDef::at_least(double least) && {
  min = least;
  return std::move(*this);
}
AttrDef AttrDef::above(double bound) && {
  min = bound, above_min = true;
  return std::move(*this);
}
AttrDef AttrDef::below(double bound) && {
  max = bound, below_max = true;
  return std::move(*this);
}
AttrDef AttrDef::one_of(std::initializer_list<std::string_view> values) && {
  choices = values;
  return std::move(*this);
}

std::string AttrDef::range() const {
  const bool low = min != -kInfinity, high = max != kInfinity;
  if (low && high)
    return (above_min ? "in (" : "in [") + number_text(min) + ", " + number_text(max) + (below_max ? ")" : "]");
  if (low) return (above_min ? "above " : "at least ") + number_text(min);
  if (high) return (below_max ? "below " : "at most ") + number_text(max);
  return "";
}

std::string AttrDef::problem(const AttrValue& value) const {
  if (!has_type(type, value)) return std::string("must be ") + words(type) + ", not " + words_of(value);
  if (type == AttrType::kBool && std::get<std::int64_t>(value) != 0 && std::get<std::int64_t>(value) != 1)
    return "must be true or false, got " + number_of(value);
  if (type == AttrType::kDType && !is_dtype(std::get<std::int64_t>(value)))
    return "is " + number_of(value) + ", which is no dtype";
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return problem_of_numbers(type, *list);
  if (type == AttrType::kInt || type == AttrType::kFloat) {
    const auto* i = std::get_if<std::int64_t>(&value);
    const double v = i != nullptr ? static_cast<double>(*i) : std::get<double>(value);
    const bool any = min == -kInfinity && max == kInfinity;  // also NaN
    const bool fits = any || ((above_min ? v > min : v >= min) && (below_max ? v < max : v <= max));
    return fits ? "" : "must be " + range() + ", got " + number_of(value);
  }
  if (!choices.empty()) {
    const std::string& text = std::get<std::string>(value);
    if (std::find(choices.begin(), choices.end(), text) == choices.end())
      return "is " + single_quoted(text) + ", must be " + either(choices);
  }
  return "";
}

AttrDef bool_attr(std::string_view name, std::string_view doc) {
  return AttrDef{name, AttrType::kBool, doc}.defaults_to(0);
}
AttrDef int_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kInt, doc}; }
AttrDef float_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kFloat, doc}; }
AttrDef string_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kString, doc}; }
AttrDef dtype_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kDType, doc}; }
AttrDef ints_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kInts, doc}; }
AttrDef shape_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kShape, doc}; }
AttrDef dtypes_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kDTypes, doc}; }
AttrDef tensor_attr(std::string_view name, std::string_view doc) { return {name, AttrType::kTensor, doc}; }

// ---- of a node

namespace {

std::string named(std::string_view name) { return "attribute " + single_quoted(name); }

template <class T>
const T& attr_as(const AttrValue& value, std::string_view name) {
  const T* v = std::get_if<T>(&value);
  if (v == nullptr) fail(Code::kInternal, named(name) + " is read as another type than " + words_of(value));
  return *v;
}

[[noreturn]] void fail_unknown(std::string_view name, const std::vector<AttrDef>& declared) {
  std::vector<std::string> names;
  for (const AttrDef& d : declared) names.emplace_back(d.name);
  const std::string near = nearest(name, names);
  fail(Code::kInvalidArgument,
       single_quoted(name) + " is not an attribute of this operation" +
           (near.empty() ? "" : "; did you mean '" + near + "'?") +
           (names.empty() ? "; it has none" : (near.empty() ? "; " : " ") + ("attributes: " + joined(names))));
}

const AttrDef* find(const std::vector<AttrDef>& declared, std::string_view name) noexcept {
  const auto found = std::find_if(declared.begin(), declared.end(), [&](const AttrDef& d) { return d.name == name; });
  return found == declared.end() ? nullptr : &*found;
}

}  // namespace

void Attrs::set(std::string name, AttrValue value) { given_.emplace_back(std::move(name), std::move(value)); }

void Attrs::need_each_once() const {
  for (auto it = given_.begin(); it != given_.end(); ++it)
    if (&it->second != given(it->first)) fail(Code::kInvalidArgument, named(it->first) + " is set twice");
}

void Attrs::declare(const std::vector<AttrDef>& declared) {
  need_each_once();
  for (const auto& [name, value] : given_) {
    const AttrDef* def = find(declared, name);
    if (def == nullptr) fail_unknown(name, declared);
    if (const std::string problem = def->problem(value); !problem.empty())
      fail(Code::kInvalidArgument, named(name) + " " + problem);
  }
  for (const AttrDef& def : declared)
    if (!def.default_value && !def.is_optional && given(def.name) == nullptr)
      fail(Code::kInvalidArgument,
           named(def.name) + " is missing; it is " + words(def.type) + ": " + std::string(def.doc));
  declared_ = &declared;
}

const AttrValue* Attrs::given(std::string_view name) const noexcept {
  for (const auto& [key, value] : given_)
    if (key == name) return &value;
  return nullptr;
}

const AttrDef& Attrs::declared(std::string_view name) const {
  const AttrDef* def = declared_ == nullptr ? nullptr : find(*declared_, name);
  if (def == nullptr) fail(Code::kInternal, named(name) + " is read, but its operation does not declare it");
  return *def;
}

const AttrValue& Attrs::value(std::string_view name) const {
  const AttrDef& def = declared(name);
  if (const AttrValue* v = given(name)) return *v;
  if (!def.default_value) fail(Code::kInternal, named(name) + " is read, but it was not given and has no default");
  return *def.default_value;
}

bool Attrs::has(std::string_view name) const {
  declared(name);
  return given(name) != nullptr;
}

std::int64_t Attrs::integer(std::string_view name) const { return attr_as<std::int64_t>(value(name), name); }

double Attrs::number(std::string_view name) const {
  const AttrValue& v = value(name);
  if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  return attr_as<double>(v, name);
}

const std::string& Attrs::text(std::string_view name) const { return attr_as<std::string>(value(name), name); }

const std::vector<std::int64_t>& Attrs::integers(std::string_view name) const {
  return attr_as<std::vector<std::int64_t>>(value(name), name);
}

const DenseTensor& Attrs::tensor(std::string_view name) const { return attr_as<DenseTensor>(value(name), name); }

}  // namespace belay::runtime
