// SPDX-License-Identifier: Apache-2.0
// A plugin's options: a plain struct with defaults, and `about`, which names and explains its members. The note in the
// file, the checks before `create`, `belay describe` and the documentation are all made from that one declaration.
//
//   struct Options {
//     double max = 10;                             // double, float, bool, any signed or unsigned integer
//     belay::Str tensor = "loss";                  // string; Path: a file, relative to the manifest, ${NAME} replaced
//     belay::List<std::int64_t> hidden;            // lists of bool, integers, doubles, Str or Path
//     std::optional<std::int64_t> every_n_steps;   // may stay unset
//     belay::Table feeds;                          // any keys below this one
//   };
//   static constexpr auto about = belay::about("loss_ceiling", "Stops the run when a tensor rises above a limit",
//       belay::option("max", &Options::max, "stop above this").range(0, 1e30),
//       belay::option("tensor", &Options::tensor, "scalar to watch"));
//
// `.example(value)` has `belay describe` and `belay validate` use a value that works, `.watching()` says that it
// changes no number of the training, and keys below a Table are declared by their path (Nested).
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
  // A number or boolean as double; a string is an error that names the key.
  double number(std::size_t i) const {
    const belay_value& v = value(i);
    if (v.type == BELAY_VALUE_FLOAT) return *static_cast<const double*>(v.data);
    if (v.type == BELAY_VALUE_INT || v.type == BELAY_VALUE_BOOL)
      return static_cast<double>(*static_cast<const std::int64_t*>(v.data));
    fail(Code::kInvalidArgument, "'" + std::string(key(i)) + "' must be a number");
  }
  std::string_view text(std::size_t i) const {
    if (value(i).type != BELAY_VALUE_TEXT)
      fail(Code::kInvalidArgument, "'" + std::string(key(i)) + "' must be a string");
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
inline constexpr std::size_t kMaxExamples = 8;

// What the declarations of options have in common. The calls refine one and can be chained.
template <class Self, class T>
struct Declaration {
  using Type = T;
  using Element = typename detail::OptionTraits<T>::Element;
  static constexpr bool is_list = detail::OptionTraits<T>::list;
  static constexpr bool is_number = std::is_arithmetic_v<Element> && !std::is_same_v<Element, bool>;
  // Of a table: TOML.
  using Example = std::conditional_t<std::is_arithmetic_v<Element>, Element, std::string_view>;

  std::string_view name;
  std::string_view help;
  bool is_required = false;
  bool is_watching = false;
  bool is_learned = false;
  bool has_min = false, has_max = false;
  double min_value = 0, max_value = 0;
  std::string_view choice[kMaxChoices] = {};
  std::size_t n_choices = 0;
  Example example_value[kMaxExamples] = {};  // of a list: its elements
  std::size_t n_examples = 0;
  std::string_view example_contents;

  // Both ends allowed; of a list: of each element.
  constexpr Self range(double lo, double hi) const { return min(lo).max(hi); }
  constexpr Self min(double lo) const {
    static_assert(is_number, "belay: only numbers have a range; a string has .choices(...)");
    Self o = self();
    o.has_min = true;
    o.min_value = lo;
    return o;
  }
  constexpr Self max(double hi) const {
    static_assert(is_number, "belay: only numbers have a range; a string has .choices(...)");
    Self o = self();
    o.has_max = true;
    o.max_value = hi;
    return o;
  }
  template <class... C>
  constexpr Self choices(const C&... texts) const {
    static_assert(std::is_same_v<Element, Str>, "belay: only strings have choices; a number has .range(lo, hi)");
    static_assert(sizeof...(C) <= kMaxChoices, "belay: at most 16 choices");
    Self o = self();
    o.n_choices = 0;
    ((o.choice[o.n_choices++] = std::string_view(texts)), ...);
    return o;
  }
  constexpr Self required() const {
    Self o = self();
    o.is_required = true;
    return o;
  }
  // No value of it changes a number of the training: the period of a log, the name of an output file. An option that is
  // not marked counts as one that may.
  constexpr Self watching() const {
    Self o = self();
    o.is_watching = true;
    return o;
  }
  // Of an input: it decides what the batches hold, such as a scale or the chosen columns. Other inputs of the model
  // that do not set it have the training's value; the host keeps that with the model.
  constexpr Self learned() const {
    Self o = self();
    o.is_learned = true;
    return o;
  }
  // What a user might write: `belay describe` shows it, `belay validate` tries it. Of a List its elements, of a Table
  // the table as TOML has it: .example("{ loss = 1.0 }").
  template <class... V>
  constexpr Self example(const V&... values) const {
    static_assert(sizeof...(V) >= 1 && (sizeof...(V) == 1 || is_list) && (is_example<V>() && ...),
                  "belay: an example is a value of the option's own type; of a List the elements, .example(1, 2); of a "
                  "Table its TOML, .example(\"{ key = 1 }\")");
    static_assert(sizeof...(V) <= kMaxExamples, "belay: at most 8 elements in an example");
    Self o = self();
    o.n_examples = 0;
    if constexpr ((is_example<V>() && ...)) ((o.example_value[o.n_examples++] = static_cast<Example>(values)), ...);
    return o;
  }
  // Of a path to a file that is read: the example's name, and the file's bytes, which `belay validate` writes there.
  template <std::size_t N>
  constexpr Self example_file(std::string_view file_name, const char (&contents)[N]) const {
    static_assert(std::is_same_v<Element, Path>, "belay: only a path has an example file; others have .example(...)");
    Self o = self();
    if constexpr (std::is_same_v<Element, Path>) o.example_value[0] = file_name;
    o.n_examples = 1;
    o.example_contents = std::string_view(contents, N - 1);
    return o;
  }

 private:
  constexpr const Self& self() const { return static_cast<const Self&>(*this); }
  template <class V>
  static constexpr bool is_example() {
    if constexpr (std::is_same_v<Element, bool>) return std::is_same_v<V, bool>;
    if constexpr (std::is_floating_point_v<Element>) return std::is_arithmetic_v<V> && !std::is_same_v<V, bool>;
    if constexpr (std::is_integral_v<Element>) return std::is_integral_v<V> && !std::is_same_v<V, bool>;
    return std::is_convertible_v<const V&, std::string_view>;
  }
};

// A member of Options.
template <class O, class T>
struct Option : Declaration<Option<O, T>, T> {
  using Owner = O;
  T O::*member = nullptr;
};

template <class O, class T>
constexpr Option<O, T> option(std::string_view name, T O::*member, std::string_view help) {
  Option<O, T> o{};
  o.name = name;
  o.member = member;
  o.help = help;
  return o;
}

// A key below a Table option, which the class itself reads from the Table; a Table with one such declaration has no
// other keys. Its name is a path from the table: `[]` is each element of a list of tables, `*` each key, however it is
// called.
//
//   belay::option("layers", &Options::layers, "one after the other"),                        // a belay::Table
//   belay::option<belay::Str>("layers[].type", "what it is").choices("dense", "flatten").required(),
//   belay::option<std::int64_t>("layers[].units", "numbers that it returns").min(1).required().when("type", "dense"),
template <class T>
struct Nested : Declaration<Nested<T>, T> {
  T default_value = {};
  bool has_default = false;
  bool is_single = false;
  std::string_view when_key;
  std::string_view when_value[kMaxChoices] = {};
  std::size_t n_when = 0;

  // What its absence means, for readers.
  constexpr Nested by_default(const T& value) const {
    Nested o = *this;
    o.default_value = value;
    o.has_default = true;
    return o;
  }
  // One value without brackets may be given in place of a list; the Table has it as it was given.
  constexpr Nested or_single() const {
    static_assert(Nested::is_list, "belay: .or_single() is for a belay::List");
    Nested o = *this;
    o.is_single = true;
    return o;
  }
  // It belongs to those tables alone whose `key` has one of these values. The same path may be declared once more for
  // other values.
  template <class... V>
  constexpr Nested when(std::string_view key, const V&... values) const {
    static_assert(sizeof...(V) >= 1 && sizeof...(V) <= kMaxChoices, "belay: .when(key, values...) has 1 to 16 values");
    Nested o = *this;
    o.when_key = key;
    o.n_when = 0;
    ((o.when_value[o.n_when++] = std::string_view(values)), ...);
    return o;
  }
};

template <class T>
constexpr Nested<T> option(std::string_view name, std::string_view help) {
  Nested<T> o{};
  o.name = name;
  o.help = help;
  return o;
}

template <class... Opts>
struct About {
  std::string_view name;
  std::string_view doc;
  std::tuple<Opts...> options;
};

namespace detail {

template <class Opt>
constexpr std::tuple<Opt> option_list(const Opt& option) {
  return std::tuple<Opt>(option);
}
template <class... Opts>
constexpr std::tuple<Opts...> option_list(const std::tuple<Opts...>& options) {
  return options;
}
template <class... Opts>
constexpr About<Opts...> about_options(std::string_view name, std::string_view doc,
                                       const std::tuple<Opts...>& options) {
  return {name, doc, options};
}

}  // namespace detail

// name: [a-z][a-z0-9_-]{0,62}. doc: one sentence, no full stop. options: each an option(...), or a std::tuple of
// several that plugins share, such as batch_options<Options>().
template <class... Opts>
constexpr auto about(std::string_view name, std::string_view doc, const Opts&... options) {
  return detail::about_options(name, doc, std::tuple_cat(detail::option_list(options)...));
}

}  // namespace v0
}  // namespace belay
