// SPDX-License-Identifier: Apache-2.0
// The note: JSON made at compile time from `about`, so it always matches the code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belay/detail/parse_options.h"
#include "belay/detail/uses.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {
namespace detail {

// Writes JSON into `out`. With a null `out` it only counts.
class NoteWriter {
 public:
  constexpr explicit NoteWriter(char* out) : out_(out) {}
  constexpr std::size_t size() const { return n_; }

  constexpr void raw(std::string_view text) {
    for (const char c : text) put(c);
  }
  constexpr void text(std::string_view t) {
    put('"');
    for (const char c : t) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        put('\\'), put(c);
      } else if (u < 0x20) {
        raw("\\u00"), put(hex(u >> 4)), put(hex(u & 15));
      } else {
        put(c);
      }
    }
    put('"');
  }
  // Writes a string with a character for each byte, U+0000 to U+00FF.
  constexpr void bytes(std::string_view all) {
    put('"');
    for (const char c : all) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        put('\\'), put(c);
      } else if (u < 0x20 || u >= 0x7f) {
        raw("\\u00"), put(hex(u >> 4)), put(hex(u & 15));
      } else {
        put(c);
      }
    }
    put('"');
  }
  constexpr void key(std::string_view name) { text(name), put(':'); }
  constexpr void integer(std::int64_t v) {
    char digits[24] = {};
    std::size_t n = 0;
    std::uint64_t u = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
    do digits[n++] = static_cast<char>('0' + u % 10), u /= 10;
    while (u != 0);
    if (v < 0) put('-');
    while (n != 0) put(digits[--n]);
  }
  // Writes the shortest decimal of at most 17 digits that reads back as v, with one multiplication or division by a
  // power of ten. It is exact for usual default values. single: v is a float, and it reads back as a float.
  constexpr void number(double v, bool single = false) {
    if (v < 0) put('-'), v = -v;
    if (v == 0) {
      put('0');
      return;
    }
    int exponent = 0;  // v = mantissa * 10^exponent, with mantissa an integer
    for (int digits = 1; digits <= 17; ++digits) {
      exponent = magnitude(v) - digits + 1;
      const double scaled = exponent <= 0 ? v * power(-exponent) : v / power(exponent);
      const auto mantissa = static_cast<std::uint64_t>(scaled + 0.5);
      const double back = exponent <= 0 ? static_cast<double>(mantissa) / power(-exponent)
                                        : static_cast<double>(mantissa) * power(exponent);
      if (back == v || (single && static_cast<float>(back) == static_cast<float>(v)) || digits == 17) {
        decimal(mantissa, exponent);
        return;
      }
    }
  }
  constexpr void boolean(bool v) { raw(v ? "true" : "false"); }

 private:
  constexpr void put(char c) {
    if (out_ != nullptr) out_[n_] = c;
    ++n_;
  }
  static constexpr char hex(unsigned v) { return static_cast<char>(v < 10 ? '0' + v : 'a' + v - 10); }
  static constexpr double power(int n) {
    double p = 1;
    for (int i = 0; i < n; ++i) p *= 10;
    return p;
  }
  // floor(log10(v))
  static constexpr int magnitude(double v) {
    int m = 0;
    while (v >= 10) v /= 10, ++m;
    while (v < 1) v *= 10, --m;
    return m;
  }
  constexpr void decimal(std::uint64_t mantissa, int exponent) {
    while (mantissa != 0 && mantissa % 10 == 0) mantissa /= 10, ++exponent;
    if (exponent >= 0 && exponent <= 15) {
      integer(static_cast<std::int64_t>(mantissa));
      for (int i = 0; i < exponent; ++i) put('0');
    } else if (exponent < 0 && exponent >= -9) {
      std::uint64_t unit = 1;
      for (int i = 0; i < -exponent; ++i) unit *= 10;
      integer(static_cast<std::int64_t>(mantissa / unit));
      put('.');
      for (std::uint64_t u = unit / 10; u != 0; u /= 10) put(static_cast<char>('0' + mantissa / u % 10));
    } else {
      integer(static_cast<std::int64_t>(mantissa));
      put('e');
      integer(exponent);
    }
  }

  char* out_;
  std::size_t n_ = 0;
};

