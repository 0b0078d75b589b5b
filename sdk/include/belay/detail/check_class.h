// SPDX-License-Identifier: Apache-2.0
// The compile-time checks of a BELAY_MODULE line and of each class in it. Every mistake is one static_assert that
// states the fix. Code that would fail because of the mistake is left out. So the compiler's first error is that
// assertion.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "belay/detail/callbacks.h"
#include "belay/detail/nested_name.h"
#include "belay/detail/note.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {
namespace detail {

template <class T>
constexpr int kind_of() {
  if constexpr (std::is_convertible_v<T*, Hook*>) return BELAY_KIND_HOOK;
  if constexpr (std::is_convertible_v<T*, Saver*>) return BELAY_KIND_SAVER;
  if constexpr (std::is_convertible_v<T*, InitFn*>) return BELAY_KIND_INIT_FN;
  if constexpr (std::is_convertible_v<T*, Model*>) return BELAY_KIND_MODEL;
  if constexpr (std::is_convertible_v<T*, Input*>) return BELAY_KIND_INPUT;
  if constexpr (std::is_convertible_v<T*, Op*>) return BELAY_KIND_OP;
  if constexpr (std::is_convertible_v<T*, Optimizer*>) return BELAY_KIND_OPTIMIZER;
  if constexpr (std::is_convertible_v<T*, Schedule*>) return BELAY_KIND_SCHEDULE;
  if constexpr (std::is_convertible_v<T*, Exporter*>) return BELAY_KIND_EXPORTER;
  if constexpr (std::is_convertible_v<T*, Cluster*>) return BELAY_KIND_CLUSTER;
  return 0;
}
constexpr std::string_view kind_name(int kind) {
  switch (kind) {
    case BELAY_KIND_HOOK: return "hook";
    case BELAY_KIND_SAVER: return "saver";
    case BELAY_KIND_INIT_FN: return "init_fn";
    case BELAY_KIND_MODEL: return "model";
    case BELAY_KIND_INPUT: return "input";
    case BELAY_KIND_OP: return "op";
    case BELAY_KIND_OPTIMIZER: return "optimizer";
    case BELAY_KIND_SCHEDULE: return "schedule";
    case BELAY_KIND_EXPORTER: return "exporter";
    case BELAY_KIND_CLUSTER: return "cluster";
    default: return "";
  }
}

// The host's keys in [cluster].
constexpr bool is_cluster_key(std::string_view name) {
  return name == "timeout_secs" || name == "max_wait_secs" || name == "wire" || name == "bucket_mib" ||
         name == "on_lost_rank" || name == "min_ranks";
}

// [a-z][a-z0-9_-]*, or two such names with a dot between: VENDOR.NAME. At most 63 characters.
constexpr bool is_plugin_name(std::string_view name) {
  if (name.empty() || name.size() > 63) return false;
  int dots = 0;
  bool begins = true;  // of a name, or of the part after the vendor's dot
  for (const char c : name) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool follows = !begins && ((c >= '0' && c <= '9') || c == '_' || c == '-');
    const bool dot = !begins && c == '.';
    if (!letter && !follows && !dot) return false;
    dots += dot ? 1 : 0;
    begins = dot;
  }
  return !begins && dots <= 1;
}
// The keys that a manifest reserves in a plugin's table; later ones will begin with "host_". The options of an op are
// attributes, not keys there.
constexpr bool is_reserved_option(std::string_view kind, std::string_view name) {
  if (kind == kind_name(BELAY_KIND_OP)) return false;
  if (kind == kind_name(BELAY_KIND_EXPORTER) && (name == "when" || name == "keep" || name == "signature")) return true;
  if (kind == kind_name(BELAY_KIND_CLUSTER) && is_cluster_key(name)) return true;
  return name.substr(0, 5) == "host_" || name == "plugin" || name == "file" || name == "name" || name == "on_error" ||
         (name == "prefetch" && kind == kind_name(BELAY_KIND_INPUT));
}

