// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/sets.h"

#include <fmt/core.h>

#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "runtime/manifest/scan.h"

namespace belay::runtime {
namespace {

// Finds the '=' after the key, which may have quoted parts.
std::size_t find_equals(std::string_view argument) {
  char quote = 0;
  for (std::size_t i = 0; i < argument.size(); ++i) {
    const char c = argument[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '=') {
      return i;
    }
  }
  return argument.npos;
}

bool is_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789_") == text.npos;
}

class SetArgument {
 public:
  SetArgument(const std::string& argument, std::string label, Diagnostics& problems)
      : argument_(argument),
        equals_(find_equals(argument)),
        file_(std::make_shared<const std::string>(std::move(label))),
        problems_(problems) {
    problems_.add_source(*file_, argument);
  }

  void apply(TomlNode& root) {
    if (equals_ == argument_.npos) {
      problems_.add({*file_, 0, 1}, "[B1037] there is no value",
                    "write --set key.path=value, for instance --set run.max_steps=100");
      return;
    }
    // Key and value stay at the argument's columns, so that the parser's columns are right.
    const std::string key = argument_.substr(0, equals_);
    const std::string value = argument_.substr(equals_ + 1);
    if (key.find('\n') != key.npos) {
      problems_.add({*file_, 0, 1}, "[B1037] a key is one line", "write --set key.path=value");
      return;
    }
    Diagnostics found;
    if (!within_limits({*file_, argument_}, found)) return add_relocated(found, problems_);
    std::optional<TomlNode> path = parse(key + "=0", problems_);
    if (!path) return;
    if (!leads_to_a_value(*path)) {
      problems_.add({*file_, 0, 1}, "[B1037] there is a comment in place of the key",
                    "write --set key.path=value; a key with a '#' in it is quoted");
      return;
    }
    if (std::optional<TomlNode> node = parse_value(value)) put(root, *path, std::move(*node));
  }

 private:
  // Returns the document's table, with places in the argument.
  std::optional<TomlNode> parse(const std::string& text, Diagnostics& problems) const {
    Diagnostics found;
    std::optional<TomlNode> tree = parse_toml({*file_, text}, found);
    add_relocated(found, problems);
    if (tree) relocate(*tree);
    return tree;
  }

  void add_relocated(const Diagnostics& found, Diagnostics& problems) const {
    for (Diagnostic& d : found.sorted()) {
      d.at = {*file_, 0, d.at.line > 1 ? 1 : d.at.column};
      problems.add(std::move(d));
    }
  }

  void relocate(TomlNode& node) const {
    relocate(node.at);
    if (auto* list = std::get_if<TomlList>(&node.value))
      for (TomlNode& element : *list) relocate(element);
    if (auto* table = std::get_if<TomlTable>(&node.value)) {
      for (TomlEntry& entry : *table) {
        relocate(entry.at);
        relocate(entry.node);
      }
    }
  }

  void relocate(Place& place) const { place = {file_, 0, place.line == 1 ? place.column : 1}; }

  std::optional<TomlNode> parse_value(const std::string& value) const {
    const std::size_t first = value.find_first_not_of(" \t");
    if (first == value.npos) return text_node(value);
    Diagnostics ignored;
    const bool must_be_toml = value.find_first_of("\"'[{", first) == first || is_integer(value);
    std::string key(equals_, ' ');
    key[0] = 'v';
    std::optional<TomlNode> tree = parse(key + "=" + value, must_be_toml ? problems_ : ignored);
    if (!tree && must_be_toml) return std::nullopt;
    // There is more than one entry if the value has a line break and another key after it.
    if (!tree || std::get<TomlTable>(tree->value).size() != 1) return text_node(value);
    return std::move(std::get<TomlTable>(tree->value)[0].node);
  }

  TomlNode text_node(const std::string& value) const {
    TomlNode node;
    node.at = {file_, 0, static_cast<int>(equals_) + 2};
    node.value = value;
    return node;
  }

  // Checks for tables with one entry each, down to the 0 after the key. It is missing if a '#' comes before it.
  static bool leads_to_a_value(const TomlNode& path) {
    const TomlNode* at = &path;
    for (const TomlTable* table; (table = std::get_if<TomlTable>(&at->value)) != nullptr; at = &table->front().node)
      if (table->empty()) return false;
    return std::holds_alternative<std::int64_t>(at->value);
  }

  // `path` leads to a value.
  void put(TomlNode& root, const TomlNode& path, TomlNode value) const {
    TomlNode* at = &root;
    std::string name;
    for (const TomlNode* level = &path; const auto* table = std::get_if<TomlTable>(&level->value);
         level = &table->front().node) {
      const TomlEntry& part = table->front();
      at = step(*at, part, name);
      if (at == nullptr) return;
      name += (name.empty() ? "" : ".") + part.key;
    }
    *at = std::move(value);
  }

  // Returns the node below `at` that `part` names, and makes it if it is missing. Null, with a problem: that is not
  // possible.
  TomlNode* step(TomlNode& at, const TomlEntry& part, const std::string& name) const {
    if (auto* list = std::get_if<TomlList>(&at.value)) {
      std::size_t index = 0;
      const char* end = part.key.data() + part.key.size();
      const auto [rest, error] = std::from_chars(part.key.data(), end, index);
      if (error == std::errc() && rest == end && index < list->size()) return &(*list)[index];
      problems_.add(part.at.location(),
                    fmt::format("[B1038] {} is a list of {}, without an element {}", name, list->size(), part.key),
                    list->empty() ? "" : fmt::format("elements are 0 to {}", list->size() - 1));
      return nullptr;
    }
    auto* table = std::get_if<TomlTable>(&at.value);
    if (table == nullptr) {
      problems_.add(part.at.location(),
                    fmt::format("[B1038] {0} is {1}, so there is no {0}.{2}", name, found_text(at), part.key),
                    "`belay show` lists the keys");
      return nullptr;
    }
    if (TomlEntry* entry = find(*table, part.key)) return &entry->node;
    table->push_back({part.key, part.at, {part.at, TomlTable{}}});
    return &table->back().node;
  }

  const std::string& argument_;
  const std::size_t equals_;
  const std::shared_ptr<const std::string> file_;
  Diagnostics& problems_;
};

}  // namespace

void apply_sets(TomlNode& root, const std::vector<std::string>& sets, Diagnostics& problems) {
  std::map<std::string, int> given;
  for (const std::string& argument : sets) {
    // Locations have this name for the argument. A repeated key needs another name.
    std::string label = "--set " + argument.substr(0, find_equals(argument));
    if (const int times = ++given[label]; times > 1) label += fmt::format(" ({})", times);
    SetArgument(argument, std::move(label), problems).apply(root);
  }
}

}  // namespace belay::runtime
