// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/plugin/plugin_attrs.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "runtime/loader/options/check_options.h"

namespace belay::runtime {
namespace {

// In a graph booleans are integers. Options that the note declares as bool become booleans again.
OptionValue with_booleans(const OptionInfo* declared, OptionValue value) {
  if (declared == nullptr || declared->type != OptionType::kBool) return value;
  const auto is_boolean = [](std::int64_t i) { return i == 0 || i == 1; };
  if (const auto* one = std::get_if<std::int64_t>(&value); one != nullptr && is_boolean(*one)) return *one == 1;
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  if (list == nullptr) return value;
  std::vector<bool> booleans;
  for (const std::int64_t i : *list) {
    if (!is_boolean(i)) return value;
    booleans.push_back(i == 1);
  }
  return booleans;
}

template <class T>
OptionValue list(const std::vector<T>& values) {
  return values.empty() ? OptionValue(std::monostate()) : OptionValue(values);
}

// Returns none for a tensor, since no option can be one.
std::optional<OptionValue> option_value(const AttrValue& value) {
  struct {
    std::optional<OptionValue> operator()(std::int64_t v) const { return v; }
    std::optional<OptionValue> operator()(double v) const { return v; }
    std::optional<OptionValue> operator()(const std::string& v) const { return v; }
    std::optional<OptionValue> operator()(const std::vector<std::int64_t>& v) const { return list(v); }
    std::optional<OptionValue> operator()(const std::vector<double>& v) const { return list(v); }
    std::optional<OptionValue> operator()(const std::vector<std::string>& v) const { return list(v); }
    std::optional<OptionValue> operator()(const DenseTensor&) const { return std::nullopt; }
  } const convert;
  return std::visit(convert, value);
}

}  // namespace

OptionValues check_attrs(const PluginInfo& plugin, const Attrs& attrs) {
  PluginUse use;
  for (const auto& [name, value] : attrs.all()) {
    auto converted = option_value(value);
    if (!converted)
      fail(Code::kInvalidArgument,
           "attribute \"" + name + "\" is a tensor; give it as an input, for instance with ops::constant");
    use.options.push_back({name, with_booleans(plugin.option(name), std::move(*converted)), {}, {}});
  }
  Diagnostics problems;
  const PathContext no_paths{{}, [](const std::string&) { return std::nullopt; }};
  OptionValues values = check_options(plugin, use, no_paths, problems);
  if (!problems.empty()) {
    const Diagnostic first = problems.sorted().front();
    fail(Code::kInvalidArgument, coded_message(first) + (first.help.empty() ? "" : "; " + first.help));
  }
  return values;
}

void check_declared_attrs(const PluginInfo& plugin) {
  for (const OptionInfo& attr : plugin.options)
    if (attr.type == OptionType::kPath || attr.type == OptionType::kTable)
      fail(Code::kInvalidArgument, "its attribute \"" + attr.name + "\" is a " + type_name(attr) +
                                       "; the attributes of an operation are booleans, numbers, strings and lists "
                                       "of them");
}

}  // namespace belay::runtime