// It is used in declarations of functions, as in callbacks.h.
template <class... Opts>
constexpr bool is_about(const About<Opts...>&) {
  return true;
}
template <class T>
std::bool_constant<is_about(T::about) && T::about.name.data() != nullptr> constant_about(int);
template <class T>
std::false_type constant_about(...);
template <class T>
std::bool_constant<((void)T::traits.raw(), true)> constant_traits(int);
template <class T>
std::false_type constant_traits(...);
template <class O>
std::bool_constant<((void)O{}, true)> constant_defaults(int);
template <class O>
std::false_type constant_defaults(...);

template <class T>
constexpr bool check_traits() {
  constexpr bool constant = decltype(constant_traits<T>(0))::value;
  static_assert(constant,
                "belay: the traits of an op are a public `static constexpr auto traits = belay::OpTraits();`");
  return constant;
}
// Checks the callbacks that every class of its kind needs. The others are checked when its table is made.
template <class T>
constexpr bool check_callbacks() {
  constexpr int kind = kind_of<T>();
  if constexpr (kind == BELAY_KIND_SAVER) return has_Saver_write<T>() && has_Saver_read<T>();
  if constexpr (kind == BELAY_KIND_INIT_FN) return has_InitFn_run<T>();
  if constexpr (kind == BELAY_KIND_MODEL) return has_Model_build<T>();
  if constexpr (kind == BELAY_KIND_INPUT)
    return has_Input_spec<T>() && has_Input_open<T>() && has_Input_next<T>() && has_Input_seek<T>();
  if constexpr (kind == BELAY_KIND_OPTIMIZER) return has_Optimizer_apply<T>();
  if constexpr (kind == BELAY_KIND_SCHEDULE) return has_Schedule_build<T>();
  if constexpr (kind == BELAY_KIND_EXPORTER) return has_Exporter_write<T>();
  if constexpr (kind == BELAY_KIND_CLUSTER)
    return has_Cluster_open<T>() && has_Cluster_barrier<T>() && has_Cluster_broadcast<T>() &&
           has_Cluster_all_reduce<T>() && has_Cluster_all_gather<T>() && has_Cluster_send<T>() &&
           has_Cluster_receive<T>() && has_Cluster_split<T>();
  if constexpr (kind == BELAY_KIND_OP) return has_Op_infer<T>() && has_Op_run<T>() && check_traits<T>();
  return true;
}

// True if a value satisfies the option's own range and choices. A manifest could not set any other value.
template <class O, class V>
constexpr bool value_fits(const O& o, const V& v) {
  if constexpr (std::is_arithmetic_v<V>) {
    // A float is compared as a float: 0.3f is not above 0.3.
    using T = std::conditional_t<std::is_same_v<V, float>, float, double>;
    return !(o.has_min && !(static_cast<T>(v) >= static_cast<T>(o.min_value))) &&
           !(o.has_max && !(static_cast<T>(v) <= static_cast<T>(o.max_value)));
  } else if constexpr (std::is_convertible_v<V, std::string_view>) {
    bool known = o.n_choices == 0;
    for (std::size_t i = 0; i < o.n_choices; ++i) known = known || o.choice[i] == std::string_view(v);
    return known;
  } else {
    return true;
  }
}
template <class O, class V>
constexpr bool value_fits(const O& o, const std::optional<V>& v) {
  return !v.has_value() || value_fits(o, *v);
}
template <class O, class V>
constexpr bool value_fits(const O& o, const List<V>& values) {
  for (const V& v : values)
    if (!value_fits(o, v)) return false;
  return true;
}
template <class D>
constexpr bool example_fits(const D& o) {
  for (std::size_t i = 0; i < o.n_examples; ++i)
    if (!value_fits(o, o.example_value[i])) return false;
  return true;
}

template <class D>
inline constexpr bool is_nested = false;
template <class T>
inline constexpr bool is_nested<Nested<T>> = true;

// The parts of an option that the checks compare within a class.
struct OptionSketch {
  std::string_view name;
  bool is_table;
  bool is_text;
  std::string_view when_key;  // empty: always
  const std::string_view* when = nullptr;
  std::size_t n_when = 0;
  const std::string_view* choices = nullptr;
  std::size_t n_choices = 0;
};
template <class D>
constexpr OptionSketch sketch_of(const D& o) {
  using Type = typename D::Type;
  OptionSketch s{o.name, std::is_same_v<Type, Table>, std::is_same_v<Type, Str>, {}};
  s.choices = o.choice, s.n_choices = o.n_choices;
  if constexpr (is_nested<D>) s.when_key = o.when_key, s.when = o.when_value, s.n_when = o.n_when;
  return s;
}
constexpr bool among(std::string_view value, const std::string_view* all, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (all[i] == value) return true;
  return false;
}
// True if no table can have both options.
constexpr bool exclude_each_other(const OptionSketch& a, const OptionSketch& b) {
  if (a.n_when == 0 || b.n_when == 0 || a.when_key != b.when_key) return false;
  for (std::size_t i = 0; i < a.n_when; ++i)
    if (among(a.when[i], b.when, b.n_when)) return false;
  return true;
}

