// SPDX-License-Identifier: Apache-2.0
// The keys of a section, declared once and visited to read, write and list them.
//
//   void visit(Fields& f, CheckpointSettings& s) {
//     f.number("save_secs", s.save_secs, {.min = 0}, "every 600 s");
//     f.integer("max_to_keep", s.max_to_keep, {.min = 0});
//   }
//
// A reader sets the value if the key is given and valid, and else leaves the default. A writer changes no value. Keys
// are string literals.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/runtime/plugin_use.h"

namespace belay::runtime {

struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

// Only finite numbers are valid.
struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool without_min = false;
  bool without_max = false;
  bool float32 = false;  // true: the value becomes a float32, in which it must still be the same number
};

class Fields {
 public:
  virtual ~Fields() = default;

  virtual void boolean(const char* key, bool& value) = 0;
  virtual void integer(const char* key, std::int64_t& value, IntegerRange range) = 0;
  virtual void number(const char* key, double& value, NumberRange range) = 0;
  // These may stay unset; `unset` describes the meaning of that.
  virtual void integer(const char* key, std::optional<std::int64_t>& value, IntegerRange range, const char* unset) = 0;
  virtual void number(const char* key, std::optional<double>& value, NumberRange range, const char* unset) = 0;
  virtual void integers(const char* key, std::vector<std::int64_t>& value, IntegerRange range) = 0;
  virtual void numbers(const char* key, std::vector<double>& value, NumberRange range) = 0;
  // The value is one of `words`.
  virtual void word(const char* key, std::string& value, const std::vector<std::string>& words) = 0;
  // A given value is not empty. An empty value means that it is not set.
  virtual void text(const char* key, std::string& value, const char* unset) = 0;
  // Does the same for paths, which become absolute.
  virtual void path(const char* key, std::string& value, const char* unset) = 0;
  virtual void paths(const char* key, std::vector<std::string>& value) = 0;
  // The values are names of instances.
  virtual void names(const char* key, std::vector<std::string>& value) = 0;
  // The value is a number, or a table (then is_table) with the keys that `visit_members` visits.
  virtual void number_or_table(const char* key, double& value, NumberRange range, bool& is_table,
                               const std::function<void(Fields&)>& visit_members) = 0;

  // The value is a list of tables. A reader visits the given ones, one more than `size` after the other. Other visitors
  // visit the `size` existing ones.
  virtual void tables(const char* key, std::size_t size,
                      const std::function<void(Fields&, std::size_t)>& visit_element) = 0;

  // All keys of the table that are not visited: a plugin's options, which the loader checks. Call it last for a table.
  virtual void options(std::vector<PluginOption>& options) = 0;

  // The keys from here on are only for `owner` (name = "adam"). `applies`: whether they apply here. `decided_by` is the
  // key that decides it.
  virtual void only_for(const char* decided_by, const char* owner, bool applies) = 0;
  // Checks a rule over several keys. If it is broken, the message is at `key`.
  virtual void check(bool holds, const char* key, const std::string& message, const std::string& help) = 0;

  // An enumeration whose values count through `words`.
  template <class Enum>
  void choice(const char* key, Enum& value, const std::vector<std::string>& words) {
    std::string name = words[static_cast<std::size_t>(value)];
    word(key, name, words);
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == name) value = static_cast<Enum>(i);
  }
};

}  // namespace belay::runtime
