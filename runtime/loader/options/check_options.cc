// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/check_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "belay/detail/nested_name.h"
#include "runtime/loader/options/option_path.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/sections.h"
#include "runtime/platform/text/float32_value.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the host's keys in the same table.
std::vector<std::string> keys_beside(PluginKind kind) {
  std::vector<std::string> keys;
  const auto of_sections = [&](const std::vector<std::string>& names) {
    for (const SectionKeys& section : manifest_keys())
      if (std::find(names.begin(), names.end(), section.section) != names.end())
        keys.insert(keys.end(), section.keys.begin(), section.keys.end());
    return keys;
  };
  switch (kind) {
    case PluginKind::kOptimizer: return of_sections({"optimizer", "optimizer.groups"});
    case PluginKind::kSchedule: return of_sections({"optimizer.learning_rate"});
    case PluginKind::kInput: return reserved_keys(PluginTable::kInput);
    case PluginKind::kModel: return reserved_keys(PluginTable::kModel);
    case PluginKind::kSaver: return reserved_keys(PluginTable::kSaver);
    case PluginKind::kInitFn: return reserved_keys(PluginTable::kInitFn);
    case PluginKind::kHook: return reserved_keys(PluginTable::kHook);
    case PluginKind::kExporter: return reserved_keys(PluginTable::kExporter);
    case PluginKind::kCluster: return reserved_keys(PluginTable::kCluster);
    case PluginKind::kOp: return {};  // its attributes are set by a model
  }
  return keys;
}

// Problems of a key below a table are reported like those of an option.
class OptionsChecker {
 public:
  OptionsChecker(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths, Diagnostics& problems)
      : plugin_(plugin), use_(use), paths_(paths), problems_(problems) {
    for (const PluginOption& given : use.options) given_.emplace(given.key, &given);
  }

  OptionValues check() {
    for (const PluginOption& given : use_.options) check_given(given);
    for (const OptionInfo& option : plugin_.options)
      if (option.required && !seen_.contains(option.name) && !meant_.contains(option.name))
        missing(option, option.name, use_.at);
    for (const auto& [table, at] : tables_)
      for (const OptionInfo& option : plugin_.nested)
        if (option.required && needs(table, option)) missing(option, table + "." + std::string(key_of(option)), at);
    return std::move(values_);
  }

 private:
  std::string plugin() const { return std::string(kind_name(plugin_.kind)) + " " + double_quoted(plugin_.name); }
  // Returns the word for an option; a node's options are its attributes.
  std::string word() const { return plugin_.kind == PluginKind::kOp ? "attribute" : "option"; }
  static std::string_view key_of(const OptionInfo& nested) { return detail::key_of(nested.name); }

  std::string not_an_option(const std::string& key) const {
    return fmt::format("[B2030] \"{}\" is not an {} of {}", key, word(), plugin());
  }

  // An input that nothing reads probably has the options that are missing here.
  bool may_be_in_unread_input() const {
    if (plugin_.kind != PluginKind::kInput) return false;
    const std::vector<Diagnostic> found = problems_.sorted();
    return std::any_of(found.begin(), found.end(), [](const Diagnostic& d) { return d.code == "B1027"; });
  }

  void missing(const OptionInfo& option, const std::string& key, const Location& at) {
    if (may_be_in_unread_input()) return;
    problems_.add(at, fmt::format("[B2031] {} needs the {} \"{}\"", plugin(), word(), key),
                  fmt::format("{} is {}{}", option.name, words(option), option.help.empty() ? "" : ": " + option.help));
  }

  void check_given(const PluginOption& given) {
    if (const OptionInfo* option = plugin_.option(given.key)) {
      seen_.insert(option->name);
      if (is_list_of_tables(*option) && !std::holds_alternative<std::monostate>(given.value)) {
        refuse_form(*option, given);
      } else {
        take(*option, given);
      }
      return;
    }
    if (check_nested(given)) return;
    // Finds the longest declared option above the key.
    for (std::size_t dot = given.key.rfind('.'); dot != std::string::npos && dot != 0;
         dot = given.key.rfind('.', dot - 1)) {
      const std::string above = given.key.substr(0, dot);
      const OptionInfo* option = plugin_.option(above);
      if (option == nullptr) option = nested_at(above);
      if (option == nullptr) continue;
      check_below(*option, above, given);
      return;
    }
    unknown(given);
  }

