// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/option_values.h"

#include <fmt/core.h>

#include <utility>

#include "belay/error.h"

namespace belay::runtime {
namespace {

std::int32_t value_type(OptionType type) {
  switch (type) {
    case OptionType::kBool: return BELAY_VALUE_BOOL;
    case OptionType::kInt: return BELAY_VALUE_INT;
    case OptionType::kFloat: return BELAY_VALUE_FLOAT;
    default: return BELAY_VALUE_TEXT;
  }
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

template <class T>
const void* OptionValues::keep(std::deque<std::vector<T>>& blocks, std::vector<T> values) {
  blocks.push_back(std::move(values));
  return blocks.back().data();
}

belay_str OptionValues::keep_text(const std::string& text) {
  texts_.push_back(text);
  return {texts_.back().data(), texts_.back().size()};
}

void OptionValues::add(const std::string& name, const OptionValue& value, OptionType type) {
  using Integers = std::vector<std::int64_t>;
  const auto one = [](std::int32_t t, const void* data) { return belay_value{t, 0, 1, data}; };
  const auto list = [](std::int32_t t, std::size_t n, const void* data) {
    return belay_value{t | BELAY_VALUE_LIST, 0, n, data};
  };
  const auto to_value = Overloaded{
      [&](bool v) { return one(BELAY_VALUE_BOOL, keep(integers_, Integers{v ? 1 : 0})); },
      [&](std::int64_t v) { return one(BELAY_VALUE_INT, keep(integers_, Integers{v})); },
      [&](double v) { return one(BELAY_VALUE_FLOAT, keep(numbers_, std::vector<double>{v})); },
      [&](const std::string& v) { return one(BELAY_VALUE_TEXT, keep(strings_, std::vector<belay_str>{keep_text(v)})); },
      [&](const std::vector<bool>& v) {
        return list(BELAY_VALUE_BOOL, v.size(), keep(integers_, Integers(v.begin(), v.end())));
      },
      [&](const Integers& v) { return list(BELAY_VALUE_INT, v.size(), keep(integers_, v)); },
      [&](const std::vector<double>& v) { return list(BELAY_VALUE_FLOAT, v.size(), keep(numbers_, v)); },
      [&](const std::vector<std::string>& v) {
        std::vector<belay_str> all;
        for (const std::string& text : v) all.push_back(keep_text(text));
        return list(BELAY_VALUE_TEXT, v.size(), keep(strings_, std::move(all)));
      },
      [&](std::monostate) { return list(value_type(type), 0, nullptr); },
  };
  values_.push_back({keep_text(name), std::visit(to_value, value)});
}

OptionValue option_value(const belay_value& value) {
  const bool list = (value.type & BELAY_VALUE_LIST) != 0;
  if (value.data == nullptr ? !list || value.count != 0 : !list && value.count != 1)
    fail(Code::kInvalidArgument, fmt::format("[B2050] it has no value (count {})", value.count));
  const auto all = [&]<class T>(const T* data) { return std::vector<T>(data, data + value.count); };
  switch (value.type & ~BELAY_VALUE_LIST) {
    case BELAY_VALUE_BOOL: {
      const auto* v = static_cast<const std::int64_t*>(value.data);
      return list ? OptionValue(std::vector<bool>(v, v + value.count)) : OptionValue(v[0] != 0);
    }
    case BELAY_VALUE_INT: {
      const auto* v = static_cast<const std::int64_t*>(value.data);
      return list ? OptionValue(all(v)) : OptionValue(v[0]);
    }
    case BELAY_VALUE_FLOAT: {
      const auto* v = static_cast<const double*>(value.data);
      return list ? OptionValue(all(v)) : OptionValue(v[0]);
    }
    case BELAY_VALUE_TEXT: {
      const auto* v = static_cast<const belay_str*>(value.data);
      std::vector<std::string> texts;
      for (std::uint64_t i = 0; i < value.count; ++i) texts.emplace_back(detail::view(v[i]));
      return list ? OptionValue(texts) : OptionValue(texts[0]);
    }
    default: fail(Code::kInvalidArgument, fmt::format("[B2050] it is of type {}, which no option has", value.type));
  }
}

}  // namespace belay::runtime
