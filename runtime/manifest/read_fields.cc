// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/manifest/meant_value.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/read_options.h"
#include "runtime/manifest/sections.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/float32_value.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string range_text(IntegerRange range) {
  const IntegerRange all;
  if (range.max == all.max) return fmt::format("at least {}", range.min);
  return fmt::format("from {} to {}", range.min, range.max);
}

std::string range_text(NumberRange range) {
  const auto bound = [](double b) {
    return b == std::floor(b) && std::fabs(b) < 1e15 ? std::to_string(std::int64_t(b)) : toml_number(b);
  };
  if (!range.without_min && !range.without_max && std::isfinite(range.max))
    return "from " + bound(range.min) + " to " + bound(range.max);
  std::string low = (range.without_min ? "greater than " : "at least ") + bound(range.min);
  if (!std::isfinite(range.max)) return low;
  return low + (range.without_max ? " and less than " : " and at most ") + bound(range.max);
}

bool contains(NumberRange range, double value) {
  return (range.without_min ? value > range.min : value >= range.min) &&
         (range.without_max ? value < range.max : value <= range.max);
}

// Returns a help for "10" if 10 is wanted, and for 10.0.
std::string value_help(WantedValue wanted, const char* key, const TomlNode& node) {
  if (const auto* text = std::get_if<std::string>(&node.value)) return help_for_text(wanted, key, *text);
  if (const auto* number = std::get_if<double>(&node.value)) return help_for_number(wanted, key, *number);
  if (const auto* integer = std::get_if<std::int64_t>(&node.value))
    return help_for_number(wanted, key, static_cast<double>(*integer));
  return "";
}

}  // namespace

ReadFields::ReadFields(const TomlNode& node, std::string name, const ReadContext& context)
    : node_(node), table_(std::get<TomlTable>(node.value)), name_(std::move(name)), context_(context) {}

void ReadFields::boolean(const char* key, bool& value) {
  const TomlNode* node = value_of(key);
  if (node == nullptr) return;
  if (const bool* given = std::get_if<bool>(&node->value)) {
    value = *given;
  } else {
    refuse_type(key, *node, "true or false", value_help(WantedValue::kBoolean, key, *node));
  }
}

void ReadFields::integer(const char* key, std::int64_t& value, IntegerRange range) {
  if (const TomlNode* node = value_of(key)) read(key, *node, value, range);
}

void ReadFields::number(const char* key, double& value, NumberRange range) {
  if (const TomlNode* node = value_of(key)) read(key, *node, value, range);
}

void ReadFields::integer(const char* key, std::optional<std::int64_t>& value, IntegerRange range, const char*) {
  std::int64_t given = 0;
  if (const TomlNode* node = value_of(key); node != nullptr && read(key, *node, given, range)) value = given;
}

void ReadFields::number(const char* key, std::optional<double>& value, NumberRange range, const char*) {
  double given = 0;
  if (const TomlNode* node = value_of(key); node != nullptr && read(key, *node, given, range)) value = given;
}

void ReadFields::integers(const char* key, std::vector<std::int64_t>& value, IntegerRange range) {
  const TomlList* list = list_of(key, "a list of integers");
  if (list == nullptr) return;
  value.resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) read(key, (*list)[i], value[i], range);
}

void ReadFields::numbers(const char* key, std::vector<double>& value, NumberRange range) {
  const TomlList* list = list_of(key, "a list of numbers");
  if (list == nullptr) return;
  value.resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) read(key, (*list)[i], value[i], range);
}