  void take(const OptionInfo& option, const PluginOption& given) {
    if (const auto value = check_value(option, given, paths_, problems_)) values_.add(given.key, *value, option.type);
  }

  // `given` is below the option `above`, which does not declare it as a key.
  void check_below(const OptionInfo& option, const std::string& above, const PluginOption& given) {
    const bool first = seen_.insert(above).second;
    if (option.type != OptionType::kTable) {
      if (first)
        problems_.add(given.key_at, fmt::format("[B2032] \"{}\" must be {}, not a table", above, words(option)),
                      fmt::format("write {} = ...", above));
    } else if (!has_nested(option)) {
      check_numbers(option, given);
      values_.add(given.key, given.value, OptionType::kString);
    } else {
      unknown_nested(option, given, first);
    }
  }

  // The keys of this table are not declared, as for fed values.
  void check_numbers(const OptionInfo& table, const PluginOption& given) {
    if (table.watching) return;
    const auto check = [&](double v) {
      if (const std::string wrong = float32_problem(v); !wrong.empty())
        problems_.add(given.value_at, fmt::format("[B2033] \"{}\" is {}", given.key, wrong));
    };
    if (const auto* number = std::get_if<double>(&given.value)) check(*number);
    if (const auto* list = std::get_if<std::vector<double>>(&given.value))
      std::for_each(list->begin(), list->end(), check);
  }

  // True if keys below the table are declared.
  bool has_nested(const OptionInfo& table) const {
    return std::any_of(plugin_.nested.begin(), plugin_.nested.end(),
                       [&](const OptionInfo& o) { return detail::option_of(o.name) == table.name; });
  }
  bool is_list_of_tables(const OptionInfo& table) const {
    bool any = false;
    for (const OptionInfo& o : plugin_.nested) {
      if (detail::option_of(o.name) != table.name) continue;
      if (o.name.compare(table.name.size(), 2, "[]") != 0) return false;
      any = true;
    }
    return any;
  }
  const OptionInfo* nested_at(const std::string& key) const {
    for (const OptionInfo& o : plugin_.nested)
      if (path_matches(o.name, key)) return &o;
    return nullptr;
  }

  // Returns the table's value for `key`, or its default. Null: there is none.
  const std::string* text_at(const std::string& table, const std::string& key) const {
    if (const auto found = given_.find(table + "." + key); found != given_.end())
      return std::get_if<std::string>(&found->second->value);
    const OptionInfo* option = nested_at(table + "." + key);
    return option == nullptr || !option->default_value ? nullptr : std::get_if<std::string>(&*option->default_value);
  }
  // Returns the value that decides about the table's keys, if it is one of its choices.
  const std::string* decider(const std::string& table, const OptionInfo& option) const {
    const std::string* value = text_at(table, option.when_key);
    const OptionInfo* key = nested_at(table + "." + option.when_key);
    if (value == nullptr || key == nullptr) return nullptr;
    return std::find(key->choices.begin(), key->choices.end(), *value) == key->choices.end() ? nullptr : value;
  }
  bool belongs(const std::string& table, const OptionInfo& option) const {
    if (option.when_key.empty()) return true;
    const std::string* value = decider(table, option);
    return value != nullptr && std::find(option.when.begin(), option.when.end(), *value) != option.when.end();
  }
  bool needs(const std::string& table, const OptionInfo& option) const {
    if (key_of(option) == "*" || !path_matches(detail::table_of(option.name), table) || !belongs(table, option))
      return false;
    const std::string key = table + "." + std::string(key_of(option));
    const auto below = given_.lower_bound(key + ".");
    return !given_.contains(key) && !meant_.contains(key) &&
           (below == given_.end() || !below->first.starts_with(key + "."));
  }

