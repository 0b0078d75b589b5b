// SPDX-License-Identifier: Apache-2.0
// A plugin's options: a plain struct with defaults, and `about`, which names and explains its members. The note in the
// file, the checks before `create`, `belay describe` and the documentation are all made from that one declaration.
//
//   struct Options {
//     double max = 10;                             // double, float, bool, any signed or unsigned integer
//     belay::Str tensor = "loss";                  // text; Path: a file, relative to the manifest, ${NAME} replaced
//     belay::List<std::int64_t> hidden;            // lists of bool, integers, doubles, Str or Path
//     std::optional<std::int64_t> every_n_steps;   // may stay unset
//     belay::Table feeds;                          // any keys below this one
//   };
//   static constexpr auto about = belay::about("loss_ceiling", "Stops the run when a tensor rises above a limit",
//       belay::option("max", &Options::max, "stop above this").range(0, 1e30),
//       belay::option("tensor", &Options::tensor, "scalar to watch"));
//
// Options must be default-constructible at compile time. Str, Path, List and Table borrow: they are valid as long as
// the plugin instance that was created with them, so a plugin may keep its Options as a member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "belay/error.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

class Str {
 public:
  constexpr Str() noexcept = default;
  constexpr Str(const char* text) noexcept : text_(text) {}
  constexpr explicit Str(std::string_view text) noexcept : text_(text) {}
  constexpr std::string_view view() const noexcept { return text_; }
  constexpr operator std::string_view() const noexcept { return text_; }
  explicit operator std::string() const { return std::string(text_); }
  std::string string() const { return std::string(text_); }
  constexpr bool empty() const noexcept { return text_.empty(); }
  constexpr std::size_t size() const noexcept { return text_.size(); }
  friend constexpr bool operator==(Str a, std::string_view b) noexcept { return a.text_ == b; }
  friend constexpr bool operator!=(Str a, std::string_view b) noexcept { return a.text_ != b; }

 private:
  std::string_view text_;
};

// A file name: the host makes it absolute before it gets here.
class Path : public Str {
 public:
  using Str::Str;
};