template <class T, class All>
struct Sketches;
template <class T, std::size_t... I>
struct Sketches<T, std::index_sequence<I...>> {
  static constexpr OptionSketch all[sizeof...(I)] = {sketch_of(std::get<I>(T::about.options))...};

  // True if an earlier option of the class has the name of option `index`.
  static constexpr bool is_doubled(std::size_t index) {
    for (std::size_t i = 0; i < index; ++i)
      if (all[i].name == all[index].name && !exclude_each_other(all[i], all[index])) return true;
    return false;
  }
  static constexpr bool has_table_before(std::size_t index) {
    for (std::size_t i = 0; i < index; ++i)
      if (all[i].is_table && all[i].name == option_of(all[index].name)) return true;
    return false;
  }
  static constexpr bool when_is_there(std::size_t index) {
    const OptionSketch& o = all[index];
    if (o.n_when == 0) return true;
    for (const OptionSketch& other : all) {
      if (!other.is_text || !is_nested_name(other.name) || table_of(other.name) != table_of(o.name) ||
          key_of(other.name) != o.when_key)
        continue;
      for (std::size_t i = 0; i < o.n_when; ++i)
        if (!among(o.when[i], other.choices, other.n_choices)) return false;
      return true;
    }
    return false;
  }
};

// Checks a key below a table.
template <class T, std::size_t Index, class All>
constexpr bool check_nested() {
  constexpr auto o = std::get<Index>(T::about.options);
  constexpr bool named = is_nested_name(o.name);
  static_assert(named,
                "belay: without a member an option is nested, and its name is a path below a belay::Table: "
                "\"layers[].units\", \"features.*.dtype\"");
  if constexpr (named) {
    constexpr bool below = Sketches<T, All>::has_table_before(Index);
    static_assert(
        below,
        "belay: a nested option lies below a belay::Table: declare that option before it, by the path's first "
        "name");
    constexpr bool single = !Sketches<T, All>::is_doubled(Index);
    static_assert(single, "belay: two options of this class have one name: rename one of them");
    constexpr bool when = Sketches<T, All>::when_is_there(Index);
    static_assert(when,
                  "belay: .when(key, values...) names a belay::Str in the same table, declared as an option, and some "
                  "of its choices");
    constexpr bool fits = !o.has_default || value_fits(o, o.default_value);
    static_assert(fits, "belay: an option's default breaks its own range or choices");
    constexpr bool example = example_fits(o);
    static_assert(example, "belay: an option's example breaks its own range or choices");
    return below && single && when && fits && example;
  }
  return false;
}

template <class T, std::size_t Index, class All>
constexpr bool check_member() {
  constexpr auto o = std::get<Index>(T::about.options);
  using Options = typename OptionsOf<T>::type;
  using Owner = typename decltype(o)::Owner;
  using Element = typename decltype(o)::Element;
  constexpr bool known =  // belay::option refuses other types
      std::is_arithmetic_v<Element> || std::is_base_of_v<Str, Element> || std::is_same_v<Element, Table>;
  constexpr bool named = is_option_name(o.name);
  static_assert(named, "belay: an option's name consists of letters, digits, '_' and '-'");
  constexpr bool single = !Sketches<T, All>::is_doubled(Index);
  static_assert(single, "belay: two options of this class have one name: rename one of them");
  constexpr bool reserved = is_reserved_option(kind_name(kind_of<T>()), o.name);
  static_assert(
      !reserved,
      "belay: plugin, file, name, on_error, host_... and, of an input, prefetch are the manifest's own keys in a "
      "plugin's table, of an exporter when, keep and signature, too, of a cluster timeout_secs, max_wait_secs, wire, "
      "bucket_mib, on_lost_rank and min_ranks: give the option another name");
  constexpr bool member = std::is_same_v<Owner, Options>;
  static_assert(member,
                "belay: an option is a member of the class's own public `struct Options`: call the struct Options");
  if constexpr (known && named && single && !reserved && member) {
    constexpr Options defaults{};
    constexpr bool fits = o.is_required || value_fits(o, defaults.*(o.member));
    static_assert(fits, "belay: an option's default breaks its own range or choices; a std::optional may stay unset");
    constexpr bool example = example_fits(o);
    static_assert(example, "belay: an option's example breaks its own range or choices");
    return fits && example;
  }
  return false;
}

