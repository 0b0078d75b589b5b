// SPDX-License-Identifier: Apache-2.0
// Values for the cases, options, and the choice of a case.
#include "runtime/validate/fuzz.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <sstream>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The runtime has other classes with these names.
using DriverValue = belay::testing::OptionValue;
using DriverValues = belay::testing::OptionValues;

// Writes a number as an element of this type. A string's elements are made elsewhere.
void put(unsigned char* at, DType dtype, double number, std::int64_t integer) {
  const auto as = [&](auto value) { std::memcpy(at, &value, sizeof(value)); };
  switch (dtype) {
    case DType::kFloat32: return as(static_cast<float>(number));
    case DType::kFloat64: return as(number);
    case DType::kInt32: return as(static_cast<std::int32_t>(integer));
    case DType::kInt64: return as(integer);
    case DType::kBool: return as(static_cast<std::uint8_t>(integer & 1));
    case DType::kUInt8: return as(static_cast<std::uint8_t>(integer));
    default: return as(static_cast<std::uint16_t>(integer));  // any bits of a half
  }
}

std::string shown(const DriverValue& value) {
  std::string text;
  const auto add = [&](const std::string& element) {
    constexpr std::size_t kMost = 40;
    if (text.size() < kMost) text += (text.empty() ? "" : ", ") + element.substr(0, kMost);
  };
  for (const std::int64_t v : value.integers) add(std::to_string(v));
  for (const double v : value.floats) add(detail::number_text(v));
  for (const std::string& v : value.texts) add("\"" + escaped(v.substr(0, 40)) + "\"");
  return value.name + " = " + ((value.type & BELAY_VALUE_LIST) != 0 ? "[" + text + "]" : text);
}

DriverValue any_value(const std::string& name, FuzzCase& fuzz) {
  constexpr int kMostElements = 200;
  const auto several = [&](auto make) {
    std::vector<decltype(make())> values(fuzz.below(fuzz.one_in(4) ? kMostElements : 4));
    std::generate(values.begin(), values.end(), make);
    return DriverValue(name, values);
  };
  switch (fuzz.below(7)) {
    case 0: return DriverValue(name, fuzz.one_in(2));
    case 1: return DriverValue(name, fuzz.integer());
    case 2: return DriverValue(name, fuzz.number());
    case 3: return DriverValue(name, fuzz.text());
    case 4: return several([&] { return fuzz.integer(); });
    case 5: return several([&] { return fuzz.number(); });
    default: return several([&] { return fuzz.text(); });
  }
}

// Returns a number that the note allows. Without an upper limit it is still small. A plugin may make as many steps,
// rows or layers, and a case would take long.
std::int64_t odd_integer(const OptionInfo& option, FuzzCase& fuzz) {
  constexpr double kSpan = 1000;
  const double low = option.min.value_or(-2), high = std::min(option.max.value_or(low + kSpan), low + kSpan);
  const auto first = static_cast<std::int64_t>(std::ceil(low)), last = static_cast<std::int64_t>(std::floor(high));
  if (last <= first) return first;
  const std::int64_t near = std::min<std::int64_t>(last, first + 9);
  switch (fuzz.below(4)) {
    case 0: return first;
    case 1: return last;
    case 2: return first + static_cast<std::int64_t>(fuzz.below(static_cast<std::uint64_t>(last - first) + 1));
    default: return first + static_cast<std::int64_t>(fuzz.below(static_cast<std::uint64_t>(near - first) + 1));
  }
}
double odd_number(const OptionInfo& option, FuzzCase& fuzz) {
  const double number = fuzz.number();
  if (!std::isfinite(number)) return option.max.value_or(std::numeric_limits<double>::max());
  return std::max(option.min.value_or(number), std::min(option.max.value_or(number), number));
}
std::string odd_text(const OptionInfo& option, FuzzCase& fuzz) {
  static const std::vector<std::string> kNames{
      "loss",     "accuracy",      "global_step",  "dense/kernel",   "dense/bias",     "gradients/dense/kernel",
      "train_op", "learning_rate", "no_such_name", "dense/kernel:0", "dense/kernel:9", "loss:0"};
  if (!option.choices.empty()) return fuzz.of(option.choices);
  return fuzz.one_in(4) ? fuzz.text() : fuzz.of(kNames);
}

