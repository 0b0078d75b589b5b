// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/check_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "belay/detail/parse_options.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using detail::number_text;

const char* singular(OptionType type) {
  switch (type) {
    case OptionType::kBool: return "true or false";
    case OptionType::kInt: return "an integer";
    case OptionType::kFloat: return "a number";
    case OptionType::kString: return "a text";
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
    case OptionType::kString: return "a list of texts";
    case OptionType::kPath: return "a list of paths";
    case OptionType::kTable: return "a list of tables";
  }
  return "";
}

// What the manifest gave, in the same words.
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

bool is_number(const std::string& text) {
  if (text.empty()) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

// The host's keys in the same table, where it has more than the reserved ones.
std::vector<std::string> keys_beside(PluginKind kind) {
  const char* table = kind == PluginKind::kOptimizer  ? "optimizer"
                      : kind == PluginKind::kSchedule ? "optimizer.learning_rate"
                                                      : nullptr;
  if (table == nullptr) return {};
  for (const SectionKeys& section : manifest_keys())
    if (section.section == table) return section.keys;
  return {};
}

class OptionsChecker {
 public:
  OptionsChecker(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths, Diagnostics& problems)
      : plugin_(plugin), use_(use), paths_(paths), problems_(problems) {}

  OptionValues check() {
    for (const PluginOption& given : use_.options) check_given(given);
    for (const OptionInfo& option : plugin_.options)
      if (option.required && seen_.count(option.name) == 0)
        problems_.add(use_.at, plugin() + " needs the " + word() + " " + double_quoted(option.name),
                      option.name + " is " + words(option) + (option.help.empty() ? "" : ": " + option.help));
    return std::move(values_);
  }

 private:
  std::string plugin() const { return std::string(kind_name(plugin_.kind)) + " " + double_quoted(plugin_.name); }
  // What an option is called: a node's are its attributes.
  std::string word() const { return plugin_.kind == PluginKind::kOp ? "attribute" : "option"; }
  static const char* words(const OptionInfo& option) {
    return option.list ? plural(option.type) : singular(option.type);
  }

  void check_given(const PluginOption& given) {
    if (const OptionInfo* option = plugin_.option(given.key)) {
      seen_.insert(option->name);
      if (auto value = converted(*option, given)) {
        if (check_values(*option, given, *value)) values_.add(given.key, *value, option->type);
      }
      return;
    }
    // The longest declared option that the key lies below.
    for (std::size_t dot = given.key.rfind('.'); dot != std::string::npos && dot != 0;
         dot = given.key.rfind('.', dot - 1)) {
      const OptionInfo* option = plugin_.option(std::string_view(given.key).substr(0, dot));
      if (option == nullptr) continue;
      const bool first = seen_.insert(option->name).second;
      if (option->type == OptionType::kTable) {
        values_.add(given.key, given.value, OptionType::kString);
      } else if (first) {
        problems_.add(given.key_at, double_quoted(option->name) + " must be " + words(*option) + ", not a table",
                      "write " + option->name + " = ...");
      }
      return;
    }
    unknown(given);
  }

  void unknown(const PluginOption& given) {
    std::vector<std::string> names;
    for (const OptionInfo& option : plugin_.options) names.push_back(option.name);
    std::vector<std::string> candidates = keys_beside(plugin_.kind);
    candidates.insert(candidates.begin(), names.begin(), names.end());
    const std::string near = nearest(given.key, candidates);
    problems_.add(given.key_at, double_quoted(given.key) + " is not an " + word() + " of " + plugin(),
                  (near.empty() ? "" : "did you mean " + double_quoted(near) + "? ") +
                      (names.empty() ? "it has no " + word() + "s" : word() + "s: " + joined(names)));
  }

  void wrong_type(const OptionInfo& option, const PluginOption& given, const std::string& help) {
    problems_.add(given.value_at,
                  double_quoted(given.key) + " must be " + words(option) + ", not " + found(given.value), help);
  }

  // The value in the option's own type, or nothing and a problem.
  std::optional<OptionValue> converted(const OptionInfo& option, const PluginOption& given) {
    const OptionValue& v = given.value;
    if (option.type == OptionType::kTable) {
      wrong_type(option, given, "write [...] with the keys of the table, or " + given.key + " = { key = value }");
      return std::nullopt;
    }
    if (option.list) return converted_list(option, given);
    const auto* text = std::get_if<std::string>(&v);
    const auto* number = std::get_if<double>(&v);
    switch (option.type) {
      case OptionType::kBool:
        if (std::holds_alternative<bool>(v)) return v;
        wrong_type(option, given,
                   text != nullptr && (*text == "true" || *text == "false")
                       ? "write " + given.key + " = " + *text + ", without quotes"
                       : "");
        return std::nullopt;
      case OptionType::kInt:
        if (std::holds_alternative<std::int64_t>(v)) return v;
        wrong_type(option, given,
                   text != nullptr && is_number(*text) ? "write " + given.key + " = " + *text + ", without quotes"
                   : number != nullptr && *number == std::floor(*number) && std::fabs(*number) < 1e15
                       ? "write " + given.key + " = " + std::to_string(static_cast<long long>(*number))
                       : "");
        return std::nullopt;
      case OptionType::kFloat:
        if (number != nullptr) return v;
        if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
        wrong_type(
            option, given,
            text != nullptr && is_number(*text) ? "write " + given.key + " = " + *text + ", without quotes" : "");
        return std::nullopt;
      case OptionType::kString:
        if (text != nullptr) return v;
        wrong_type(option, given, "write it in quotes");
        return std::nullopt;
      default:
        if (text != nullptr) return expanded(*text, given);
        wrong_type(option, given, "write it in quotes");
        return std::nullopt;
    }
  }

  std::optional<OptionValue> converted_list(const OptionInfo& option, const PluginOption& given) {
    const OptionValue& v = given.value;
    if (std::holds_alternative<std::monostate>(v)) return v;
    const auto* texts = std::get_if<std::vector<std::string>>(&v);
    switch (option.type) {
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
        if (texts != nullptr) return expanded_list(*texts, given);
        break;
    }
    const bool single = std::holds_alternative<bool>(v) || std::holds_alternative<std::int64_t>(v) ||
                        std::holds_alternative<double>(v) || std::holds_alternative<std::string>(v);
    wrong_type(option, given, single ? "a list of one is written in brackets: " + given.key + " = [...]" : "");
    return std::nullopt;
  }

  std::optional<OptionValue> expanded(const std::string& text, const PluginOption& given) {
    // Empty stands for "no file".
    if (text.empty()) return text;
    auto path = expand_path(text, paths_.base_directory, paths_.environment, given.value_at, problems_);
    if (!path) return std::nullopt;
    return std::move(*path);
  }

  std::optional<OptionValue> expanded_list(const std::vector<std::string>& texts, const PluginOption& given) {
    std::vector<std::string> all;
    bool good = true;
    for (const std::string& text : texts) {
      const auto path = expanded(text, given);
      good = good && path.has_value();
      if (path) all.push_back(std::get<std::string>(*path));
    }
    if (!good) return std::nullopt;
    return all;
  }

  // Range and choices, of the value or of each element.
  bool check_values(const OptionInfo& option, const PluginOption& given, const OptionValue& value) {
    if (const auto* i = std::get_if<std::int64_t>(&value))
      return check_number(option, given, static_cast<double>(*i), double_quoted(given.key));
    if (const auto* d = std::get_if<double>(&value)) return check_number(option, given, *d, double_quoted(given.key));
    if (const auto* t = std::get_if<std::string>(&value))
      return check_choice(option, given, *t, double_quoted(given.key));
    const auto each = [&](const auto& list, const auto& check) {
      bool good = true;
      for (std::size_t i = 0; i < list.size(); ++i) good = check(list[i], element(given, i)) && good;
      return good;
    };
    const auto number = [&](const auto& n, const std::string& what) {
      return check_number(option, given, static_cast<double>(n), what);
    };
    const auto text = [&](const std::string& t, const std::string& what) {
      return check_choice(option, given, t, what);
    };
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return each(*list, number);
    if (const auto* list = std::get_if<std::vector<double>>(&value)) return each(*list, number);
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return each(*list, text);
    return true;
  }

  static std::string element(const PluginOption& given, std::size_t i) {
    return "element " + std::to_string(i) + " of " + double_quoted(given.key);
  }

  bool check_number(const OptionInfo& option, const PluginOption& given, double v, const std::string& what) {
    const bool low = option.min && !(v >= *option.min), high = option.max && !(v <= *option.max);
    if (!low && !high) return true;
    problems_.add(given.value_at,
                  what + " is " + number_text(v) + ", must be " +
                      (low ? "at least " + number_text(*option.min) : "at most " + number_text(*option.max)),
                  option.help.empty() ? "" : option.name + ": " + option.help);
    return false;
  }

  bool check_choice(const OptionInfo& option, const PluginOption& given, const std::string& v,
                    const std::string& what) {
    if (option.choices.empty() || std::find(option.choices.begin(), option.choices.end(), v) != option.choices.end())
      return true;
    const std::string near = nearest(v, option.choices);
    problems_.add(given.value_at, what + " is " + double_quoted(v) + ", must be one of: " + joined(option.choices),
                  near.empty() ? "" : "did you mean " + double_quoted(near) + "?");
    return false;
  }

  const PluginInfo& plugin_;
  const PluginUse& use_;
  const PathContext& paths_;
  Diagnostics& problems_;
  OptionValues values_;
  std::set<std::string> seen_;
};

}  // namespace

OptionValues check_options(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths,
                           Diagnostics& problems) {
  return OptionsChecker(plugin, use, paths, problems).check();
}

}  // namespace belay::runtime