void ReadFields::word(const char* key, std::string& value, const std::vector<std::string>& words) {
  const TomlNode* node = value_of(key);
  std::string given;
  if (node == nullptr || !read(key, *node, given)) return;
  if (std::find(words.begin(), words.end(), given) != words.end()) {
    value = given;
    return;
  }
  const std::string near = nearest_word(given, words);
  refuse(key, *node, fmt::format("[B1014] {}.{} must be one of {}; found \"{}\"", name_, key, joined(words), given),
         near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
}

void ReadFields::text(const char* key, std::string& value, const char*) {
  if (const TomlNode* node = value_of(key)) read(key, *node, value);
}

void ReadFields::path(const char* key, std::string& value, const char*) {
  const TomlNode* node = value_of(key);
  std::string given;
  if (node == nullptr || !read(key, *node, given)) return;
  if (auto expanded = expand_path(given, context_.directories, context_.env, node->at.location(), context_.problems)) {
    value = std::move(*expanded);
  } else {
    refused_.insert(key);
  }
}

void ReadFields::paths(const char* key, std::vector<std::string>& value) {
  const TomlList* list = list_of(key, "a list of strings");
  if (list == nullptr) return;
  value.clear();
  for (const TomlNode& node : *list) {
    std::string given;
    if (!read(key, node, given)) continue;
    auto expanded = expand_path(given, context_.directories, context_.env, node.at.location(), context_.problems);
    if (expanded) value.push_back(std::move(*expanded));
  }
}

void ReadFields::names(const char* key, std::vector<std::string>& value) {
  const TomlList* list = list_of(key, "a list of names");
  if (list == nullptr) return;
  value.clear();
  for (const TomlNode& node : *list)
    if (std::string name; read(key, node, name)) value.push_back(std::move(name));
}

void ReadFields::number_or_table(const char* key, double& value, NumberRange range, bool& is_table,
                                 const std::function<void(Fields&)>& visit_members) {
  const TomlNode* node = value_of(key);
  if (node == nullptr) return;
  is_table = std::holds_alternative<TomlTable>(node->value);
  if (!is_table) {
    read(key, *node, value, range);
    return;
  }
  ReadFields members(*node, name_ + "." + key, context_);
  visit_members(members);
  members.refuse_unvisited();
}

void ReadFields::tables(const char* key, std::size_t, const std::function<void(Fields&, std::size_t)>& visit_element) {
  const TomlList* list = list_of(key, "a list of tables");
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const TomlNode& node = (*list)[i];
    const std::string name = fmt::format("{}.{}.{}", name_, key, i);
    if (!std::holds_alternative<TomlTable>(node.value)) {
      refuse(key, node, fmt::format("[B1012] {} must be a table, found {}", name, found_text(node)),
             fmt::format("write {} = [{{ ... }}]", key));
      continue;
    }
    ReadFields element(node, name, context_);
    visit_element(element, i);
    element.refuse_unvisited();
  }
}

void ReadFields::options(std::vector<PluginOption>& options) {
  read_options(unvisited(), name_, options, context_.problems);
  for (const TomlEntry* entry : unvisited()) visited_.push_back(entry->key);
}

void ReadFields::only_for(const char* decided_by, const char* owner, bool applies) {
  owner_ = owner;
  applies_ = applies || refused_.count(decided_by) != 0;
}

void ReadFields::check(bool holds, const char* key, const std::string& message, const std::string& help) {
  if (holds || refused_.count(key) != 0) return;
  refused_.insert(key);
  context_.problems.add(place_of(key), message, help);
}

Location ReadFields::place_of(std::string_view key) const {
  const TomlEntry* entry = find(table_, key);
  return entry == nullptr ? node_.at.location() : entry->node.at.location();
}

std::vector<const TomlEntry*> ReadFields::unvisited() const {
  std::vector<const TomlEntry*> left;
  for (const TomlEntry& entry : table_)
    if (std::find(visited_.begin(), visited_.end(), entry.key) == visited_.end()) left.push_back(&entry);
  return left;
}

void ReadFields::refuse_unvisited() {
  for (const TomlEntry* entry : unvisited())
    context_.problems.add(entry->at.location(), fmt::format("[B1003] unknown key \"{}\" in [{}]", entry->key, name_),
                          help_for_unknown(entry->key));
}

const TomlNode* ReadFields::value_of(const char* key) {
  visited_.push_back(key);
  const TomlEntry* entry = find(table_, key);
  if (entry == nullptr) return nullptr;
  if (applies_) return &entry->node;
  refused_.insert(key);
  context_.problems.add(entry->at.location(), fmt::format("[B1016] {}.{} is for {} only", name_, key, owner_),
                        "take it away");
  return nullptr;
}

