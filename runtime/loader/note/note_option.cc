// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/note/note_option.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "belay/detail/check_class.h"
#include "belay/detail/nested_name.h"
#include "belay/detail/parse_options.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMaxWhen = 64;
constexpr std::size_t kMaxNested = 1000;  // limit for a plugin

struct TypeName {
  OptionType type;
  bool list;
};

constexpr TypeName kTypes[] = {{OptionType::kBool, false},   {OptionType::kInt, false},  {OptionType::kFloat, false},
                               {OptionType::kString, false}, {OptionType::kPath, false}, {OptionType::kTable, false},
                               {OptionType::kBool, true},    {OptionType::kInt, true},   {OptionType::kFloat, true},
                               {OptionType::kString, true},  {OptionType::kPath, true}};

void read_type(const NoteField& field, OptionInfo& option) {
  const std::string name = field.text();
  for (const TypeName& t : kTypes) {
    if (name != detail::option_type_name(t.type, t.list)) continue;
    option.type = t.type;
    option.list = t.list;
    return;
  }
  std::vector<std::string> all;
  for (const TypeName& t : kTypes) all.emplace_back(detail::option_type_name(t.type, t.list));
  throw UnknownHere(field.said("is " + shown(name) + ", this host knows: " + joined(all)));
}

template <class T, class Read>
OptionValue list_of(const NoteField& field, Read read) {
  std::vector<T> values;
  for (const NoteField& item : field.items()) values.push_back(read(item));
  return values;
}

// Reads a default or an example.
OptionValue read_value(const NoteField& field, const OptionInfo& option) {
  const auto boolean = [](const NoteField& f) { return f.boolean(); };
  const auto integer = [](const NoteField& f) { return f.integer(); };
  const auto number = [](const NoteField& f) { return f.number(); };
  const auto text = [](const NoteField& f) { return f.text(); };
  switch (option.type) {
    case OptionType::kBool: return option.list ? list_of<bool>(field, boolean) : OptionValue(field.boolean());
    case OptionType::kInt: return option.list ? list_of<std::int64_t>(field, integer) : OptionValue(field.integer());
    case OptionType::kFloat: return option.list ? list_of<double>(field, number) : OptionValue(field.number());
    case OptionType::kString:
    case OptionType::kPath: return option.list ? list_of<std::string>(field, text) : OptionValue(field.text());
    case OptionType::kTable: break;
  }
  field.fail("is given, but a table has no default");
}

// Refuses a default or example that could not be written in a manifest.
void check_fits(const NoteField& field, const OptionInfo& option, const OptionValue& value) {
  const auto number = [&](double v) {
    if (option.min && !(v >= *option.min))
      field.fail("is " + detail::number_text(v) + ", the option's own min is " + detail::number_text(*option.min));
    if (option.max && !(v <= *option.max))
      field.fail("is " + detail::number_text(v) + ", the option's own max is " + detail::number_text(*option.max));
  };
  const auto text = [&](const std::string& v) {
    if (!option.choices.empty() && std::find(option.choices.begin(), option.choices.end(), v) == option.choices.end())
      field.fail("is " + shown(v) + ", the option's own choices are: " + joined(option.choices));
  };
  const auto each = [](const auto& values, const auto& check) {
    for (const auto& v : values) check(v);
  };
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) number(static_cast<double>(v));
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>>)
          each(v, number);
        if constexpr (std::is_same_v<T, std::string>) text(v);
        if constexpr (std::is_same_v<T, std::vector<std::string>>) each(v, text);
      },
      value);
}

std::string whose(const PluginInfo& plugin) {
  return std::string("of the ") + kind_name(plugin.kind) + " \"" + plugin.name + "\"";
}

// Checks an option's name in `plugin`, which has its earlier options.
void check_option_name(const NoteField& field, const std::string& name, const PluginInfo& plugin) {
  if (!detail::is_option_name(name))
    field.fail("is " + shown(name) + ": the name of an option " + whose(plugin) +
               " consists of letters, digits, '_' and '-'");
  if (detail::is_reserved_option(kind_name(plugin.kind), name))
    field.fail("is " + shown(name) + ", a manifest's own key: the option " + whose(plugin) + " needs another name");
  if (plugin.option(name) != nullptr)
    field.fail("is " + shown(name) + " again: another option " + whose(plugin) + " has that name");
}

bool is_nested(const std::string& name) { return name.find_first_of(".[*") != name.npos; }

void check_nested_name(const NoteField& field, const std::string& name, const PluginInfo& plugin) {
  if (!detail::is_nested_name(name))
    field.fail("is " + shown(name) + ": a key below a table " + whose(plugin) +
               " is called as in \"layers[].units\" or \"features.*.dtype\"");
  const OptionInfo* table = plugin.option(detail::option_of(name));
  if (table == nullptr || table->type != OptionType::kTable)
    field.fail("is " + shown(name) + ": \"" + std::string(detail::option_of(name)) +
               "\" is no table among the options before it");
}

