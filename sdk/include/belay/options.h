// SPDX-License-Identifier: Apache-2.0
// A plugin's options: a plain struct with defaults, and `about`, which names and explains its members. One declaration
// is the source of the note in the file, the host's checks, `belay describe` and the documentation.
//
//   struct Options {
//     double max = 10;                             // double, float, bool, any signed or unsigned integer
//     belay::Str tensor = "loss";                  // string; Path: a file, relative to the manifest, ${NAME} replaced
//     belay::List<std::int64_t> hidden;            // lists of bool, integers, doubles, Str or Path
//     std::optional<std::int64_t> every_n_steps;   // may stay unset
//     belay::Table feeds;                          // any keys below this one
//   };
//   static constexpr auto about = belay::about("loss_ceiling", "Stops the run when a tensor rises above a limit",
//       belay::option("max", &Options::max, "largest allowed value").range(0, 1e30),
//       belay::option("tensor", &Options::tensor, "name of the scalar to watch"));
//
// The plugin takes the options in its constructor. A manifest sets them in the plugin's table, next to keys of the
// host:
//
//   explicit LossCeiling(const Options& options) : options_(options) {}
//
//   [[hooks]]
//   plugin = "loss_ceiling"
//   max = 2.5
//   hidden = [64, 32]
//   feeds = { "dropout/rate" = 0.0 }
//
// A declaration is refined by calls that can be chained:
//
//   .range(0, 1)  .min(1)  .max(9)    bounds of a number
//   .choices("adam", "sgd")           allowed strings
//   .required()                       the manifest must set it
//   .example(0.5)                     a working value for `belay describe` and `belay validate`
//   .watching()                       it changes no number of the training
//   .learned()                        other inputs of the model take it from the training's input
//
// Options must be default-constructible at compile time. Str, Path, List and Table borrow. They are valid as long as
// the plugin instance that was created with them, so a plugin may keep its Options as a member.
//
// Errors. The host checks names, types, ranges, choices and required options from the note, before it runs plugin code.
// It reports them with the manifest's line. The SDK checks them again before the constructor: INVALID_ARGUMENT with the
// option's name. So a constructor sees valid values only. It refuses wrong combinations with
// fail(Code::kInvalidArgument, ...). A wrong declaration does not compile; the first error begins with "belay:".
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

// A string option: a view that an Options struct can have as a member at compile time. It converts to std::string_view
// implicitly and to std::string explicitly. It is not NUL-terminated.
class Str {
 public:
  constexpr Str() noexcept = default;
  // For defaults: a string literal. Other characters must outlive the Str.
  constexpr Str(const char* text) noexcept : text_(text) {}
  // Borrows the characters, which must outlive the Str.
  constexpr explicit Str(std::string_view text) noexcept : text_(text) {}
  // The characters as a view, valid as long as the characters.
  constexpr std::string_view view() const noexcept { return text_; }
  constexpr operator std::string_view() const noexcept { return text_; }
  explicit operator std::string() const { return std::string(text_); }
  // Returns a copy, to keep or to change.
  std::string string() const { return std::string(text_); }
  constexpr bool empty() const noexcept { return text_.empty(); }
  constexpr std::size_t size() const noexcept { return text_.size(); }
  // Compares the characters.
  friend constexpr bool operator==(Str a, std::string_view b) noexcept { return a.text_ == b; }
  friend constexpr bool operator!=(Str a, std::string_view b) noexcept { return a.text_ != b; }

 private:
  std::string_view text_;
};

// A file name. The host makes it absolute by the manifest's folder, and replaces ${NAME} by environment variables,
// before the plugin gets it. A default in the source is not changed: make it absolute or empty.
class Path : public Str {
 public:
  using Str::Str;
};

