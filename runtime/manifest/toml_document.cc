// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/toml_document.h"

#include <algorithm>
#include <variant>

#include "runtime/manifest/toml_text.h"

namespace belay::runtime {
namespace {

std::string inline_text(const TomlNode& node);

struct InlineText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return toml_number(value); }
  std::string operator()(const std::string& value) const { return toml_string(value); }
  std::string operator()(const TomlDate& value) const { return value.text; }
  std::string operator()(const TomlList& values) const {
    std::string out = "[";
    for (const TomlNode& value : values) out += (out.size() == 1 ? "" : ", ") + inline_text(value);
    return out + "]";
  }
  std::string operator()(const TomlTable& entries) const {
    std::string out = "{";
    for (const TomlEntry& e : entries)
      out += (out.size() == 1 ? " " : ", ") + toml_key(e.key) + " = " + inline_text(e.node);
    return out + (entries.empty() ? "}" : " }");
  }
};

std::string inline_text(const TomlNode& node) { return std::visit(InlineText(), node.value); }

bool is_list_of_tables(const TomlNode& node) {
  const auto* list = std::get_if<TomlList>(&node.value);
  return list != nullptr && !list->empty() && std::all_of(list->begin(), list->end(), [](const TomlNode& element) {
           return std::holds_alternative<TomlTable>(element.value);
         });
}

// Counts only values, not inner sections, whose headers contain its name.
bool has_values(const TomlTable& table) {
  return std::any_of(table.begin(), table.end(), [](const TomlEntry& e) {
    return !std::holds_alternative<TomlTable>(e.node.value) && !is_list_of_tables(e.node);
  });
}

void write(const TomlTable& table, const std::string& path, std::string& out) {
  for (const TomlEntry& e : table)
    if (!std::holds_alternative<TomlTable>(e.node.value) && !is_list_of_tables(e.node))
      out += toml_key(e.key) + " = " + inline_text(e.node) + "\n";
  for (const TomlEntry& e : table) {
    const std::string name = path + toml_key(e.key);
    if (const auto* section = std::get_if<TomlTable>(&e.node.value)) {
      if (section->empty() || has_values(*section)) out += (out.empty() ? "[" : "\n[") + name + "]\n";
      write(*section, name + ".", out);
    } else if (is_list_of_tables(e.node)) {
      for (const TomlNode& element : std::get<TomlList>(e.node.value)) {
        out += (out.empty() ? "[[" : "\n[[") + name + "]]\n";
        write(std::get<TomlTable>(element.value), name + ".", out);
      }
    }
  }
}

}  // namespace

std::string toml_document(const TomlTable& table) {
  std::string out;
  write(table, "", out);
  return out;
}

}  // namespace belay::runtime