// Checks one option. The compiler's message identifies the option by its number, Index.
template <class T, std::size_t Index, class All>
constexpr bool check_option() {
  if constexpr (is_nested<std::tuple_element_t<Index, decltype(T::about.options)>>)
    return check_nested<T, Index, All>();
  else
    return check_member<T, Index, All>();
}
template <class T, std::size_t... Index>
constexpr bool check_options(std::index_sequence<Index...> all) {
  return (check_option<T, Index, decltype(all)>() && ...);
}

template <class T>
constexpr bool check_about() {
  constexpr bool constant = decltype(constant_about<T>(0))::value;
  static_assert(constant,
                "belay: a plugin class has a public `static constexpr auto about = belay::about(\"name\", \"what it "
                "does\");`");
  if constexpr (constant) {
    constexpr bool named = is_plugin_name(T::about.name);
    static_assert(named, "belay: a plugin's name is [a-z][a-z0-9_-]{0,62}, or VENDOR.NAME of two such");
    constexpr bool defaults = decltype(constant_defaults<typename OptionsOf<T>::type>(0))::value;
    static_assert(defaults,
                  "belay: the members of Options have defaults that the compiler can compute: belay::Str, not "
                  "std::string; belay::List, not std::vector");
    if constexpr (named && defaults)
      return check_options<T>(std::make_index_sequence<std::tuple_size_v<decltype(T::about.options)>>());
  }
  return false;
}

template <class T>
constexpr bool check_constructor() {
  static_assert(!std::is_abstract_v<T>,
                "belay: the class is abstract: override every pure virtual function of its bases");
  constexpr bool constructible =
      std::is_constructible_v<T, const typename OptionsOf<T>::type&> || std::is_default_constructible_v<T>;
  static_assert(constructible || std::is_abstract_v<T>,
                "belay: a plugin class has a public constructor that takes `const Options&`, or nothing");
  return constructible;
}

template <class T>
constexpr bool check_class() {
  constexpr bool derived = std::is_convertible_v<T*, Hook*> + std::is_convertible_v<T*, Saver*> +
                               std::is_convertible_v<T*, InitFn*> + std::is_convertible_v<T*, Model*> +
                               std::is_convertible_v<T*, Input*> + std::is_convertible_v<T*, Op*> +
                               std::is_convertible_v<T*, Optimizer*> + std::is_convertible_v<T*, Schedule*> +
                               std::is_convertible_v<T*, Exporter*> + std::is_convertible_v<T*, Cluster*> ==
                           1;
  static_assert(derived,
                "belay: a plugin class derives publicly from one of belay::Hook, Saver, InitFn, Model, Input, Op, "
                "Optimizer, Schedule, Exporter and Cluster");
  if constexpr (derived) return check_about<T>() && check_callbacks<T>() && check_constructor<T>();
  return false;
}

// True if two of the classes have one kind and name.
template <class... T>
constexpr bool are_doubled() {
  const std::string_view names[] = {T::about.name...};
  const int kinds[] = {kind_of<T>()...};
  for (std::size_t i = 0; i < sizeof...(T); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kinds[i] == kinds[j] && names[i] == names[j]) return true;
  return false;
}

// Checks all classes of a BELAY_MODULE line.
template <class... T>
constexpr bool check_classes() {
  if constexpr ((check_class<T>() && ...)) {
    static_assert(!are_doubled<T...>(),
                  "belay: two classes of this BELAY_MODULE have one kind and name: rename one, or "
                  "name each class once");
    return !are_doubled<T...>();
  }
  return false;
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