template <class T>
class List {
 public:
  using value_type = T;
  constexpr List() noexcept = default;
  constexpr List(const T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr List(const T (&values)[N]) noexcept : data_(values), size_(N) {}  // values: a static constexpr array
  constexpr const T* begin() const noexcept { return data_; }
  constexpr const T* end() const noexcept { return data_ + size_; }
  constexpr const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Keys and values below one option, flattened: {a = 1, b = {c = 2}} has the keys "a" and "b.c".
class Table {
 public:
  constexpr Table() noexcept = default;
  constexpr Table(const belay_named_value* entries, std::size_t size) noexcept : entries_(entries), size_(size) {}
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  std::string_view key(std::size_t i) const noexcept { return detail::view(entries_[i].name); }
  const belay_value& value(std::size_t i) const noexcept { return entries_[i].value; }
  // A number or truth value as double; a text is an error that names the key.
  double number(std::size_t i) const {
    const belay_value& v = value(i);
    if (v.type == BELAY_VALUE_FLOAT) return *static_cast<const double*>(v.data);
    if (v.type == BELAY_VALUE_INT || v.type == BELAY_VALUE_BOOL)
      return static_cast<double>(*static_cast<const std::int64_t*>(v.data));
    fail(Code::kInvalidArgument, "'" + std::string(key(i)) + "' must be a number");
  }
  std::string_view text(std::size_t i) const {
    if (value(i).type != BELAY_VALUE_TEXT) fail(Code::kInvalidArgument, "'" + std::string(key(i)) + "' must be a text");
    return detail::view(*static_cast<const belay_str*>(value(i).data));
  }

 private:
  const belay_named_value* entries_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

enum class OptionType { kBool, kInt, kFloat, kString, kPath, kTable };

template <class T>
struct OptionTraits {
  static_assert(std::is_arithmetic_v<T>,
                "belay: an option is bool, an integer, a float, belay::Str, belay::Path, belay::List, belay::Table, or "
                "std::optional of one");
  static constexpr OptionType type = std::is_same_v<T, bool>       ? OptionType::kBool
                                     : std::is_floating_point_v<T> ? OptionType::kFloat
                                                                   : OptionType::kInt;
  static constexpr bool list = false;
  static constexpr bool optional = false;
  using Element = T;
};
template <>
struct OptionTraits<Str> {
  static constexpr OptionType type = OptionType::kString;
  static constexpr bool list = false, optional = false;
  using Element = Str;
};
template <>
struct OptionTraits<Path> {
  static constexpr OptionType type = OptionType::kPath;
  static constexpr bool list = false, optional = false;
  using Element = Path;
};
template <>
struct OptionTraits<Table> {
  static constexpr OptionType type = OptionType::kTable;
  static constexpr bool list = false, optional = false;
  using Element = Table;
};
template <class T>
struct OptionTraits<List<T>> {
  static constexpr OptionType type = OptionTraits<T>::type;
  static constexpr bool list = true, optional = false;
  using Element = T;
};
template <class T>
struct OptionTraits<std::optional<T>> {
  static constexpr OptionType type = OptionTraits<T>::type;
  static constexpr bool list = OptionTraits<T>::list, optional = true;
  using Element = typename OptionTraits<T>::Element;
};

}  // namespace detail

inline constexpr std::size_t kMaxChoices = 16;

// One option. The calls below refine it and can be chained.
template <class O, class T>
struct Option {
  using Owner = O;
  using Type = T;
  using Element = typename detail::OptionTraits<T>::Element;

  std::string_view name;
  T O::*member;
  std::string_view help;
  bool is_required = false;
  bool has_min = false, has_max = false;
  double min_value = 0, max_value = 0;
  std::string_view choice[kMaxChoices] = {};
  std::size_t n_choices = 0;

  // Both ends allowed; of a list: of each element.
  constexpr Option range(double lo, double hi) const { return min(lo).max(hi); }
  constexpr Option min(double lo) const {
    static_assert(std::is_arithmetic_v<Element> && !std::is_same_v<Element, bool>,
                  "belay: only numbers have a range; a text has .choices(...)");
    Option o = *this;
    o.has_min = true;
    o.min_value = lo;
    return o;
  }
  constexpr Option max(double hi) const {
    static_assert(std::is_arithmetic_v<Element> && !std::is_same_v<Element, bool>,
                  "belay: only numbers have a range; a text has .choices(...)");
    Option o = *this;
    o.has_max = true;
    o.max_value = hi;
    return o;
  }
  template <class... C>
  constexpr Option choices(const C&... texts) const {
    static_assert(std::is_same_v<Element, Str>, "belay: only texts have choices; a number has .range(lo, hi)");
    static_assert(sizeof...(C) <= kMaxChoices, "belay: at most 16 choices");
    Option o = *this;
    o.n_choices = 0;
    ((o.choice[o.n_choices++] = std::string_view(texts)), ...);
    return o;
  }
  constexpr Option required() const {
    Option o = *this;
    o.is_required = true;
    return o;
  }
};

template <class O, class T>
constexpr Option<O, T> option(std::string_view name, T O::*member, std::string_view help) {
  Option<O, T> o{};
  o.name = name;
  o.member = member;
  o.help = help;
  return o;
}

template <class... Opts>
struct About {
  std::string_view name;
  std::string_view doc;
  std::tuple<Opts...> options;
};

// name: [a-z][a-z0-9_-]{0,62}. doc: one sentence, no full stop.
template <class... Opts>
constexpr About<Opts...> about(std::string_view name, std::string_view doc, const Opts&... options) {
  return {name, doc, std::tuple<Opts...>(options...)};
}

}  // namespace v0
}  // namespace belay
