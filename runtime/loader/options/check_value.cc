// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/check_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "belay/detail/parse_options.h"
#include "runtime/manifest/meant_value.h"
#include "runtime/platform/text/float32_value.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using detail::number_text;

const char* singular(OptionType type) {
  switch (type) {
    case OptionType::kBool: return "true or false";
    case OptionType::kInt: return "an integer";
    case OptionType::kFloat: return "a number";
    case OptionType::kString: return "a string";
    case OptionType::kPath: return "a path";
    case OptionType::kTable: return "a table";
  }
  return "";
}

const char* plural(OptionType type) {
  switch (type) {
    case OptionType::kBool: return "a list of true and false";
    case OptionType::kInt: return "a list of integers";
    case OptionType::kFloat: return "a list of numbers";
    case OptionType::kString: return "a list of strings";
    case OptionType::kPath: return "a list of paths";
    case OptionType::kTable: return "a list of tables";
  }
  return "";
}

// Describes the manifest's value in the same words.
const char* found(const OptionValue& value) {
  struct {
    const char* operator()(bool) const { return singular(OptionType::kBool); }
    const char* operator()(std::int64_t) const { return singular(OptionType::kInt); }
    const char* operator()(double) const { return singular(OptionType::kFloat); }
    const char* operator()(const std::string&) const { return singular(OptionType::kString); }
    const char* operator()(const std::vector<bool>&) const { return plural(OptionType::kBool); }
    const char* operator()(const std::vector<std::int64_t>&) const { return plural(OptionType::kInt); }
    const char* operator()(const std::vector<double>&) const { return plural(OptionType::kFloat); }
    const char* operator()(const std::vector<std::string>&) const { return plural(OptionType::kString); }
    const char* operator()(std::monostate) const { return "an empty list"; }
  } const name;
  return std::visit(name, value);
}

// Returns a help for "10" if 10 is wanted, and for 10.0.
std::string value_help(WantedValue wanted, const PluginOption& given) {
  if (const auto* text = std::get_if<std::string>(&given.value)) return help_for_text(wanted, given.key, *text);
  if (const auto* number = std::get_if<double>(&given.value)) return help_for_number(wanted, given.key, *number);
  if (const auto* integer = std::get_if<std::int64_t>(&given.value))
    return help_for_number(wanted, given.key, static_cast<double>(*integer));
  return "";
}

bool is_single(const OptionValue& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value) ||
         std::holds_alternative<double>(value) || std::holds_alternative<std::string>(value);
}

std::string help_for_list(const OptionInfo& option, const PluginOption& given) {
  if (is_single(given.value)) return fmt::format("a list of one is written in brackets: {} = [...]", given.key);
  switch (option.type) {
    case OptionType::kBool: return "write each value as true or false";
    case OptionType::kInt: return "write each value as a whole number, without quotes";
    case OptionType::kFloat: return "write each value as a number, without quotes";
    default: return "write each value in quotes";
  }
}

class ValueChecker {
 public:
  ValueChecker(const OptionInfo& option, const PluginOption& given, const PathContext& paths, Diagnostics& problems)
      : option_(option), given_(given), paths_(paths), problems_(problems) {}

  std::optional<OptionValue> check() {
    auto value = converted();
    if (!value || !check_values(*value)) return std::nullopt;
    return value;
  }

 private:
  void wrong_type(const std::string& help) {
    problems_.add(given_.value_at,
                  fmt::format("[B2032] \"{}\" must be {}, not {}", given_.key, words(option_), found(given_.value)),
                  help);
  }

  // Returns the value in the option's type, or none and a problem.
  std::optional<OptionValue> converted() {
    const OptionValue& v = given_.value;
    if (option_.type == OptionType::kTable) {
      if (const auto* name = std::get_if<std::string>(&v); name != nullptr && option_.single)
        return std::vector<std::string>{*name};
      const bool names = std::holds_alternative<std::vector<std::string>>(v);
      if (option_.single && (names || std::holds_alternative<std::monostate>(v))) return v;
      wrong_type(fmt::format("write [...] with the keys of the table, or {} = {{ key = value }}", given_.key));
      return std::nullopt;
    }
    if (option_.list) return converted_list();
    const auto* text = std::get_if<std::string>(&v);
    const auto* number = std::get_if<double>(&v);
    switch (option_.type) {
      case OptionType::kBool:
        if (std::holds_alternative<bool>(v)) return v;
        wrong_type(value_help(WantedValue::kBoolean, given_));
        return std::nullopt;
      case OptionType::kInt:
        if (std::holds_alternative<std::int64_t>(v)) return v;
        wrong_type(value_help(WantedValue::kInteger, given_));
        return std::nullopt;
      case OptionType::kFloat:
        if (number != nullptr) return v;
        if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
        wrong_type(value_help(WantedValue::kNumber, given_));
        return std::nullopt;
      case OptionType::kString:
        if (text != nullptr) return v;
        wrong_type("write it in quotes");
        return std::nullopt;
      default:
        if (text != nullptr) return expanded(*text);
        wrong_type("write it in quotes");
        return std::nullopt;
    }
  }

