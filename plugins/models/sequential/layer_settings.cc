// SPDX-License-Identifier: Apache-2.0
#include "layer_settings.h"

#include <belay/error.h>
#include <belay/nearest.h>
#include <belay/tensor_text.h>

#include <algorithm>
#include <charconv>

namespace sequential_model {
namespace {

using belay::Code;

constexpr std::size_t kMaxLayers = 10000;
constexpr const char* kForm = "'layers' must be a list of tables: layers = [{ type = \"dense\", units = 10 }]";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is(const belay_value& value, std::int32_t type) { return value.type == type && value.count == 1; }

std::vector<std::int64_t> list_of(const belay_value& value) {
  const auto* data = static_cast<const std::int64_t*>(value.data);
  return std::vector<std::int64_t>(data, data + value.count);
}

}  // namespace

std::vector<LayerSettings> LayerSettings::of_list(const belay::Table& layers, const belay::Table& defaults) {
  std::vector<LayerSettings> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string_view path = layers.key(i);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    const auto digits = static_cast<std::size_t>(end - path.data());
    if (error != std::errc() || digits + 1 >= path.size() || path[digits] != '.' || number >= kMaxLayers)
      belay::fail(Code::kInvalidArgument, kForm);
    while (all.size() <= number) all.push_back(LayerSettings(all.size()));
    const std::string key(path.substr(digits + 1));
    if (key != "type") {
      all[number].entries_.push_back({key, layers.value(i)});
      continue;
    }
    if (!is(layers.value(i), BELAY_VALUE_TEXT)) all[number].fail("'type' must be a string such as \"dense\"");
    all[number].type_ = layers.text(i);
  }
  if (all.empty()) belay::fail(Code::kInvalidArgument, kForm);
  for (const LayerSettings& layer : all)
    if (layer.type_.empty()) layer.fail("there is no 'type'; name the layer's, such as type = \"dense\"");
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    const std::string_view path = defaults.key(i), type = path.substr(0, path.find('.'));
    const std::string key(path.substr(std::min(path.size(), type.size() + 1)));
    for (LayerSettings& layer : all)
      if (layer.type_ == type && !layer.has(key)) layer.entries_.push_back({key, defaults.value(i)});
  }
  return all;
}

bool LayerSettings::has(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
}

std::string LayerSettings::place() const {
  return "'layers." + std::to_string(number_) + "'" + (type_.empty() ? "" : " (" + type_ + ")");
}

void LayerSettings::fail(const std::string& what) const { belay::fail(Code::kInvalidArgument, place() + ": " + what); }

LayerSettings::Entry* LayerSettings::find(std::string_view key) {
  known_.emplace_back(key);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.used = true;
    return &entry;
  }
  return nullptr;
}

void LayerSettings::fail_kind(std::string_view key, const char* wanted) const {
  fail("'" + std::string(key) + "' must be " + wanted);
}

void LayerSettings::fail_missing(std::string_view key) const { fail("'" + std::string(key) + "' is required"); }

std::int64_t LayerSettings::integer(std::string_view key, std::int64_t min, std::optional<std::int64_t> fallback) {
  const Entry* entry = find(key);
  if (entry == nullptr && !fallback) fail_missing(key);
  if (entry == nullptr) return *fallback;
  if (!is(entry->value, BELAY_VALUE_INT)) fail_kind(key, "an integer");
  const std::int64_t value = list_of(entry->value)[0];
  if (value < min)
    fail("'" + std::string(key) + "' is " + std::to_string(value) + ", must be >= " + std::to_string(min));
  return value;
}

double LayerSettings::number(std::string_view key, double min, double max, double fallback) {
  const Entry* entry = find(key);
  if (entry == nullptr) return fallback;
  const bool whole = is(entry->value, BELAY_VALUE_INT);
  if (!whole && !is(entry->value, BELAY_VALUE_FLOAT)) fail_kind(key, "a number");
  const double value =
      whole ? static_cast<double>(list_of(entry->value)[0]) : *static_cast<const double*>(entry->value.data);
  if (!(value >= min && value <= max))
    fail("'" + std::string(key) + "' is " + belay::rounded_text(value) + ", must be from " + belay::rounded_text(min) +
         " to " + belay::rounded_text(max));
  return value;
}

bool LayerSettings::boolean(std::string_view key, bool fallback) {
  const Entry* entry = find(key);
  if (entry == nullptr) return fallback;
  if (!is(entry->value, BELAY_VALUE_BOOL)) fail_kind(key, "true or false");
  return list_of(entry->value)[0] != 0;
}

std::string LayerSettings::free_text(std::string_view key) {
  const Entry* entry = find(key);
  if (entry == nullptr) return "";
  if (!is(entry->value, BELAY_VALUE_TEXT)) fail_kind(key, "a string");
  return std::string(belay::detail::view(*static_cast<const belay_str*>(entry->value.data)));
}

std::string LayerSettings::text(std::string_view key, const std::vector<std::string>& choices,
                                std::optional<std::string> fallback) {
  std::string value = free_text(key);
  if (value.empty() && !fallback) fail_missing(key);
  if (value.empty()) return *fallback;
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    fail("'" + std::string(key) + "' is \"" + value + "\"" + belay::did_you_mean(value, choices) +
         ", must be one of: " + joined(choices));
  return value;
}

std::vector<std::int64_t> LayerSettings::height_width(std::string_view key, std::optional<std::int64_t> fallback) {
  const Entry* entry = find(key);
  if (entry == nullptr && !fallback) fail_missing(key);
  if (entry == nullptr) return {*fallback, *fallback};
  const std::int32_t type = entry->value.type & ~BELAY_VALUE_LIST;
  if (type != BELAY_VALUE_INT || entry->value.count < 1 || entry->value.count > 2)
    fail_kind(key, "an integer, or [height, width]");
  const std::vector<std::int64_t> sizes = list_of(entry->value);
  for (const std::int64_t size : sizes)
    if (size < 1) fail("'" + std::string(key) + "' is " + std::to_string(size) + ", must be >= 1");
  return {sizes.front(), sizes.back()};
}

std::vector<std::int64_t> LayerSettings::integers(std::string_view key) {
  const Entry* entry = find(key);
  if (entry == nullptr) fail_missing(key);
  if (entry->value.type != BELAY_VALUE_INT + BELAY_VALUE_LIST || entry->value.count == 0)
    fail_kind(key, "a list of integers");
  return list_of(entry->value);
}

void LayerSettings::refuse_unknown() const {
  for (const Entry& entry : entries_)
    if (!entry.used)
      fail("'" + entry.key + "' is unknown" + belay::did_you_mean(entry.key, known_) + "; it has " + joined(known_));
}

}  // namespace sequential_model
