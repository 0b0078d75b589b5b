// SPDX-License-Identifier: Apache-2.0
// Reads the keys of one TOML table, and reports a problem for each wrong one.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/manifest/fields.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// The context for reading besides the table.
struct ReadContext {
  const ManifestDirectories& directories;
  const Environment& env;
  Diagnostics& problems;
  const std::vector<SectionKeys>& known;  // for keys in the wrong section
};

class ReadFields final : public Fields {
 public:
  // `node` is a table and outlives this object. `name` is its path ("run", "hooks.0").
  ReadFields(const TomlNode& node, std::string name, const ReadContext& context);

  void boolean(const char* key, bool& value) override;
  void integer(const char* key, std::int64_t& value, IntegerRange range) override;
  void number(const char* key, double& value, NumberRange range) override;
  void integer(const char* key, std::optional<std::int64_t>& value, IntegerRange range, const char* unset) override;
  void number(const char* key, std::optional<double>& value, NumberRange range, const char* unset) override;
  void integers(const char* key, std::vector<std::int64_t>& value, IntegerRange range) override;
  void numbers(const char* key, std::vector<double>& value, NumberRange range) override;
  void word(const char* key, std::string& value, const std::vector<std::string>& words) override;
  void text(const char* key, std::string& value, const char* unset) override;
  void path(const char* key, std::string& value, const char* unset) override;
  void paths(const char* key, std::vector<std::string>& value) override;
  void names(const char* key, std::vector<std::string>& value) override;
  void number_or_table(const char* key, double& value, NumberRange range, bool& is_table,
                       const std::function<void(Fields&)>& visit_members) override;
  void tables(const char* key, std::size_t size,
              const std::function<void(Fields&, std::size_t)>& visit_element) override;
  void options(std::vector<PluginOption>& options) override;
  void only_for(const char* decided_by, const char* owner, bool applies) override;
  void check(bool holds, const char* key, const std::string& message, const std::string& help) override;

  // Returns the place of a key's value, or the table's place if the key is not given.
  Location place_of(std::string_view key) const;

  // Returns the entries whose keys were not visited, in their order.
  std::vector<const TomlEntry*> unvisited() const;

  // Reports each of them.
  void refuse_unvisited();

 private:
  // Returns the value of a key that is given and applies; else null.
  const TomlNode* value_of(const char* key);
  void refuse(std::string_view key, const TomlNode& at, const std::string& message, const std::string& help = {});
  void refuse_type(const char* key, const TomlNode& at, const std::string& wanted, const std::string& help = {});
  void refuse_range(const char* key, const TomlNode& at, const std::string& wanted);
  bool read(const char* key, const TomlNode& node, std::int64_t& value, IntegerRange range);
  bool read(const char* key, const TomlNode& node, double& value, NumberRange range);
  bool read(const char* key, const TomlNode& node, std::string& value);
  const TomlList* list_of(const char* key, const char* wanted);
  std::string help_for_unknown(const std::string& key) const;

  const TomlNode& node_;
  const TomlTable& table_;
  const std::string name_;
  const ReadContext& context_;
  std::vector<std::string> visited_;
  std::set<std::string, std::less<>> refused_;  // keys with a problem
  const char* owner_ = "";                      // of the current keys
  bool applies_ = true;
};

}  // namespace belay::runtime
