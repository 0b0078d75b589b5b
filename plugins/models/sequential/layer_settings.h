// SPDX-License-Identifier: Apache-2.0
// The settings of one layer in the manifest: the keys of one table in
//
//   layers = [{ type = "dense", units = 128, activation = "relu" }, { type = "dense", units = 10 }]
//
// Each reader returns the value of a key, or its default. INVALID_ARGUMENT: a wrong kind or range. The message names
// the layer, the key and the valid values. After all reads, refuse_unknown finds the unread keys.
#pragma once

#include <belay/options.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sequential_model {

class LayerSettings {
 public:
  // Returns the settings of each table of the list, in order. `defaults` has tables by type. Their keys hold for the
  // layers of that type without them.
  static std::vector<LayerSettings> of_list(const belay::Table& layers, const belay::Table& defaults = {});

  const std::string& type() const { return type_; }
  // Returns "'layers.2' (conv)", for messages.
  std::string place() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::int64_t integer(std::string_view key, std::int64_t min, std::optional<std::int64_t> fallback = {});
  double number(std::string_view key, double min, double max, double fallback);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, const std::vector<std::string>& choices,
                   std::optional<std::string> fallback = {});
  // Accepts any string; empty if the key is absent.
  std::string free_text(std::string_view key);
  // Accepts one number for both directions, or [height, width].
  std::vector<std::int64_t> height_width(std::string_view key, std::optional<std::int64_t> fallback = {});
  std::vector<std::int64_t> integers(std::string_view key);
  void refuse_unknown() const;

 private:
  struct Entry {
    std::string key;
    belay_value value;
    bool used = false;
  };

  explicit LayerSettings(std::size_t number) : number_(number) {}
  bool has(std::string_view key) const;
  // Returns the entry and marks it as used. Null: the manifest has none.
  Entry* find(std::string_view key);
  [[noreturn]] void fail_kind(std::string_view key, const char* wanted) const;
  [[noreturn]] void fail_missing(std::string_view key) const;

  std::size_t number_;
  std::string type_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;  // keys that were read
};

}  // namespace sequential_model