  std::optional<OptionValue> converted_list() {
    const OptionValue& v = given_.value;
    if (std::holds_alternative<std::monostate>(v)) return v;
    const auto* texts = std::get_if<std::vector<std::string>>(&v);
    switch (option_.type) {
      case OptionType::kBool:
        if (std::holds_alternative<std::vector<bool>>(v)) return v;
        break;
      case OptionType::kInt:
        if (std::holds_alternative<std::vector<std::int64_t>>(v)) return v;
        break;
      case OptionType::kFloat:
        if (std::holds_alternative<std::vector<double>>(v)) return v;
        if (const auto* i = std::get_if<std::vector<std::int64_t>>(&v))
          return std::vector<double>(i->begin(), i->end());
        break;
      case OptionType::kString:
        if (texts != nullptr) return v;
        break;
      default:
        if (texts != nullptr) return expanded_list(*texts);
        break;
    }
    wrong_type(help_for_list(option_, given_));
    return std::nullopt;
  }

  std::optional<OptionValue> expanded(const std::string& text) {
    // Empty means "no file".
    if (text.empty()) return text;
    auto path = expand_path(text, paths_.directories, paths_.environment, given_.value_at, problems_);
    if (!path) return std::nullopt;
    return std::move(*path);
  }

  std::optional<OptionValue> expanded_list(const std::vector<std::string>& texts) {
    std::vector<std::string> all;
    bool good = true;
    for (const std::string& text : texts) {
      const auto path = expanded(text);
      good = good && path.has_value();
      if (path) all.push_back(std::get<std::string>(*path));
    }
    if (!good) return std::nullopt;
    return all;
  }

  // Checks range and choices of the value, or of each element.
  bool check_values(const OptionValue& value) {
    if (const auto* i = std::get_if<std::int64_t>(&value))
      return check_number(static_cast<double>(*i), double_quoted(given_.key));
    if (const auto* d = std::get_if<double>(&value)) return check_number(*d, double_quoted(given_.key));
    if (const auto* t = std::get_if<std::string>(&value)) return check_choice(*t, double_quoted(given_.key));
    const auto each = [&](const auto& list, const auto& check) {
      bool good = true;
      for (std::size_t i = 0; i < list.size(); ++i) good = check(list[i], element(i)) && good;
      return good;
    };
    const auto number = [&](const auto& n, const std::string& what) {
      return check_number(static_cast<double>(n), what);
    };
    const auto text = [&](const std::string& t, const std::string& what) { return check_choice(t, what); };
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return each(*list, number);
    if (const auto* list = std::get_if<std::vector<double>>(&value)) return each(*list, number);
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return each(*list, text);
    return true;
  }

  std::string element(std::size_t i) const { return fmt::format("element {} of \"{}\"", i, given_.key); }

  bool check_number(double v, const std::string& what) {
    const bool low = option_.min && !(v >= *option_.min), high = option_.max && !(v <= *option_.max);
    std::string wrong;
    if (low || high)
      wrong = number_text(v) + ", must be " +
              (low ? "at least " + number_text(*option_.min) : "at most " + number_text(*option_.max));
    else if (option_.type == OptionType::kFloat && !option_.watching)
      wrong = float32_problem(v, option_.max.has_value(), option_.max.value_or(0));
    if (wrong.empty()) return true;
    problems_.add(given_.value_at, fmt::format("[B2033] {} is {}", what, wrong),
                  option_.help.empty() ? "" : fmt::format("{}: {}", option_.name, option_.help));
    return false;
  }

  bool check_choice(const std::string& v, const std::string& what) {
    if (option_.choices.empty() ||
        std::find(option_.choices.begin(), option_.choices.end(), v) != option_.choices.end())
      return true;
    const std::string near = nearest_word(v, option_.choices);
    problems_.add(given_.value_at,
                  fmt::format("[B2034] {} is \"{}\", must be one of: {}", what, v, joined(option_.choices)),
                  near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
    return false;
  }

  const OptionInfo& option_;
  const PluginOption& given_;
  const PathContext& paths_;
  Diagnostics& problems_;
};

}  // namespace

const char* words(const OptionInfo& option) { return option.list ? plural(option.type) : singular(option.type); }

std::optional<OptionValue> check_value(const OptionInfo& option, const PluginOption& given, const PathContext& paths,
                                       Diagnostics& problems) {
  if (option.single && is_single(given.value)) {
    OptionInfo one = option;
    one.list = false;
    return ValueChecker(one, given, paths, problems).check();
  }
  return ValueChecker(option, given, paths, problems).check();
}

}  // namespace belay::runtime
