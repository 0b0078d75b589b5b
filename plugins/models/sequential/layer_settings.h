// SPDX-License-Identifier: Apache-2.0
// What the manifest says about one layer: the keys of one table in
//
//   layers = [{ type = "dense", units = 128, activation = "relu" }, { type = "dense", units = 10 }]
//
// Each reader returns the value of a key, or its default; a wrong kind or range is INVALID_ARGUMENT, and the message
// names layer, key and what is wanted. After all were read, refuse_unknown finds the keys that were not.
#pragma once

#include <belay/options.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sequential_model {

class LayerSettings {
 public:
  // One for each table of the list, in its order. defaults: tables by type, whose keys hold for the layers of that type
  // that do not have them.
  static std::vector<LayerSettings> of_list(const belay::Table& layers, const belay::Table& defaults = {});

  const std::string& type() const { return type_; }
  // "'layers.2' (conv)", for messages.
  std::string place() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::int64_t integer(std::string_view key, std::int64_t min, std::optional<std::int64_t> fallback = {});
  double number(std::string_view key, double min, double max, double fallback);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, const std::vector<std::string>& choices,
                   std::optional<std::string> fallback = {});
  // Any string; empty if the key is absent.
  std::string free_text(std::string_view key);
  // One number for both directions, or [height, width].
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
  // The entry, now used; null where the manifest has none.
  Entry* find(std::string_view key);
  [[noreturn]] void fail_kind(std::string_view key, const char* wanted) const;
  [[noreturn]] void fail_missing(std::string_view key) const;

  std::size_t number_;
  std::string type_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;  // keys that were asked for
};

}  // namespace sequential_model
