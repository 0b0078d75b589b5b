// SPDX-License-Identifier: Apache-2.0
#include "feature_spec.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <algorithm>
#include <cstring>

namespace tfrecord_input {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;

constexpr std::size_t kMaxElements = std::size_t{1} << 28;

struct Entry {
  std::string key;  // "image.shape"
  const belay_value& value;

  std::int32_t kind() const { return value.type & ~BELAY_VALUE_LIST; }
  bool is_list() const { return (value.type & BELAY_VALUE_LIST) != 0 || value.count == 0; }
  std::int64_t integer(std::size_t i) const { return static_cast<const std::int64_t*>(value.data)[i]; }
  double number(std::size_t i) const {
    return kind() == BELAY_VALUE_FLOAT ? static_cast<const double*>(value.data)[i] : static_cast<double>(integer(i));
  }
  std::string_view text(std::size_t i) const {
    return belay::detail::view(static_cast<const belay_str*>(value.data)[i]);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Code::kInvalidArgument, "[B3020] 'features." + key + "' " + what);
  }
};

DType dtype_in(const Entry& e) {
  static const std::vector<std::string> names{"float32", "int64", "string", "uint8"};
  const std::string list = "must be one of: float32, int64, string, uint8";
  if (e.is_list() || e.kind() != BELAY_VALUE_TEXT) e.refuse(list);
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kString, DType::kUInt8})
    if (e.text(0) == belay::dtype_name(dtype)) return dtype;
  e.refuse("is \"" + std::string(e.text(0)) + "\", " + list + belay::did_you_mean(e.text(0), names));
}

void read_shape(const Entry& e, FeatureSpec& spec) {
  const bool list = e.is_list() && (e.value.count == 0 || e.kind() == BELAY_VALUE_INT);
  if (!list) e.refuse("must be a list of integers such as [28, 28]; [] is a single value");
  for (std::size_t i = 0; i < e.value.count; ++i) {
    const std::int64_t dim = e.integer(i);
    if (dim < 1) e.refuse("holds " + std::to_string(dim) + ", must be at least 1: every example has the same shape");
    spec.dims.push_back(dim);
    if (__builtin_mul_overflow(spec.elements, static_cast<std::size_t>(dim), &spec.elements) ||
        spec.elements > kMaxElements)
      e.refuse("has too many elements; at most " + std::to_string(kMaxElements));
  }
}

void read_default(const Entry& e, FeatureSpec& spec) {
  const std::size_t count = e.value.count;
  if (count != spec.elements && (e.is_list() || count != 1))
    e.refuse("has " + std::to_string(count) + " values, the shape " + belay::dims_text(spec.dims) + " needs " +
             std::to_string(spec.elements));
  const bool integers = e.kind() == BELAY_VALUE_INT;
  const bool fits = spec.dtype == DType::kString    ? e.kind() == BELAY_VALUE_TEXT
                    : spec.dtype == DType::kFloat32 ? integers || e.kind() == BELAY_VALUE_FLOAT
                                                    : integers;
  if (!fits) e.refuse("is no " + std::string(belay::dtype_name(spec.dtype)));
  FeatureSpec::Default fallback;
  fallback.bytes.resize(spec.dtype == DType::kString ? 0 : spec.elements * belay::dtype_size(spec.dtype));
  for (std::size_t i = 0; i < spec.elements; ++i) {
    const std::size_t from = count == 1 ? 0 : i;
    const auto put = [&](auto element) {
      std::memcpy(&fallback.bytes[i * sizeof(element)], &element, sizeof(element));
    };
    switch (spec.dtype) {
      case DType::kString: fallback.texts.emplace_back(e.text(from)); break;
      case DType::kFloat32: put(static_cast<float>(e.number(from))); break;
      case DType::kInt64: put(e.integer(from)); break;
      default:
        if (e.integer(from) < 0 || e.integer(from) > 255) e.refuse("is outside 0 to 255");
        put(static_cast<std::uint8_t>(e.integer(from)));
    }
  }
  spec.fallback = std::move(fallback);
}

// Parses the entries of one feature, in any order.
FeatureSpec parse_feature(const std::string& name, const std::vector<Entry>& entries) {
  FeatureSpec spec;
  spec.name = name;
  const auto find = [&](const char* key) -> const Entry* {
    const auto at =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == name + "." + key; });
    return at == entries.end() ? nullptr : &*at;
  };
  const Entry *dtype = find("dtype"), *shape = find("shape"), *fallback = find("default");
  if (dtype == nullptr)
    fail(Code::kInvalidArgument, "[B3020] 'features." + name + "' needs a dtype: float32, int64, string or uint8");
  spec.dtype = dtype_in(*dtype);
  if (shape != nullptr) read_shape(*shape, spec);
  if (fallback != nullptr) read_default(*fallback, spec);
  return spec;
}

// Returns "image/encoded" for "image/encoded.dtype". The feature's name may have dots.
std::string feature_of(const Entry& e) {
  static const std::vector<std::string> keys{"dtype", "shape", "default"};
  const std::size_t dot = e.key.rfind('.');
  if (dot == std::string::npos || dot == 0) e.refuse("must be a table, such as { dtype = \"float32\", shape = [4] }");
  const std::string key = e.key.substr(dot + 1);
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    e.refuse("is unknown" + belay::did_you_mean(key, keys) + "; a feature has dtype, shape and default");
  return e.key.substr(0, dot);
}

template <class Element>
std::vector<double> numbers_in(const std::vector<unsigned char>& bytes) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, &bytes[at], sizeof(element));
    numbers.push_back(static_cast<double>(element));
  }
  return numbers;
}

}  // namespace

std::vector<double> default_numbers(const FeatureSpec& spec) {
  const std::vector<unsigned char>& bytes = spec.fallback->bytes;
  if (spec.dtype == DType::kFloat32) return numbers_in<float>(bytes);
  return spec.dtype == DType::kInt64 ? numbers_in<std::int64_t>(bytes) : numbers_in<std::uint8_t>(bytes);
}

std::vector<FeatureSpec> parse_feature_specs(const belay::Table& table) {
  std::vector<std::pair<std::string, std::vector<Entry>>> features;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Entry entry{std::string(table.key(i)), table.value(i)};
    const std::string name = feature_of(entry);
    auto at = std::find_if(features.begin(), features.end(), [&](const auto& f) { return f.first == name; });
    if (at == features.end()) at = features.insert(features.end(), {name, {}});
    at->second.push_back(entry);
  }
  if (features.empty())
    fail(Code::kInvalidArgument,
         "[B3020] 'features' is empty; name each with its dtype, such as x = { dtype = \"float32\" }");
  std::vector<FeatureSpec> specs;
  for (const auto& [name, entries] : features) specs.push_back(parse_feature(name, entries));
  return specs;
}

}  // namespace tfrecord_input