// The CPU features that the compiler may use, beyond x86-64 or armv8-a.
inline constexpr std::string_view kIsa[] = {
    "",
#ifdef __SSE3__
    "pni",
#endif
#ifdef __SSSE3__
    "ssse3",
#endif
#ifdef __SSE4_1__
    "sse4_1",
#endif
#ifdef __SSE4_2__
    "sse4_2",
#endif
#ifdef __POPCNT__
    "popcnt",
#endif
#ifdef __AVX__
    "avx",
#endif
#ifdef __F16C__
    "f16c",
#endif
#ifdef __AVX2__
    "avx2",
#endif
#ifdef __BMI__
    "bmi1",
#endif
#ifdef __BMI2__
    "bmi2",
#endif
#ifdef __FMA__
    "fma",
#endif
#ifdef __LZCNT__
    "abm",
#endif
#ifdef __MOVBE__
    "movbe",
#endif
#ifdef __AVX512F__
    "avx512f",
#endif
#ifdef __AVX512CD__
    "avx512cd",
#endif
#ifdef __AVX512BW__
    "avx512bw",
#endif
#ifdef __AVX512DQ__
    "avx512dq",
#endif
#ifdef __AVX512VL__
    "avx512vl",
#endif
#ifdef __AVX512BF16__
    "avx512_bf16",
#endif
#ifdef __AVX512VNNI__
    "avx512_vnni",
#endif
#ifdef __AVX512FP16__
    "avx512_fp16",
#endif
};

#if defined(__clang__)
#define BELAY_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define BELAY_COMPILER "gcc " __VERSION__
#else
#define BELAY_COMPILER "unknown compiler"
#endif
#if defined(_LIBCPP_VERSION)
#define BELAY_STDLIB ", libc++"
#else
#define BELAY_STDLIB ", libstdc++"
#endif
#if __cplusplus >= 202302L
#define BELAY_STANDARD ", C++23"
#elif __cplusplus >= 202002L
#define BELAY_STANDARD ", C++20"
#else
#define BELAY_STANDARD ", C++17"
#endif

// Writes a value of an option, or an element of a list.
template <class T>
constexpr void write_value(NoteWriter& w, const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    w.boolean(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    w.number(static_cast<double>(v), std::is_same_v<T, float>);
  } else if constexpr (std::is_integral_v<T>) {
    w.integer(static_cast<std::int64_t>(v));
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    w.text(v);
  } else {
    w.text(v.view());
  }
}
template <class T>
constexpr void write_list(NoteWriter& w, const T* values, std::size_t n) {
  w.raw("[");
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) w.raw(",");
    write_value(w, values[i]);
  }
  w.raw("]");
}

template <class T>
constexpr void write_default(NoteWriter& w, const T& v) {
  w.key("default"), write_value(w, v), w.raw(",");
}
constexpr void write_default(NoteWriter&, const Table&) {}
template <class T>
constexpr void write_default(NoteWriter& w, const std::optional<T>& v) {
  if (v.has_value()) write_default(w, *v);
}
template <class T>
constexpr void write_default(NoteWriter& w, const List<T>& v) {
  w.key("default"), write_list(w, v.begin(), v.size()), w.raw(",");
}

template <class D>
constexpr void write_example(NoteWriter& w, const D& o) {
  if (o.n_examples == 0) return;
  w.key("example");
  if constexpr (D::is_list) {
    write_list(w, o.example_value, o.n_examples);
  } else {
    write_value(w, o.example_value[0]);
  }
  w.raw(",");
  if (o.example_contents.data() != nullptr) w.key("example_file"), w.bytes(o.example_contents), w.raw(",");
}

