// SPDX-License-Identifier: Apache-2.0
// Reads an option that is a list of tables from its flat keys: "0.from", "0.to", "1.from".
#pragma once

#include <belay/options.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace warm_start {

// One table of the list. The host has checked keys and types by the note. A test's driver may skip that check; then
// errors are INVALID_ARGUMENT here.
class TableEntry {
 public:
  explicit TableEntry(std::string place) : place_(std::move(place)) {}
  // Returns "'scopes.0'", for messages.
  const std::string& place() const noexcept { return place_; }
  void put(std::string key, const belay_value& value) { values_[std::move(key)] = &value; }

  // Empty if the key is not given.
  std::string_view text(std::string_view key) const;
  std::string_view required_text(std::string_view key) const;
  belay::List<belay::Str> texts(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;  // also accepts one number

 private:
  const belay_value* find(std::string_view key, std::int32_t type) const;

  std::string place_;
  std::map<std::string, const belay_value*, std::less<>> values_;
  mutable std::vector<belay::Str> room_;
};

// `option` is the option's name. The entries borrow from the table.
std::vector<TableEntry> entries_of(const std::string& option, const belay::Table& table);

}  // namespace warm_start
