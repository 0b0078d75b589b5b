// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/strict_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 16;

// Receives the parser's events and stops it above a limit. It makes no tree. The library's callback for a tree searches
// all of an object's entries at the end of each.
class Bounds final : public json::json_sax_t {
 public:
  explicit Bounds(std::size_t most_values) : most_values_(most_values) {}
  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(std::int64_t) override { return count(); }
  bool number_unsigned(std::uint64_t) override { return count(); }
  bool number_float(double, const std::string&) override { return count(); }
  bool string(std::string&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool start_object(std::size_t) override { return go_deeper(); }
  bool start_array(std::size_t) override { return go_deeper(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second)
      fail(Code::kDataLoss, fmt::format("[B4012] the key \"{}\" occurs twice in one object", escaped(name)));
    return count();
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& e) override {
    if (const auto* syntax = dynamic_cast<const json::parse_error*>(&e))
      fail(Code::kDataLoss, fmt::format("[B4012] it is no JSON at byte {}", syntax->byte == 0 ? 0 : syntax->byte - 1));
    fail(Code::kDataLoss, fmt::format("[B4012] it is no JSON that belay writes: {}", escaped(e.what())));
  }

 private:
  bool count() {
    if (++values_ > most_values_)
      fail(Code::kDataLoss, fmt::format("[B4012] it has more than {} values", most_values_));
    return true;
  }
  bool go_deeper() {
    if (keys_.size() == kMaxDepth)
      fail(Code::kDataLoss, fmt::format("[B4012] it is nested deeper than {} levels", kMaxDepth));
    keys_.emplace_back();
    return count();
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  const std::size_t most_values_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the open objects; those of lists stay empty
};

}  // namespace

json parse_json(std::string_view text, std::size_t most_values) {
  Bounds bounds(most_values);
  json::sax_parse(text.begin(), text.end(), &bounds);
  return json::parse(text.begin(), text.end());
}

JsonFields::JsonFields(const json& value, std::string where, std::initializer_list<std::string_view> keys,
                       std::initializer_list<std::string_view> optional)
    : value_(value), where_(std::move(where)) {
  if (!value.is_object()) fail(Code::kDataLoss, fmt::format("[B4012] {} is no object", where_.empty() ? "it" : where_));
  for (const std::string_view key : keys)
    if (!value.contains(key)) fail(Code::kDataLoss, fmt::format("[B4012] {} is missing", place(key)));
  for (const auto& [key, ignored] : value.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end() &&
        std::find(optional.begin(), optional.end(), key) == optional.end())
      fail(Code::kDataLoss, fmt::format("[B4012] {} is unknown", place(escaped(key))));
}

const json& JsonFields::field(std::string_view key) const { return *value_.find(key); }

bool JsonFields::has(std::string_view key) const { return value_.contains(key); }

std::string JsonFields::place(std::string_view key) const {
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

void JsonFields::wrong(std::string_view key, const char* expected) const {
  fail(Code::kDataLoss, fmt::format("[B4012] {} is no {}", place(key), expected));
}

const std::string& JsonFields::text(std::string_view key) const {
  const json& v = field(key);
  if (!v.is_string()) wrong(key, "string");
  return v.get_ref<const std::string&>();
}

std::uint64_t JsonFields::unsigned_integer(std::string_view key) const {
  const json& v = field(key);
  if (!v.is_number_unsigned()) wrong(key, "integer that is zero or more");
  return v.get<std::uint64_t>();
}

std::int64_t JsonFields::integer(std::string_view key) const {
  const std::uint64_t v = unsigned_integer(key);
  if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    wrong(key, "integer below 9223372036854775808");
  return static_cast<std::int64_t>(v);
}

const json& JsonFields::list(std::string_view key) const {
  const json& v = field(key);
  if (!v.is_array()) wrong(key, "list");
  return v;
}

const json& JsonFields::object(std::string_view key) const {
  const json& v = field(key);
  if (!v.is_object()) wrong(key, "object");
  return v;
}

}  // namespace belay::runtime