std::optional<DriverValue> odd_value(const OptionInfo& option, FuzzCase& fuzz) {
  const auto one_or_several = [&](auto make) {
    if (!option.list) return DriverValue(option.name, make());
    std::vector<decltype(make())> values(fuzz.below(5));
    std::generate(values.begin(), values.end(), make);
    return DriverValue(option.name, values);
  };
  switch (option.type) {
    case OptionType::kBool: return one_or_several([&] { return fuzz.one_in(2); });
    case OptionType::kInt: return one_or_several([&] { return odd_integer(option, fuzz); });
    case OptionType::kFloat: return one_or_several([&] { return odd_number(option, fuzz); });
    case OptionType::kString: return one_or_several([&] { return odd_text(option, fuzz); });
    default: return std::nullopt;  // files are damaged, tables stay unchanged
  }
}

// Returns the file's bytes. None: there is no such file, or it is too large to be damaged again and again.
std::optional<std::string> small_file(const std::string& path) {
  constexpr std::uintmax_t kMost = 4 << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > kMost || error)
    return std::nullopt;
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// Replaces each file of an option by a damaged copy with the same name.
void damage_files(DriverValue& value, FuzzCase& fuzz) {
  for (std::string& path : value.texts) {
    const std::optional<std::string> bytes = small_file(path);
    if (!bytes) continue;
    const std::filesystem::path copy = std::filesystem::current_path() / std::filesystem::path(path).filename();
    std::ofstream(copy, std::ios::binary) << fuzz.damaged(*bytes);
    fuzz.note("a damaged copy of " + path + " for " + value.name);
    path = copy.string();
  }
}

// Runs a check of its kind with odd options. A failure then does not mean that the plugin is wrong.
void try_check(const Check& check, const Subject& subject, FuzzCase& fuzz) {
  fuzz.note(std::string("as ") + check.name + " does");
  try {
    check.run(subject);
  } catch (const CheckFailed&) {
  } catch (const OptionsNeeded&) {
  }
}

void create_only(const Subject& subject, FuzzCase& fuzz) {
  Subject hostile = subject;
  hostile.chosen.values = hostile_options(subject, fuzz);
  try_check(instance_checks().front(), hostile, fuzz);
}

void drive(const Subject& subject, FuzzCase& fuzz) {
  switch (subject.info.kind) {
    case PluginKind::kHook: return fuzz_hook(subject, fuzz);
    case PluginKind::kSaver: return fuzz_saver(subject, fuzz);
    case PluginKind::kInput: return fuzz_input(subject, fuzz);
    case PluginKind::kOp: return fuzz_op(subject, fuzz);
    case PluginKind::kModel: return fuzz_model(subject, fuzz);
    case PluginKind::kOptimizer: return fuzz_optimizer(subject, fuzz);
    case PluginKind::kSchedule: return fuzz_schedule(subject, fuzz);
    case PluginKind::kInitFn: return try_check(fuzz.of(init_fn_checks()), subject, fuzz);
    case PluginKind::kExporter: return try_check(fuzz.of(exporter_checks()), subject, fuzz);
    case PluginKind::kCluster: return try_check(instance_checks().front(), subject, fuzz);  // two ranks take seconds
  }
}

}  // namespace

double FuzzCase::number() {
  using Limits = std::numeric_limits<double>;
  using Floats = std::numeric_limits<float>;
  static const std::vector<double> kNumbers{0,
                                            -0.0,
                                            1,
                                            -1,
                                            0.5,
                                            1e-3,
                                            1e6,
                                            -1e6,
                                            1e300,
                                            Floats::max(),
                                            Floats::denorm_min(),
                                            Limits::max(),
                                            Limits::lowest(),
                                            Limits::min(),
                                            Limits::denorm_min(),
                                            Limits::infinity(),
                                            -Limits::infinity(),
                                            Limits::quiet_NaN()};
  return one_in(2) ? of(kNumbers) : (random_.uniform() - 0.5) * std::pow(10.0, static_cast<double>(below(13)) - 6);
}

std::int64_t FuzzCase::integer() {
  using Limits = std::numeric_limits<std::int64_t>;
  static const std::vector<std::int64_t> kIntegers{0,
                                                   1,
                                                   -1,
                                                   2,
                                                   7,
                                                   100,
                                                   255,
                                                   65536,
                                                   -65537,
                                                   std::int64_t{1} << 31,
                                                   -(std::int64_t{1} << 31) - 1,
                                                   std::int64_t{1} << 53,
                                                   Limits::max(),
                                                   Limits::max() - 1,
                                                   Limits::min(),
                                                   Limits::min() + 1};
  return one_in(2) ? of(kIntegers) : static_cast<std::int64_t>(below(200)) - 20;
}