  // Returns false if no path matches the key.
  bool check_nested(const PluginOption& given) {
    const OptionInfo* other = nullptr;
    for (const OptionInfo& option : plugin_.nested) {
      if (!path_matches(option.name, given.key)) continue;
      const std::string table = table_of_key(option.name, given.key);
      seen_.insert(std::string(detail::option_of(option.name)));
      tables_.try_emplace(table, given.key_at);
      if (belongs(table, option)) {
        take(option, given);
        return true;
      }
      other = &option;
    }
    if (other != nullptr) of_another_kind(*other, given);
    return other != nullptr;
  }

  void of_another_kind(const OptionInfo& option, const PluginOption& given) {
    const std::string table = table_of_key(option.name, given.key);
    const std::string* value = decider(table, option);
    if (value == nullptr) return;  // the deciding value is wrong itself, and was reported
    std::vector<std::string> kinds;
    for (const OptionInfo& o : plugin_.nested)
      if (o.name == option.name) kinds.insert(kinds.end(), o.when.begin(), o.when.end());
    problems_.add(
        given.key_at, fmt::format("[B2035] \"{}\" does not belong to {} = \"{}\"", given.key, option.when_key, *value),
        fmt::format("{}it is for {} = {}; {}", near_key(given, table), option.when_key, joined(kinds), keys_of(table)));
  }

  std::vector<std::string> key_names(const std::string& table) const {
    std::vector<std::string> names;
    for (const OptionInfo& o : plugin_.nested)
      if (path_matches(detail::table_of(o.name), table) &&
          (o.when_key.empty() || decider(table, o) == nullptr || belongs(table, o)))
        if (std::find(names.begin(), names.end(), key_of(o)) == names.end()) names.emplace_back(key_of(o));
    return names;
  }
  std::string keys_of(const std::string& table) const {
    return double_quoted(table) + " has: " + joined(key_names(table));
  }
  std::string near_key(const PluginOption& given, const std::string& table) {
    const std::string key = given.key.substr(given.key.rfind('.') + 1);
    std::string near = nearest(key, key_names(table));
    if (near.empty()) near = word_for_other("option", key, key_names(table));
    if (near.empty()) return "";
    meant_.insert(table + "." + near);
    return "did you mean " + double_quoted(near) + "? ";
  }

  void unknown_nested(const OptionInfo& option, const PluginOption& given, bool first) {
    const std::string table = given.key.substr(0, given.key.rfind('.'));
    if (!key_names(table).empty()) {
      problems_.add(given.key_at, not_an_option(given.key), near_key(given, table) + keys_of(table));
    } else if (!key_names(given.key).empty()) {
      problems_.add(given.value_at, fmt::format("[B2032] \"{}\" must be a table", given.key), keys_of(given.key));
    } else if (is_list_of_tables(option) && table == option.name) {
      if (first) refuse_form(option, given);
    } else {
      problems_.add(given.key_at, not_an_option(given.key), near_table(option, table) + declared(option));
    }
  }
  std::string near_table(const OptionInfo& option, const std::string& table) const {
    std::vector<std::string> tables;
    for (const OptionInfo& o : plugin_.nested)
      if (detail::option_of(o.name) == option.name) tables.emplace_back(detail::table_of(o.name));
    const std::string near = nearest(table, tables);
    return near.empty() || near == table ? "" : "did you mean " + double_quoted(near) + "? ";
  }
  std::string declared(const OptionInfo& table) const {
    std::vector<std::string> names;
    for (const OptionInfo& o : plugin_.nested)
      if (detail::option_of(o.name) == table.name) names.push_back(o.name);
    return double_quoted(table.name) + " has: " + joined(names);
  }
  void refuse_form(const OptionInfo& option, const PluginOption& given) {
    problems_.add(given.key == option.name ? given.value_at : given.key_at,
                  fmt::format("[B2032] \"{}\" must be a list of tables", option.name),
                  fmt::format("write {} = [{{ key = value }}]; each has: {}", option.name,
                              joined(key_names(option.name + ".0"))));
  }

