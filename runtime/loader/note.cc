// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/note.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "belay/detail/note.h"
#include "belay/module.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxText = 64 * 1024;  // of one text in the note
constexpr std::size_t kMaxShown = 60;

// A value of the note that knows its place in it, for messages. Lives no longer than the one it was got from.
class Field {
 public:
  explicit Field(const Json& note) : json_(note) {}

  [[noreturn]] void fail(const std::string& reason) const { throw NoteError(said(reason)); }
  std::string said(const std::string& reason) const { return "\"" + place() + "\" " + reason; }
  const Json& json() const { return json_; }

  std::optional<Field> find(const char* key) const {
    if (!json_.is_object()) fail("must be an object");
    const auto it = json_.find(key);
    if (it == json_.end()) return std::nullopt;
    return Field(*it, *this, key, 0);
  }
  Field get(const char* key) const {
    if (auto field = find(key)) return *field;
    Field(json_, *this, key, 0).fail("is missing");
  }
  std::string text() const {
    if (!json_.is_string()) fail("must be a text");
    const auto& text = json_.get_ref<const std::string&>();
    if (text.size() > kMaxText) fail("is longer than 64 KiB");
    return text;
  }
  double number() const {
    if (!json_.is_number()) fail("must be a number");
    return json_.get<double>();
  }
  bool boolean() const {
    if (!json_.is_boolean()) fail("must be true or false");
    return json_.get<bool>();
  }
  std::int64_t integer() const {
    if (!json_.is_number_integer() || (json_.is_number_unsigned() && json_.get<std::uint64_t>() > INT64_MAX))
      fail("must be an integer of 64 bits");
    return json_.get<std::int64_t>();
  }
  std::vector<Field> items() const {
    if (!json_.is_array()) fail("must be a list");
    std::vector<Field> all;
    all.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) all.push_back(Field(json_[i], *this, nullptr, i));
    return all;
  }

 private:
  Field(const Json& json, const Field& parent, const char* key, std::size_t index)
      : json_(json), parent_(&parent), key_(key), index_(index) {}

  // "plugins.0.options.2.type". Put together only for a message: a program start reads every note that lies about.
  std::string place() const {
    if (parent_ == nullptr) return "";
    const std::string above = parent_->place(), own = key_ != nullptr ? key_ : std::to_string(index_);
    return above.empty() ? own : above + "." + own;
  }

  const Json& json_;
  const Field* parent_ = nullptr;  // null: the note itself
  const char* key_ = nullptr;      // null: an item of a list
  std::size_t index_ = 0;
};

std::string shown(std::string text) {
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return "\"" + escaped(text) + "\"";
}

std::vector<std::string> texts(const Field& list) {
  std::vector<std::string> all;
  for (const Field& item : list.items()) all.push_back(item.text());
  return all;
}

std::string plugin_name(const Field& field) {
  std::string name = field.text();
  if (!detail::is_plugin_name(name))
    field.fail("is " + shown(name) + ", must be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such");
  return name;
}

struct TypeName {
  OptionType type;
  bool list;
};

constexpr TypeName kTypes[] = {{OptionType::kBool, false},   {OptionType::kInt, false},  {OptionType::kFloat, false},
                               {OptionType::kString, false}, {OptionType::kPath, false}, {OptionType::kTable, false},
                               {OptionType::kBool, true},    {OptionType::kInt, true},   {OptionType::kFloat, true},
                               {OptionType::kString, true},  {OptionType::kPath, true}};

// What a later version of abi.h may have and this one has not: it makes one plugin unusable, not the file.
class UnknownHere : public NoteError {
 public:
  using NoteError::NoteError;
};

void read_type(const Field& field, OptionInfo& option) {
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
OptionValue list_of(const Field& field, Read read) {
  std::vector<T> values;
  for (const Field& item : field.items()) values.push_back(read(item));
  return values;
}

OptionValue read_default(const Field& field, const OptionInfo& option) {
  const auto boolean = [](const Field& f) { return f.boolean(); };
  const auto integer = [](const Field& f) { return f.integer(); };
  const auto number = [](const Field& f) { return f.number(); };
  const auto text = [](const Field& f) { return f.text(); };
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

// Nobody could write such a default in a manifest.
void check_default(const Field& field, const OptionInfo& option) {
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
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) number(static_cast<double>(value));
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>>)
          each(value, number);
        if constexpr (std::is_same_v<T, std::string>) text(value);
        if constexpr (std::is_same_v<T, std::vector<std::string>>) each(value, text);
      },
      *option.default_value);
}

// Of `plugin`, whose earlier options are there.
void check_option_name(const Field& field, const std::string& name, const PluginInfo& plugin) {
  const std::string whose = std::string("of the ") + kind_name(plugin.kind) + " \"" + plugin.name + "\"";
  if (!detail::is_option_name(name))
    field.fail("is " + shown(name) + ": the name of an option " + whose + " consists of letters, digits, '_' and '-'");
  if (detail::is_reserved_option(kind_name(plugin.kind), name))
    field.fail("is " + shown(name) + ", a manifest's own key: the option " + whose + " needs another name");
  if (plugin.option(name) != nullptr)
    field.fail("is " + shown(name) + " again: another option " + whose + " has that name");
}

