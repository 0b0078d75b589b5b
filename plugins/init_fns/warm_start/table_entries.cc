// SPDX-License-Identifier: Apache-2.0
#include "table_entries.h"

#include <belay/error.h>

#include <charconv>
#include <system_error>
#include <utility>

namespace warm_start {
namespace {

using belay::Code;
using belay::fail;

constexpr std::size_t kMaxEntries = 10000;

}  // namespace

const belay_value* TableEntry::find(std::string_view key, std::int32_t type) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  if ((found->second->type & ~BELAY_VALUE_LIST) != type)
    fail(Code::kInvalidArgument,
         place_ + ": '" + std::string(key) + "' must be " + (type == BELAY_VALUE_TEXT ? "text" : "whole numbers"));
  return found->second;
}

std::string_view TableEntry::text(std::string_view key) const {
  const belay_value* value = find(key, BELAY_VALUE_TEXT);
  if (value == nullptr) return {};
  if (value->count != 1) fail(Code::kInvalidArgument, place_ + ": '" + std::string(key) + "' must be one string");
  return belay::detail::view(*static_cast<const belay_str*>(value->data));
}

std::string_view TableEntry::required_text(std::string_view key) const {
  const std::string_view given = text(key);
  if (given.empty()) fail(Code::kInvalidArgument, place_ + ": '" + std::string(key) + "' is required");
  return given;
}

belay::List<belay::Str> TableEntry::texts(std::string_view key) const {
  room_.clear();
  if (const belay_value* value = find(key, BELAY_VALUE_TEXT))
    for (std::uint64_t i = 0; i < value->count; ++i)
      room_.emplace_back(belay::detail::view(static_cast<const belay_str*>(value->data)[i]));
  if (room_.empty()) fail(Code::kInvalidArgument, place_ + ": '" + std::string(key) + "' is required");
  return {room_.data(), room_.size()};
}

std::vector<std::int64_t> TableEntry::integers(std::string_view key) const {
  const belay_value* value = find(key, BELAY_VALUE_INT);
  if (value == nullptr) return {};
  const auto* data = static_cast<const std::int64_t*>(value->data);
  return std::vector<std::int64_t>(data, data + value->count);
}

std::vector<TableEntry> entries_of(const std::string& option, const belay::Table& table) {
  std::vector<TableEntry> all;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string_view path = table.key(i);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    const auto digits = static_cast<std::size_t>(end - path.data());
    if (error != std::errc() || digits + 1 >= path.size() || path[digits] != '.' || number >= kMaxEntries)
      fail(Code::kInvalidArgument, "'" + option + "' must be a list of tables: " + option + " = [{ ... }]");
    while (all.size() <= number) all.emplace_back("'" + option + "." + std::to_string(all.size()) + "'");
    all[number].put(std::string(path.substr(digits + 1)), table.value(i));
  }
  return all;
}

}  // namespace warm_start