template <class D>
constexpr void write_name(NoteWriter& w, const D& o) {
  using Traits = OptionTraits<typename D::Type>;
  w.key("name"), w.text(o.name), w.raw(",");
  w.key("type"), w.text(option_type_name(Traits::type, Traits::list)), w.raw(",");
  if (o.is_required) w.key("required"), w.raw("true,");
}
template <class D>
constexpr void write_limits(NoteWriter& w, const D& o) {
  if (o.has_min) w.key("min"), w.number(o.min_value), w.raw(",");
  if (o.has_max) w.key("max"), w.number(o.max_value), w.raw(",");
  if (o.n_choices != 0) w.key("choices"), write_list(w, o.choice, o.n_choices), w.raw(",");
}
template <class D>
constexpr void write_rest(NoteWriter& w, const D& o) {
  write_example(w, o);
  if (o.is_watching) w.key("watching"), w.raw("true,");
  if (o.is_learned) w.key("learned"), w.raw("true,");
  w.key("help"), w.text(o.help);
}

template <class O, class T>
constexpr void write_option(NoteWriter& w, const O& defaults, const Option<O, T>& o) {
  write_name(w, o);
  if (!o.is_required) write_default(w, defaults.*(o.member));
  write_limits(w, o);
  if (o.is_single) w.key("single"), w.raw("true,");
  write_rest(w, o);
}
template <class O, class T>
constexpr void write_option(NoteWriter& w, const O&, const Nested<T>& o) {
  write_name(w, o);
  if (o.has_default) write_default(w, o.default_value);
  write_limits(w, o);
  if (o.is_single) w.key("single"), w.raw("true,");
  if (o.n_when != 0) {
    w.key("when"), w.raw("{"), w.key(o.when_key), write_list(w, o.when_value, o.n_when), w.raw("},");
  }
  write_rest(w, o);
}

// Replaces the Options of a class that has none.
struct NoOptions {};
template <class T, class = void>
struct OptionsOf {
  using type = NoOptions;
};
template <class T>
struct OptionsOf<T, std::void_t<typename T::Options>> {
  using type = typename T::Options;
};

// Writes the class's callbacks beyond those that every class of its kind has. For a hook it also writes if the hook
// keeps state.
template <class T>
constexpr void write_uses(NoteWriter& w) {
  constexpr Uses uses = uses_of<T>();
  if (!uses.known) return;
  w.key("uses"), write_list(w, uses.callback, uses.n), w.raw(",");
  if constexpr (std::is_convertible_v<T*, Hook*>) w.key("state"), w.boolean(overrides_Hook_save_state<T>()), w.raw(",");
}

template <class T>
constexpr void write_plugin(NoteWriter& w, std::string_view kind, bool first) {
  if (!first) w.raw(",");
  w.raw("{");
  w.key("kind"), w.text(kind), w.raw(",");
  w.key("name"), w.text(T::about.name), w.raw(",");
  w.key("doc"), w.text(T::about.doc), w.raw(",");
  write_uses<T>(w);
  w.key("options"), w.raw("[");
  constexpr typename OptionsOf<T>::type defaults{};
  const char* separator = "{";
  std::apply(
      [&](const auto&... o) { ((w.raw(separator), write_option(w, defaults, o), w.raw("}"), separator = ",{"), ...); },
      T::about.options);
  w.raw("]}");
}

template <class... T>
constexpr void write_note(NoteWriter& w, std::string_view version, const std::string_view* kinds) {
  w.raw("{");
  w.key("abi"), w.raw("["), w.integer(BELAY_ABI_MAJOR), w.raw(","), w.integer(BELAY_ABI_MINOR), w.raw("],");
  w.key("version"), w.text(version), w.raw(",");
  w.key("toolchain"), w.text(BELAY_COMPILER BELAY_STDLIB BELAY_STANDARD), w.raw(",");
  w.key("isa"), w.raw("[");
  for (std::size_t i = 1; i < sizeof(kIsa) / sizeof(kIsa[0]); ++i) {
    if (i != 1) w.raw(",");
    w.text(kIsa[i]);
  }
  w.raw("],");
  w.key("plugins"), w.raw("[");
  std::size_t i = 0;
  ((write_plugin<T>(w, kinds[i], i == 0), ++i), ...);
  w.raw("]}");
}

// The bytes of the ELF note, with its header.
template <std::size_t N>
struct NoteBytes {
  std::uint32_t name_size;
  std::uint32_t text_size;
  std::uint32_t type;
  char name[8];
  char text[(N + 3) / 4 * 4];
};

}  // namespace detail
}  // namespace v0
}  // namespace belay