std::string FuzzCase::text() {
  static const std::vector<std::string> kTexts{"",
                                               "loss",
                                               " ",
                                               "../../..",
                                               "/",
                                               "%s%n%d",
                                               "\xff\xfe\x80",
                                               std::string("a\0b", 3),
                                               "a\nb\x1b[31m",
                                               "\"\\'`$(exit 1)",
                                               "[",
                                               "(a*)*b",
                                               "nan",
                                               "-1",
                                               "\xf0\x9f\x98\x80",
                                               std::string(300, 'n'),
                                               std::string(70'000, 'x')};
  return of(kTexts);
}

Tensor FuzzCase::tensor(DType dtype, const Dims& dims) {
  Tensor t(dtype, dims);
  if (dtype == DType::kString || t.size() == 0) return t;
  auto* bytes = static_cast<unsigned char*>(t.view().data);
  const std::size_t width = dtype_size(dtype), n = t.size();
  const double usual_number = number();
  const std::int64_t usual_integer = integer();
  const bool different = one_in(3);
  for (std::size_t i = 0; i < n; ++i) {
    if (different && n < 10'000)
      put(bytes + i * width, dtype, number(), integer());
    else
      put(bytes + i * width, dtype, usual_number, usual_integer);
  }
  if (one_in(3)) put(bytes + below(n) * width, dtype, number(), integer());
  return t;
}

Dims FuzzCase::dims() {
  static const std::vector<std::int64_t> kSizes{0, 1, 1, 2, 3, 3, 4, 5, 8, 17, 64, 1000};
  constexpr std::int64_t kMostElements = 1'000'000;
  if (one_in(20)) return {100'003};
  Dims dims;
  std::int64_t elements = 1;
  for (std::uint64_t i = below(5); i > 0; --i) {
    const std::int64_t size = of(kSizes);
    if (elements * size > kMostElements) break;
    elements *= size;
    dims.push_back(size);
  }
  return dims;
}

std::string FuzzCase::damaged(std::string bytes) {
  if (bytes.empty()) return text();
  const auto at = [&] { return static_cast<std::size_t>(below(bytes.size())); };
  switch (below(6)) {
    case 0: bytes.resize(at()); break;
    case 1: bytes += one_in(2) ? text() : bytes; break;
    case 2: bytes.erase(at(), 1 + at()); break;
    case 3: bytes = text(); break;
    case 4: bytes.insert(at(), 1 + below(9), static_cast<char>(below(256))); break;
    default:
      for (std::uint64_t flips = 1 + below(4); flips > 0; --flips) {
        char& byte = bytes[at()];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1u << below(8)));
      }
  }
  return bytes;
}

DriverValues hostile_options(const Subject& subject, FuzzCase& fuzz) {
  DriverValues options = subject.options();
  if (subject.info.options.empty() || fuzz.one_in(10)) {
    const DriverValue unknown = any_value(fuzz.text(), fuzz);
    fuzz.note("create with " + shown(unknown));
    return options.with(unknown);
  }
  for (std::uint64_t n = 1 + fuzz.below(2); n > 0; --n) {
    const DriverValue value = any_value(fuzz.of(subject.info.options).name, fuzz);
    fuzz.note("create with " + shown(value));
    options = options.with(value);
  }
  return options;
}

Subject with_odd_options(const Subject& subject, FuzzCase& fuzz) {
  Subject odd = subject;
  odd.seed = fuzz.below(~std::uint64_t{0});
  for (const OptionInfo& option : subject.info.options) {
    if (option.type == OptionType::kPath && fuzz.one_in(2)) {
      for (const DriverValue& given : subject.options().all()) {
        if (given.name != option.name) continue;
        DriverValue changed = given;
        damage_files(changed, fuzz);
        odd.chosen.values = odd.chosen.values.with(changed);
      }
      continue;
    }
    if (!fuzz.one_in(3)) continue;
    if (const std::optional<DriverValue> value = odd_value(option, fuzz)) {
      fuzz.note(shown(*value));
      odd.chosen.values = odd.chosen.values.with(*value);
    }
  }
  return odd;
}

void run_fuzz_case(const Subject& subject, FuzzCase& fuzz) {
  try {
    if (subject.info.kind != PluginKind::kOp && fuzz.one_in(5)) return create_only(subject, fuzz);
    drive(fuzz.one_in(3) ? subject : with_odd_options(subject, fuzz), fuzz);
  } catch (const Error& e) {
    require_explained("it", e);
  } catch (const CheckSkipped&) {
    // The plugin misses something necessary.
  } catch (const std::bad_alloc&) {
    // The driver's data, such as a batch, took the memory. If the plugin's did, it would be an Error.
  }
}

}  // namespace belay::runtime