OptionInfo read_option(const Field& field, const PluginInfo& plugin) {
  OptionInfo option;
  const Field name = field.get("name");
  option.name = name.text();
  check_option_name(name, option.name, plugin);
  read_type(field.get("type"), option);
  if (const auto help = field.find("help")) option.help = help->text();
  if (const auto required = field.find("required")) option.required = required->boolean();
  const auto default_field = field.find("default");
  if (default_field) option.default_value = read_default(*default_field, option);
  const bool is_number = option.type == OptionType::kInt || option.type == OptionType::kFloat;
  for (const auto& [key, limit] : {std::pair{"min", &option.min}, std::pair{"max", &option.max}}) {
    const auto value = field.find(key);
    if (!value) continue;
    if (!is_number) value->fail("is given, but only numbers have a range");
    *limit = value->number();
  }
  if (const auto choices = field.find("choices")) {
    if (option.type != OptionType::kString) choices->fail("are given, but only texts have choices");
    option.choices = texts(*choices);
  }
  if (default_field) check_default(*default_field, option);
  return option;
}

PluginKind read_kind(const Field& kind) {
  const std::string text = kind.text();
  if (const auto known = kind_from_name(text)) return *known;
  std::vector<std::string> all;
  for (const PluginKind k : kPluginKinds) all.emplace_back(kind_name(k));
  throw UnknownHere(kind.said("is " + shown(text) + ", this host knows: " + joined(all)));
}

// Throws UnknownHere or NoteError.
PluginInfo read_plugin(const Field& field) {
  PluginInfo plugin;
  const Field kind = field.get("kind");
  plugin.name = plugin_name(field.get("name"));
  plugin.kind = read_kind(kind);
  if (const auto doc = field.find("doc")) plugin.doc = doc->text();
  if (const auto options = field.find("options"))
    for (const Field& item : options->items()) plugin.options.push_back(read_option(item, plugin));
  return plugin;
}

void check_depth(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) throw NoteError("it is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

Json parse_json(std::string_view text) {
  check_depth(text);  // the parser could do it, but takes half as long again then
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    throw NoteError(std::string("it is no JSON: ") + e.what());
  }
}

}  // namespace

const char* kind_name(PluginKind kind) noexcept { return detail::kind_name(static_cast<int>(kind)).data(); }

std::optional<PluginKind> kind_from_name(std::string_view name) noexcept {
  for (const PluginKind kind : kPluginKinds)
    if (name == kind_name(kind)) return kind;
  return std::nullopt;
}

const char* type_name(const OptionInfo& option) noexcept { return detail::option_type_name(option.type, option.list); }

const OptionInfo* PluginInfo::option(std::string_view option_name) const noexcept {
  for (const OptionInfo& o : options)
    if (o.name == option_name) return &o;
  return nullptr;
}

bool abi_fits(std::int64_t major, std::int64_t minor) noexcept {
  if (major != BELAY_ABI_MAJOR) return false;
  return BELAY_ABI_MAJOR == 0 ? minor == BELAY_ABI_MINOR : minor <= BELAY_ABI_MINOR;
}

ModuleInfo parse_note(std::string_view text) {
  const Json json = parse_json(text);
  const Field note(json);
  if (!json.is_object()) throw NoteError("it must be a JSON object");
  ModuleInfo module;
  module.text = text;
  const Field abi = note.get("abi");
  const std::vector<Field> numbers = abi.items();
  if (numbers.size() != 2) abi.fail("must be [major, minor]");
  module.abi_major = numbers[0].integer();
  module.abi_minor = numbers[1].integer();
  if (const auto version = note.find("version")) module.version = version->text();
  if (const auto toolchain = note.find("toolchain")) module.toolchain = toolchain->text();
  if (!abi_fits(module.abi_major, module.abi_minor)) return module;
  if (const auto isa = note.find("isa")) module.isa = texts(*isa);
  const Field plugins = note.get("plugins");
  std::set<std::pair<PluginKind, std::string>> names;
  std::size_t index = 0;
  for (const Field& item : plugins.items()) {
    try {
      PluginInfo p = read_plugin(item);
      p.index = index++;
      if (!names.insert({p.kind, p.name}).second)
        item.fail(std::string("repeats the ") + kind_name(p.kind) + " \"" + p.name + "\"");
      module.plugins.push_back(std::move(p));
    } catch (const UnknownHere& e) {
      ++index;
      module.unusable.push_back({item.get("kind").text(), item.get("name").text(), e.what()});
    }
  }
  if (index == 0) plugins.fail("is empty");
  return module;
}

}  // namespace belay::runtime
