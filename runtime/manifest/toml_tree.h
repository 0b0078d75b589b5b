// SPDX-License-Identifier: Apache-2.0
// A TOML document as plain values with their places. Only this header's source uses the TOML library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/parse.h"

namespace belay::runtime {

// A Location that shares the file's name with all others of its document.
struct Place {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;

  Location location() const { return {*file, line, column}; }
};

struct TomlDate {
  std::string text;
};
struct TomlNode;
struct TomlEntry;
using TomlList = std::vector<TomlNode>;
using TomlTable = std::vector<TomlEntry>;  // in the order written

struct TomlNode {
  Place at;
  std::variant<bool, std::int64_t, double, std::string, TomlDate, TomlList, TomlTable> value;
};

struct TomlEntry {
  std::string key;
  Place at;
  TomlNode node;
};

// Returns the document's table. None: it is no TOML. `problems` gets the problem, and it looks for no others. The
// source is within_limits().
std::optional<TomlNode> parse_toml(const ManifestSource& source, Diagnostics& problems);

// Returns null if there is none.
const TomlEntry* find(const TomlTable& table, std::string_view key);
TomlEntry* find(TomlTable& table, std::string_view key);

// Describes the value for messages: `an integer`, `the string "10"`, `a table`.
std::string found_text(const TomlNode& node);

}  // namespace belay::runtime