// A list option. It borrows its elements: bool, an integer, a floating-point number, Str or Path. Range and choices of
// its declaration apply to each element.
template <class T>
class List {
 public:
  using value_type = T;
  constexpr List() noexcept = default;
  // Borrows `size` elements at `data`, which must outlive the List.
  constexpr List(const T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  // Makes the default of an option: `values` is a static constexpr array.
  template <std::size_t N>
  constexpr List(const T (&values)[N]) noexcept : data_(values), size_(N) {}
  // Iterates over the elements in the manifest's order.
  constexpr const T* begin() const noexcept { return data_; }
  constexpr const T* end() const noexcept { return data_ + size_; }
  // Element i, 0 <= i < size(). The index is not checked.
  constexpr const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  // Number of elements.
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

// The keys and values below one option, flattened. {a = 1, b = {c = 2}} has the keys "a" and "b.c", and an element of a
// list of tables has its index: "0.units". It has only the keys of the manifest; the class applies defaults itself.
//
//   for (std::size_t i = 0; i < options.feeds.size(); ++i)
//     feeds_[std::string(options.feeds.key(i))] = options.feeds.number(i);
class Table {
 public:
  constexpr Table() noexcept = default;
  constexpr Table(const belay_named_value* entries, std::size_t size) noexcept : entries_(entries), size_(size) {}
  // Number of values.
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  // Key of value i, and the value as it crosses the boundary (belay_value), 0 <= i < size(). The index is not checked.
  std::string_view key(std::size_t i) const noexcept { return detail::view(entries_[i].name); }
  const belay_value& value(std::size_t i) const noexcept { return entries_[i].value; }
  // Returns a number or boolean as double. INVALID_ARGUMENT, with the key: it is a string.
  double number(std::size_t i) const {
    const belay_value& v = value(i);
    if (v.type == BELAY_VALUE_FLOAT) return *static_cast<const double*>(v.data);
    if (v.type == BELAY_VALUE_INT || v.type == BELAY_VALUE_BOOL)
      return static_cast<double>(*static_cast<const std::int64_t*>(v.data));
    fail(Code::kInvalidArgument, "'" + std::string(key(i)) + "' must be a number");
  }
  // Returns a string, valid as long as the Table. INVALID_ARGUMENT, with the key: it is not a string.
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

// The types of options in a note. Lists have the type of their elements.
enum class OptionType { kBool, kInt, kFloat, kString, kPath, kTable };

// Maps the C++ type of a member to the option's type. A type that is not listed here does not compile. list: the member
// is a List; optional: it is a std::optional; Element: the type of one element.
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
// A string.
template <>
struct OptionTraits<Str> {
  static constexpr OptionType type = OptionType::kString;
  static constexpr bool list = false, optional = false;
  using Element = Str;
};
// A path, which the host makes absolute.
template <>
struct OptionTraits<Path> {
  static constexpr OptionType type = OptionType::kPath;
  static constexpr bool list = false, optional = false;
  using Element = Path;
};
// A table with any keys.
template <>
struct OptionTraits<Table> {
  static constexpr OptionType type = OptionType::kTable;
  static constexpr bool list = false, optional = false;
  using Element = Table;
};
// A list has the type of its elements.
template <class T>
struct OptionTraits<List<T>> {
  static constexpr OptionType type = OptionTraits<T>::type;
  static constexpr bool list = true, optional = false;
  using Element = T;
};
// An optional option has the type of its value; without a value in the manifest it stays empty.
template <class T>
struct OptionTraits<std::optional<T>> {
  static constexpr OptionType type = OptionTraits<T>::type;
  static constexpr bool list = OptionTraits<T>::list, optional = true;
  using Element = typename OptionTraits<T>::Element;
};

}  // namespace detail

// Most strings in choices(), and most values in when().
inline constexpr std::size_t kMaxChoices = 16;
// Most elements in example() of a list.
inline constexpr std::size_t kMaxExamples = 8;

// The common part of Option and Nested: name, help and constraints. Each call below returns a changed copy, so calls
// can be chained in a constant expression.
template <class Self, class T>
struct Declaration {
  using Type = T;
  using Element = typename detail::OptionTraits<T>::Element;
  static constexpr bool is_list = detail::OptionTraits<T>::list;
  static constexpr bool is_number = std::is_arithmetic_v<Element> && !std::is_same_v<Element, bool>;
  // Type of an example's elements. A table's example is its TOML as a string.
  using Example = std::conditional_t<std::is_arithmetic_v<Element>, Element, std::string_view>;

  std::string_view name;     // name of the option: letters, digits, _ and -
  std::string_view help;     // noun phrase that explains the value
  bool is_required = false;  // set by required()
  bool is_watching = false;  // set by watching()
  bool is_learned = false;   // set by learned()
  bool has_min = false, has_max = false;
  double min_value = 0, max_value = 0;        // bounds of a number, if has_min and has_max
  std::string_view choice[kMaxChoices] = {};  // allowed strings; n_choices of them
  std::size_t n_choices = 0;
  Example example_value[kMaxExamples] = {};  // elements of a list's example
  std::size_t n_examples = 0;
  std::string_view example_contents;  // bytes of an example file

  // Sets the bounds of a number, or of each element of a list. Both bounds are allowed values; NaN is not.
  constexpr Self range(double lo, double hi) const { return min(lo).max(hi); }
  // Sets the lower bound alone: lo is the smallest allowed value.
  constexpr Self min(double lo) const {
    static_assert(is_number, "belay: only numbers have a range; a string has .choices(...)");
    Self o = self();
    o.has_min = true;
    o.min_value = lo;
    return o;
  }
  // Sets the upper bound alone: hi is the largest allowed value.
  constexpr Self max(double hi) const {
    static_assert(is_number, "belay: only numbers have a range; a string has .choices(...)");
    Self o = self();
    o.has_max = true;
    o.max_value = hi;
    return o;
  }
  // Allowed strings, at most 16; for a list each element. Another string is an error that lists the choices.
  template <class... C>
  constexpr Self choices(const C&... texts) const {
    static_assert(std::is_same_v<Element, Str>, "belay: only strings have choices; a number has .range(lo, hi)");
    static_assert(sizeof...(C) <= kMaxChoices, "belay: at most 16 choices");
    Self o = self();
    o.n_choices = 0;
    ((o.choice[o.n_choices++] = std::string_view(texts)), ...);
    return o;
  }
  // The manifest must set the option.
  constexpr Self required() const {
    Self o = self();
    o.is_required = true;
    return o;
  }
  // Marks an option whose value changes no number of the training, such as the period of a log or the name of an output
  // file. An option without this mark may change one.
  constexpr Self watching() const {
    Self o = self();
    o.is_watching = true;
    return o;
  }
  // Marks an option of an input that decides the contents of the batches, such as a scale or the chosen columns. Other
  // inputs of the model that do not set it get the training's value. The host keeps that value with the model.
  constexpr Self learned() const {
    Self o = self();
    o.is_learned = true;
    return o;
  }
  // Sets a value that a user might write. `belay describe` shows it, and `belay validate` tries it. A List's example
  // has its elements; a Table's example is its TOML: .example("{ loss = 1.0 }").
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
  // For a path to a file that the plugin reads: the example's file name, and the file's bytes. `belay validate` writes
  // such a file.
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
  // The declaration as its own type.
  constexpr const Self& self() const { return static_cast<const Self&>(*this); }
  // True if V can be an example of this option's type. Numbers convert between integer and floating point, but a bool
  // stays a bool.
  template <class V>
  static constexpr bool is_example() {
    if constexpr (std::is_same_v<Element, bool>) return std::is_same_v<V, bool>;
    if constexpr (std::is_floating_point_v<Element>) return std::is_arithmetic_v<V> && !std::is_same_v<V, bool>;
    if constexpr (std::is_integral_v<Element>) return std::is_integral_v<V> && !std::is_same_v<V, bool>;
    return std::is_convertible_v<const V&, std::string_view>;
  }
};

// The declaration of one member of Options. The member's initial value is the default; std::optional has none.
template <class O, class T>
struct Option : Declaration<Option<O, T>, T> {
  using Owner = O;
  T O::*member = nullptr;
  bool is_single = false;  // set by or_single() and or_list()

  // Also allows one value without brackets in place of a list. The List then has that one value.
  constexpr Option or_single() const {
    static_assert(Option::is_list, "belay: .or_single() is for a belay::List");
    Option o = *this;
    o.is_single = true;
    return o;
  }
  // Also allows a list of strings, or one string, in place of a table without declared keys. Its elements have the keys
  // "[0]", "[1]", ...
  constexpr Option or_list() const {
    static_assert(std::is_same_v<T, Table>, "belay: .or_list() is for a belay::Table");
    Option o = *this;
    o.is_single = true;
    return o;
  }
};

// Declares the member under `name`. `help` is a noun phrase that explains the value to a user without context.
template <class O, class T>
constexpr Option<O, T> option(std::string_view name, T O::*member, std::string_view help) {
  Option<O, T> o{};
  o.name = name;
  o.member = member;
  o.help = help;
  return o;
}

// The declaration of a key below a Table option; the class itself reads its value from the Table. A Table with such a
// declaration has no other keys. The name is a path from the table: `[]` is each element of a list of tables, `*` each
// key, with any name.
//
//   belay::option("layers", &Options::layers, "layers in order"),                               // a belay::Table
//   belay::option<belay::Str>("layers[].type", "type of the layer").choices("dense", "flatten").required(),
//   belay::option<std::int64_t>("layers[].units", "number of outputs").min(1).required().when("type", "dense"),
template <class T>
struct Nested : Declaration<Nested<T>, T> {
  T default_value = {};  // shown to readers; the class applies it
  bool has_default = false;
  bool is_single = false;     // set by or_single()
  std::string_view when_key;  // the key and its values from when()
  std::string_view when_value[kMaxChoices] = {};
  std::size_t n_when = 0;

  // States the value that the class uses if the key is absent. It is for readers: the class applies it itself.
  constexpr Nested by_default(const T& value) const {
    Nested o = *this;
    o.default_value = value;
    o.has_default = true;
    return o;
  }
  // Also allows one value without brackets in place of a list. The Table then has that one value.
  constexpr Nested or_single() const {
    static_assert(Nested::is_list, "belay: .or_single() is for a belay::List");
    Nested o = *this;
    o.is_single = true;
    return o;
  }
  // Limits the key to tables whose `key` has one of these values, at most 16. The same path may be declared again for
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

// Declares a key below a Table. T is its type, one of those that a member can have.
template <class T>
constexpr Nested<T> option(std::string_view name, std::string_view help) {
  Nested<T> o{};
  o.name = name;
  o.help = help;
  return o;
}

// The description of a plugin class: its name, one sentence, and its options in the order of the documentation.
template <class... Opts>
struct About {
  std::string_view name;  // name in the manifest, unique per kind in the library
  std::string_view doc;   // one sentence without a full stop
  std::tuple<Opts...> options;
};

namespace detail {

// A single declaration becomes a tuple; a tuple stays as it is.
template <class Opt>
constexpr std::tuple<Opt> option_list(const Opt& option) {
  return std::tuple<Opt>(option);
}
template <class... Opts>
constexpr std::tuple<Opts...> option_list(const std::tuple<Opts...>& options) {
  return options;
}
// Moves the joined tuple into an About.
template <class... Opts>
constexpr About<Opts...> about_options(std::string_view name, std::string_view doc,
                                       const std::tuple<Opts...>& options) {
  return {name, doc, options};
}

}  // namespace detail

// Describes a plugin class. name: [a-z][a-z0-9_-]{0,62}. doc: one sentence without a full stop. options: each an
// option(...), or a std::tuple of several that plugins share, such as batch_options<Options>(). Their order is the
// order in `belay describe`.
template <class... Opts>
constexpr auto about(std::string_view name, std::string_view doc, const Opts&... options) {
  return detail::about_options(name, doc, std::tuple_cat(detail::option_list(options)...));
}

}  // namespace v0
}  // namespace belay
