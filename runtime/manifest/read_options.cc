// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

namespace belay::runtime {
namespace {

// Turns nested tables and lists of tables into options with dotted keys.
class OptionReader {
 public:
  OptionReader(std::string table, std::vector<PluginOption>& options, Diagnostics& problems)
      : table_(std::move(table)), options_(options), problems_(problems) {}

  void read(const std::string& key, const Place& key_at, const TomlNode& node) {
    if (const auto* table = std::get_if<TomlTable>(&node.value)) {
      for (const TomlEntry& entry : *table) read(key + "." + entry.key, entry.at, entry.node);
    } else if (const auto* list = std::get_if<TomlList>(&node.value)) {
      read_list(key, key_at, node, *list);
    } else if (const auto* date = std::get_if<TomlDate>(&node.value)) {
      problems_.add(node.at.location(),
                    fmt::format("[B1022] {}.{} is the date {}; no option is a date", table_, key, date->text),
                    "write it in quotes if you mean a string");
    } else {
      std::visit([&](const auto& value) { add_scalar(key, key_at, node.at, value); }, node.value);
    }
  }

 private:
  template <class T>
  void add_scalar(const std::string& key, const Place& key_at, const Place& value_at, const T& value) {
    if constexpr (std::is_constructible_v<OptionValue, T>) add(key, key_at, value_at, value);
  }

  void add(const std::string& key, const Place& key_at, const Place& value_at, OptionValue value) {
    if (!keys_.insert(key).second) {
      problems_.add(key_at.location(), fmt::format("[B1009] {}.{} is given twice", table_, key),
                    "a key in quotes with dots is the same as keys of nested tables");
      return;
    }
    options_.push_back({key, std::move(value), key_at.location(), value_at.location()});
  }

  void read_list(const std::string& key, const Place& key_at, const TomlNode& node, const TomlList& list) {
    const auto all = [&](auto... types) {
      return std::all_of(list.begin(), list.end(), [&](const TomlNode& e) {
        return (std::holds_alternative<typename decltype(types)::type>(e.value) || ...);
      });
    };
    using std::type_identity;
    if (list.empty()) {
      add(key, key_at, node.at, std::monostate{});
    } else if (all(type_identity<bool>{})) {
      add(key, key_at, node.at, values<bool>(list));
    } else if (all(type_identity<std::int64_t>{})) {
      add(key, key_at, node.at, values<std::int64_t>(list));
    } else if (all(type_identity<std::int64_t>{}, type_identity<double>{})) {
      add(key, key_at, node.at, values<double>(list));
    } else if (all(type_identity<std::string>{})) {
      add(key, key_at, node.at, values<std::string>(list));
    } else if (all(type_identity<TomlTable>{}, type_identity<TomlList>{})) {
      for (std::size_t i = 0; i < list.size(); ++i) read_part(fmt::format("{}.{}", key, i), list[i]);
    } else {
      problems_.add(node.at.location(), fmt::format("[B1023] {}.{} mixes kinds of values", table_, key),
                    "a list holds booleans, numbers, strings, or tables and lists");
    }
  }

  // An empty table has no key to pass on, so the list would silently be one shorter.
  void read_part(const std::string& key, const TomlNode& part) {
    const auto* table = std::get_if<TomlTable>(&part.value);
    if (table != nullptr && table->empty())
      problems_.add(part.at.location(), fmt::format("[B1023] {}.{} is an empty table", table_, key),
                    "set a key in it, or take it out");
    else
      read(key, part.at, part);
  }

  template <class T>
  static std::vector<T> values(const TomlList& list) {
    std::vector<T> out;
    out.reserve(list.size());
    for (const TomlNode& element : list) {
      const auto* integer = std::get_if<std::int64_t>(&element.value);
      if constexpr (std::is_same_v<T, double>) {
        out.push_back(integer != nullptr ? static_cast<double>(*integer) : std::get<double>(element.value));
      } else {
        out.push_back(std::get<T>(element.value));
      }
    }
    return out;
  }

  const std::string table_;
  std::vector<PluginOption>& options_;
  Diagnostics& problems_;
  std::set<std::string> keys_;
};

}  // namespace

void read_options(const std::vector<const TomlEntry*>& entries, const std::string& table,
                  std::vector<PluginOption>& options, Diagnostics& problems) {
  OptionReader reader(table, options, problems);
  for (const TomlEntry* entry : entries) reader.read(entry->key, entry->at, entry->node);
}

}  // namespace belay::runtime