void ReadFields::refuse(std::string_view key, const TomlNode& at, const std::string& message, const std::string& help) {
  refused_.emplace(key);
  context_.problems.add(at.at.location(), message, help);
}

void ReadFields::refuse_type(const char* key, const TomlNode& at, const std::string& wanted, const std::string& help) {
  refuse(key, at, fmt::format("[B1012] {}.{} must be {}, found {}", name_, key, wanted, found_text(at)), help);
}

void ReadFields::refuse_range(const char* key, const TomlNode& at, const std::string& wanted) {
  refuse(key, at, fmt::format("[B1013] {}.{} must be {}, found {}", name_, key, wanted, found_text(at)));
}

bool ReadFields::read(const char* key, const TomlNode& node, std::int64_t& value, IntegerRange range) {
  const auto* given = std::get_if<std::int64_t>(&node.value);
  if (given == nullptr) {
    refuse_type(key, node, "an integer", value_help(WantedValue::kInteger, key, node));
  } else if (*given < range.min || *given > range.max) {
    refuse_range(key, node, range_text(range));
  } else {
    value = *given;
    return true;
  }
  return false;
}

bool ReadFields::read(const char* key, const TomlNode& node, double& value, NumberRange range) {
  const auto* integer = std::get_if<std::int64_t>(&node.value);
  const auto* number = std::get_if<double>(&node.value);
  const double given = integer != nullptr ? static_cast<double>(*integer) : number != nullptr ? *number : 0;
  if (integer == nullptr && number == nullptr) {
    refuse_type(key, node, "a number", value_help(WantedValue::kNumber, key, node));
  } else if (!std::isfinite(given)) {
    refuse_range(key, node, "a finite number");
  } else if (!contains(range, given)) {
    refuse_range(key, node, range_text(range));
  } else if (const std::string wrong = range.float32 ? float32_problem(given) : ""; !wrong.empty()) {
    refuse(key, node, fmt::format("[B1013] {}.{} is {}", name_, key, wrong));
  } else {
    value = given;
    return true;
  }
  return false;
}

bool ReadFields::read(const char* key, const TomlNode& node, std::string& value) {
  const auto* given = std::get_if<std::string>(&node.value);
  if (given == nullptr) {
    refuse_type(key, node, "a string",
                node.at.line == 0 ? "write it in quotes, inside those of the shell: '\"...\"'" : "write it in quotes");
  } else if (given->empty()) {
    refuse(key, node, fmt::format("[B1015] {}.{} must not be empty", name_, key),
           "take the key away if it needs no value");
  } else {
    value = *given;
    return true;
  }
  return false;
}

const TomlList* ReadFields::list_of(const char* key, const char* wanted) {
  const TomlNode* node = value_of(key);
  if (node == nullptr) return nullptr;
  const auto* list = std::get_if<TomlList>(&node->value);
  if (list == nullptr) refuse_type(key, *node, wanted, fmt::format("write it in brackets: {} = [...]", key));
  return list;
}

std::string ReadFields::help_for_unknown(const std::string& key) const {
  if (context_.problems.full()) return "";
  std::vector<std::string> owners;
  for (const SectionKeys& section : context_.known)
    if (section.section != name_ && std::find(section.keys.begin(), section.keys.end(), key) != section.keys.end())
      owners.push_back(section.section.empty() ? "the top of the manifest" : section_header(section.section));
  if (std::string here = help_for_key_in(key, name_); !here.empty()) return here;
  if (!owners.empty()) return "this key belongs to " + joined(owners, " or ");
  if (std::string other = help_for_other_key(key, name_); !other.empty()) return other;
  if (const std::string near = nearest(key, visited_); !near.empty())
    return "did you mean " + double_quoted(near) + "?";
  for (const SectionKeys& section : context_.known)
    if (const std::string near = nearest(key, section.keys); !near.empty() && !section.section.empty())
      return "did you mean " + double_quoted(near) + " of " + section_header(section.section) + "?";
  return "[" + name_ + "] has " + joined(visited_);
}

}  // namespace belay::runtime