  // In a manifest `file` is no option of an input, since it names the library. A program that sets it means the data.
  std::string help_for_file(const PluginOption& given) {
    if (given.key != "file" || plugin_.kind != PluginKind::kInput) return "";
    for (const OptionInfo& option : plugin_.options)
      if (option.type == OptionType::kPath) meant_.insert(option.name);
    return data_options_text(plugin_);
  }

  void unknown(const PluginOption& given) {
    std::vector<std::string> names;
    for (const OptionInfo& option : plugin_.options) names.push_back(option.name);
    if (const std::string help = help_for_file(given); !help.empty()) {
      problems_.add(given.key_at, not_an_option("file"), fmt::format("{}; options: {}", help, joined(names)));
      return;
    }
    const std::string near = option_meant(given.key, names);
    if (!near.empty()) meant_.insert(near);
    const std::string elsewhere = near.empty() ? place_of_key(given.key) : "";
    problems_.add(
        given.key_at, not_an_option(given.key),
        (near.empty() ? "" : fmt::format("did you mean \"{}\"? ", near)) + (elsewhere.empty() ? "" : elsewhere + "; ") +
            (names.empty() ? fmt::format("it has no {}s", word()) : fmt::format("{}s: {}", word(), joined(names))));
  }

  std::string option_meant(const std::string& key, const std::vector<std::string>& names) const {
    std::vector<std::string> candidates = keys_beside(plugin_.kind);
    candidates.insert(candidates.begin(), names.begin(), names.end());
    std::string near = nearest(key, candidates);
    if (near == key) return word_for_other("option", key, candidates);  // of [optimizer], in a group of variables
    if (near.empty()) near = word_for_other("option", key, names);
    if (near.empty() && plugin_.kind == PluginKind::kOptimizer) near = word_for_other("option", key, {"name"});
    return near;
  }

  // Returns the place for a key that resembles no option; empty: it is not known.
  std::string place_of_key(const std::string& key) const {
    const char* section = plugin_.kind == PluginKind::kInput       ? "input.train"
                          : plugin_.kind == PluginKind::kModel     ? "model"
                          : plugin_.kind == PluginKind::kOptimizer ? "optimizer"
                                                                   : "";
    if (std::string other = help_for_other_key(key, section); !other.empty()) return other;
    for (const SectionKeys& known : manifest_keys())
      if (!known.section.empty() && known.section != "plugins" && known.section != "metrics" &&
          std::find(known.keys.begin(), known.keys.end(), key) != known.keys.end())
        return "this key belongs to " + section_header(known.section);
    if (key == "prefetch") return "this key belongs to [input.NAME]";
    return "";
  }

  const PluginInfo& plugin_;
  const PluginUse& use_;
  const PathContext& paths_;
  Diagnostics& problems_;
  std::map<std::string_view, const PluginOption*> given_;  // by key
  OptionValues values_;
  std::set<std::string> seen_;
  std::set<std::string> meant_;             // options that misspelt keys meant; they are not also reported as missing
  std::map<std::string, Location> tables_;  // tables with a declared key, and the place of the first one
};

}  // namespace

std::string data_options_text(const PluginInfo& input) {
  std::vector<std::string> files, paths;
  for (const OptionInfo& o : input.options)
    if (o.type == OptionType::kPath) (o.name.starts_with("file") ? files : paths).push_back(double_quoted(o.name));
  if (files.empty() && paths.empty()) return "";
  return "what input " + double_quoted(input.name) + " reads is given by " +
         joined(files.empty() ? paths : files, " or ");
}

OptionValues check_options(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths,
                           Diagnostics& problems) {
  return OptionsChecker(plugin, use, paths, problems).check();
}

}  // namespace belay::runtime