// True if no table can have both.
bool exclude_each_other(const OptionInfo& a, const OptionInfo& b) {
  if (a.when_key.empty() || a.when_key != b.when_key) return false;
  return std::none_of(a.when.begin(), a.when.end(), [&](const std::string& value) {
    return std::find(b.when.begin(), b.when.end(), value) != b.when.end();
  });
}

void read_when(const NoteField& field, OptionInfo& option) {
  const Json& json = field.json();
  if (!json.is_object() || json.size() != 1) field.fail("must be an object with one key");
  option.when_key = json.begin().key();
  option.when = texts(field.get(option.when_key.c_str()));
  if (option.when.size() > kMaxWhen) field.fail("has more than 64 values");
}

// Returns the bytes that characters U+0000 to U+00FF mean.
std::string read_bytes(const NoteField& field) {
  const std::string text = field.text();
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0xc4) field.fail("has a character above U+00FF: each is one byte");
    bytes.push_back(c < 0x80 ? text[i] : static_cast<char>((c & 3) << 6 | (text[++i] & 0x3f)));
  }
  return bytes;
}

void read_limits(const NoteField& field, OptionInfo& option) {
  const bool is_number = option.type == OptionType::kInt || option.type == OptionType::kFloat;
  for (const auto& [key, limit] : {std::pair{"min", &option.min}, std::pair{"max", &option.max}}) {
    const auto value = field.find(key);
    if (!value) continue;
    if (!is_number) value->fail("is given, but only numbers have a range");
    *limit = value->number();
  }
  if (const auto choices = field.find("choices")) {
    if (option.type != OptionType::kString) choices->fail("are given, but only strings have choices");
    option.choices = texts(*choices);
  }
}

void read_example(const NoteField& field, OptionInfo& option) {
  if (const auto example = field.find("example")) {
    option.example = option.type == OptionType::kTable ? OptionValue(example->text()) : read_value(*example, option);
    check_fits(*example, option, *option.example);
  }
  const auto contents = field.find("example_file");
  if (!contents) return;
  if (option.type != OptionType::kPath || !option.example) contents->fail("is given, but there is no path as example");
  option.example_file = read_bytes(*contents);
}

OptionInfo read_option(const NoteField& field, const PluginInfo& plugin) {
  OptionInfo option;
  const NoteField name = field.get("name");
  option.name = name.text();
  is_nested(option.name) ? check_nested_name(name, option.name, plugin) : check_option_name(name, option.name, plugin);
  read_type(field.get("type"), option);
  if (const auto help = field.find("help")) option.help = help->text();
  if (const auto required = field.find("required")) option.required = required->boolean();
  if (const auto watching = field.find("watching")) option.watching = watching->boolean();
  if (const auto learned = field.find("learned")) option.learned = learned->boolean();
  if (const auto single = field.find("single")) option.single = single->boolean();
  if (const auto when = field.find("when")) read_when(*when, option);
  const auto default_field = field.find("default");
  if (default_field) option.default_value = read_value(*default_field, option);
  read_limits(field, option);
  if (default_field) check_fits(*default_field, option, *option.default_value);
  read_example(field, option);
  return option;
}

// Each key below tables may be declared for some tables only.
void check_nested(const NoteField& options, const PluginInfo& plugin) {
  if (plugin.nested.size() > kMaxNested) options.fail("has more than 1000 keys below tables");
  for (const OptionInfo& option : plugin.nested) {
    for (const OptionInfo& other : plugin.nested)
      if (&other != &option && other.name == option.name && !exclude_each_other(other, option))
        options.fail("has " + shown(option.name) + " twice for one table");
    if (option.when_key.empty()) continue;
    const std::string decider = std::string(detail::table_of(option.name)) + "." + option.when_key;
    for (const std::string& value : option.when) {
      const bool known = std::any_of(plugin.nested.begin(), plugin.nested.end(), [&](const OptionInfo& o) {
        return o.name == decider && std::find(o.choices.begin(), o.choices.end(), value) != o.choices.end();
      });
      if (!known)
        options.fail("has " + shown(option.name) + " for " + shown(value) + ", no choice of " + shown(decider));
    }
  }
}

}  // namespace

void read_note_options(const NoteField& options, PluginInfo& plugin) {
  for (const NoteField& item : options.items()) {
    OptionInfo option = read_option(item, plugin);
    (is_nested(option.name) ? plugin.nested : plugin.options).push_back(std::move(option));
  }
  check_nested(options, plugin);
}

}  // namespace belay::runtime
