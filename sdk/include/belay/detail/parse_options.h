// SPDX-License-Identifier: Apache-2.0
// Makes the author's Options struct from the values that crossed the boundary. The host has checked them against the
// note. A host in another language may not have done so, so name, kind, range, choices and required are checked again.
#pragma once

#include <charconv>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "belay/options.h"

namespace belay {
inline namespace v0 {
namespace detail {

// Keeps the memory that Str, Path, List and Table point at, as long as the instance.
class OptionStorage {
 public:
  std::string_view text(std::string_view t) { return texts_.emplace_back(t); }
  template <class T>
  List<T> list(std::unique_ptr<T[]> values, std::size_t n) {
    std::shared_ptr<T[]> kept(std::move(values));
    const T* data = kept.get();
    blocks_.push_back(std::move(kept));
    return List<T>(data, n);
  }
  belay_value copy(const belay_value& v) {
    belay_value out = v;
    const std::size_t n = static_cast<std::size_t>(v.count);
    switch (v.type & ~BELAY_VALUE_LIST) {
      case BELAY_VALUE_FLOAT: out.data = copy_array(static_cast<const double*>(v.data), n); break;
      case BELAY_VALUE_TEXT: {
        const auto* given = static_cast<const belay_str*>(v.data);
        auto own = std::make_unique<belay_str[]>(n);
        for (std::size_t i = 0; i < n; ++i) own[i] = str(text(view(given[i])));
        out.data = keep(std::move(own));
        break;
      }
      default: out.data = copy_array(static_cast<const std::int64_t*>(v.data), n); break;
    }
    return out;
  }
  template <class T>
  const T* keep(std::unique_ptr<T[]> values) {
    std::shared_ptr<T[]> kept(std::move(values));
    const T* data = kept.get();
    blocks_.push_back(std::move(kept));
    return data;
  }

 private:
  template <class T>
  const T* copy_array(const T* data, std::size_t n) {
    auto own = std::make_unique<T[]>(n);
    for (std::size_t i = 0; i < n; ++i) own[i] = data[i];
    return keep(std::move(own));
  }

  std::deque<std::string> texts_;
  std::vector<std::shared_ptr<const void>> blocks_;
};

constexpr const char* option_type_name(OptionType type, bool list) {
  switch (type) {
    case OptionType::kBool: return list ? "bool_list" : "bool";
    case OptionType::kInt: return list ? "int_list" : "int";
    case OptionType::kFloat: return list ? "float_list" : "float";
    case OptionType::kString: return list ? "string_list" : "string";
    case OptionType::kPath: return list ? "path_list" : "path";
    case OptionType::kTable: return "table";
  }
  return "";
}

// Formats v as the shortest string that reads back; whole numbers in full.
inline std::string number_text(double v) {
  char text[32];
  const bool whole = v > -1e15 && v < 1e15 && v == static_cast<double>(static_cast<std::int64_t>(v));
  const auto end = whole ? std::to_chars(text, text + sizeof(text), static_cast<std::int64_t>(v))
                         : std::to_chars(text, text + sizeof(text), v);
  return std::string(text, end.ptr);
}

template <class Opt>
void check_number(const Opt& o, double v) {
  const bool low = o.has_min && !(v >= o.min_value), high = o.has_max && !(v <= o.max_value);
  if (low || high)
    fail(Code::kInvalidArgument, "'" + std::string(o.name) + "' is " + number_text(v) + ", must be " +
                                     (low ? ">= " + number_text(o.min_value) : "<= " + number_text(o.max_value)));
}

template <class Opt>
[[noreturn]] void fail_type(const Opt& o) {
  using Traits = OptionTraits<typename Opt::Type>;
  fail(Code::kInvalidArgument,
       "'" + std::string(o.name) + "' must be of type " + option_type_name(Traits::type, Traits::list));
}

template <class T, class Opt>
T option_element(const Opt& o, const belay_value& v, std::size_t i, OptionStorage& storage) {
  const std::int32_t type = v.type & ~BELAY_VALUE_LIST;
  if constexpr (std::is_same_v<T, Str> || std::is_same_v<T, Path>) {
    if (type != BELAY_VALUE_TEXT) fail_type(o);
    const std::string_view text = view(static_cast<const belay_str*>(v.data)[i]);
    if (o.n_choices != 0) {
      bool known = false;
      std::string all;
      for (std::size_t c = 0; c < o.n_choices; ++c) {
        known = known || o.choice[c] == text;
        all += (c == 0 ? "" : ", ") + std::string(o.choice[c]);
      }
      if (!known)
        fail(Code::kInvalidArgument,
             "'" + std::string(o.name) + "' is \"" + std::string(text) + "\", must be one of: " + all);
    }
    return T(storage.text(text));
  } else if constexpr (std::is_same_v<T, bool>) {
    if (type != BELAY_VALUE_BOOL) fail_type(o);
    return static_cast<const std::int64_t*>(v.data)[i] != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    double number = 0;
    if (type == BELAY_VALUE_FLOAT) {
      number = static_cast<const double*>(v.data)[i];
    } else if (type == BELAY_VALUE_INT) {
      number = static_cast<double>(static_cast<const std::int64_t*>(v.data)[i]);
    } else {
      fail_type(o);
    }
    check_number(o, number);
    return static_cast<T>(number);
  } else {
    if (type != BELAY_VALUE_INT) fail_type(o);
    const std::int64_t number = static_cast<const std::int64_t*>(v.data)[i];
    check_number(o, static_cast<double>(number));
    bool fits;
    if constexpr (std::is_unsigned_v<T>) {
      fits = number >= 0 && static_cast<std::uint64_t>(number) <= std::numeric_limits<T>::max();
    } else {
      fits = number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
    }
    if (!fits) fail(Code::kInvalidArgument, "'" + std::string(o.name) + "' is out of range: " + std::to_string(number));
    return static_cast<T>(number);
  }
}

template <class O, class T>
void set_option(O& options, const Option<O, T>& o, const belay_value& v, OptionStorage& storage) {
  using Traits = OptionTraits<T>;
  using Element = typename Traits::Element;
  const bool list = (v.type & BELAY_VALUE_LIST) != 0;
  if (list != Traits::list && (list || !o.is_single)) fail_type(o);
  if constexpr (Traits::list) {
    const std::size_t n = static_cast<std::size_t>(v.count);
    auto values = std::make_unique<Element[]>(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = option_element<Element>(o, v, i, storage);
    options.*(o.member) = storage.list<Element>(std::move(values), n);
  } else {
    if (v.count != 1) fail_type(o);
    options.*(o.member) = option_element<Element>(o, v, 0, storage);
  }
}

// Adds the strings of a list to the entries of a table, with keys that no other entry has: "[0]".
template <class Opt>
void take_list(const Opt& o, const belay_value& v, std::vector<belay_named_value>& entries, OptionStorage& storage) {
  if (v.count != 0 && v.type != (BELAY_VALUE_TEXT | BELAY_VALUE_LIST)) fail_type(o);
  for (std::uint64_t i = 0; i < v.count; ++i) {
    const belay_value element{BELAY_VALUE_TEXT, 0, 1, static_cast<const belay_str*>(v.data) + i};
    entries.push_back({str(storage.text("[" + std::to_string(i) + "]")), storage.copy(element)});
  }
}

template <class O, class T>
bool take_option(O& options, const Option<O, T>& o, const belay_named_value* values, std::size_t n,
                 std::vector<bool>& used, OptionStorage& storage) {
  bool given = false;
  if constexpr (OptionTraits<T>::type == OptionType::kTable) {
    const std::string prefix = std::string(o.name) + ".";
    std::vector<belay_named_value> below;
    for (std::size_t i = 0; i < n; ++i) {
      const std::string_view name = view(values[i].name);
      if (o.is_single && name == o.name) {
        used[i] = given = true;
        take_list(o, values[i].value, below, storage);
      }
      if (name.substr(0, prefix.size()) != prefix) continue;
      used[i] = given = true;
      below.push_back({str(storage.text(name.substr(prefix.size()))), storage.copy(values[i].value)});
    }
    auto entries = std::make_unique<belay_named_value[]>(below.size());
    for (std::size_t i = 0; i < below.size(); ++i) entries[i] = below[i];
    options.*(o.member) = Table(storage.keep(std::move(entries)), below.size());
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      if (view(values[i].name) != o.name) continue;
      used[i] = given = true;
      set_option(options, o, values[i].value, storage);
    }
  }
  if (o.is_required && !given) fail(Code::kInvalidArgument, "'" + std::string(o.name) + "' is required");
  return given;
}

// A nested key is read as part of its table.
template <class O, class T>
bool take_option(O&, const Nested<T>&, const belay_named_value*, std::size_t, std::vector<bool>&, OptionStorage&) {
  return false;
}

template <class O, class... Opts>
O parse_options(const About<Opts...>& about, const char* kind, const belay_named_value* values, std::uint64_t count,
                OptionStorage& storage) {
  O options{};
  const auto n = static_cast<std::size_t>(count);
  std::vector<bool> used(n, false);
  std::apply([&](const Opts&... o) { (take_option(options, o, values, n, used, storage), ...); }, about.options);
  for (std::size_t i = 0; i < n; ++i)
    if (!used[i])
      fail(Code::kInvalidArgument, "'" + std::string(view(values[i].name)) + "' is not an option of " + kind + " '" +
                                       std::string(about.name) + "'");
  return options;
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
