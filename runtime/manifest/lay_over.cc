// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/lay_over.h"

#include <string>
#include <utility>

namespace belay::runtime {
namespace {

const std::string* string_at(const TomlTable& table, const char* key) {
  const TomlEntry* entry = find(table, key);
  return entry == nullptr ? nullptr : std::get_if<std::string>(&entry->node.value);
}

// A table without a plugin's name changes the existing one.
bool names_other_plugin(const TomlTable& base, const TomlTable& over) {
  for (const char* key : {"plugin", "file"}) {
    const std::string *before = string_at(base, key), *now = string_at(over, key);
    if (now != nullptr && (before == nullptr || *before != *now)) return true;
  }
  return false;
}

}  // namespace

void lay_over(TomlNode& base, TomlNode over) {
  auto* before = std::get_if<TomlTable>(&base.value);
  auto* now = std::get_if<TomlTable>(&over.value);
  if (before == nullptr || now == nullptr || names_other_plugin(*before, *now)) {
    base = std::move(over);
    return;
  }
  for (TomlEntry& entry : *now) {
    if (TomlEntry* there = find(*before, entry.key)) {
      there->at = entry.at;
      lay_over(there->node, std::move(entry.node));
    } else {
      before->push_back(std::move(entry));
    }
  }
}

}  // namespace belay::runtime
