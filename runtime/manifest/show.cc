// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/show.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/manifest/sections.h"
#include "runtime/manifest/toml_text.h"

namespace belay::runtime {
namespace {

template <class T, class Write>
std::string list_text(const std::vector<T>& values, Write write) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + write(values[i]);
  return out + "]";
}

std::string to_text(bool value) { return value ? "true" : "false"; }
std::string to_text(std::int64_t value) { return std::to_string(value); }
std::string to_text(double value) { return toml_number(value); }
std::string to_text(const std::string& value) { return toml_string(value); }
template <class T>
std::string to_text(const std::vector<T>& values) {
  return list_text(values, [](const T& value) { return to_text(value); });
}

// Nested keys with dots, unless another option's key is the beginning of this one: there the whole is one key in
// quotes.
std::string option_key(const std::string& key, const std::set<std::string>& all) {
  std::string dotted;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = key.find('.', begin);
    if (dot != key.npos && all.count(key.substr(0, dot)) != 0) return toml_string(key);
    dotted += toml_key(key.substr(begin, dot == key.npos ? dot : dot - begin));
    if (dot == key.npos) return dotted;
    dotted += '.';
    begin = dot + 1;
  }
}

// Writes `key = value` lines, or with inline_table the inside of { }.
class WriteFields final : public Fields {
 public:
  explicit WriteFields(std::string& out, bool inline_table = false) : out_(out), inline_(inline_table) {}

  void boolean(const char* key, bool& value) override { write(key, to_text(value)); }
  void integer(const char* key, std::int64_t& value, IntegerRange) override { write(key, to_text(value)); }
  void number(const char* key, double& value, NumberRange) override { write(key, to_text(value)); }
  void integer(const char* key, std::optional<std::int64_t>& value, IntegerRange, const char* unset) override {
    value ? write(key, to_text(*value)) : comment(key, unset);
  }
  void number(const char* key, std::optional<double>& value, NumberRange, const char* unset) override {
    value ? write(key, to_text(*value)) : comment(key, unset);
  }
  void integers(const char* key, std::vector<std::int64_t>& value, IntegerRange) override {
    write(key, to_text(value));
  }
  void numbers(const char* key, std::vector<double>& value, NumberRange) override { write(key, to_text(value)); }
  void word(const char* key, std::string& value, const std::vector<std::string>&) override {
    write(key, to_text(value));
  }
  void text(const char* key, std::string& value, const char* unset) override {
    value.empty() ? comment(key, unset) : write(key, to_text(value));
  }
  void path(const char* key, std::string& value, const char* unset) override { text(key, value, unset); }
  void paths(const char* key, std::vector<std::string>& value) override { write(key, to_text(value)); }
  void names(const char* key, std::vector<std::string>& value) override { write(key, to_text(value)); }
  void number_or_table(const char* key, double& value, NumberRange range, bool& is_table,
                       const std::function<void(Fields&)>& visit_members) override {
    if (!is_table) return number(key, value, range);
    std::string inside;
    WriteFields members(inside, true);
    visit_members(members);
    write(key, "{ " + inside + " }");
  }
  void options(std::vector<PluginOption>& options) override {
    std::set<std::string> keys;
    for (const PluginOption& option : options) keys.insert(option.key);
    for (const PluginOption& option : options) write(option_key(option.key, keys), toml_value(option.value));
  }
  void only_for(const char*, const char*, bool applies) override { applies_ = applies; }
  void check(bool, const char*, const std::string&, const std::string&) override {}

  void write(const std::string& key, const std::string& value) {
    if (!applies_) return;
    if (inline_ && !out_.empty()) out_ += ", ";
    out_ += key + " = " + value + (inline_ ? "" : "\n");
  }

 private:
  void comment(const char* key, std::string_view unset) {
    if (applies_ && !inline_ && !unset.empty())
      out_ += "# " + std::string(key) + ": not set, " + std::string(unset) + "\n";
  }

  std::string& out_;
  const bool inline_;
  bool applies_ = true;
};

class ManifestWriter {
 public:
  explicit ManifestWriter(Manifest manifest) : m_(std::move(manifest)) {}

  std::string text() {
    section("[run]", m_.run);
    section("[plugins]", m_.plugins);
    for (auto& [name, input] : m_.inputs) {
      header("[input." + toml_key(name) + "]");
      WriteFields fields(out_);
      visit(fields, input);
      fields.options(input.options);
    }
    if (m_.model) use("[model]", *m_.model, PluginTable::kModel);
    section("[optimizer]", m_.optimizer);
    write_pieces();
    if (m_.scaffold.saver) use("[scaffold.saver]", *m_.scaffold.saver, PluginTable::kSaver);
    for (PluginUse& init_fn : m_.scaffold.init_fn) use("[[scaffold.init_fn]]", init_fn, PluginTable::kInitFn);
    section("[checkpoint]", m_.checkpoint);
    section("[eval]", m_.eval);
    section("[predict]", m_.predict);
    section("[session]", m_.session);
    for (PluginUse& hook : m_.hooks) use("[[hooks]]", hook, PluginTable::kHook);
    for (MetricSection& metric : m_.metrics) section("[[metrics]]", metric);
    for (PluginUse& op : m_.ops) use("[[ops]]", op, PluginTable::kOp);
    if (m_.cluster) use("[cluster]", *m_.cluster, PluginTable::kCluster);
    return std::move(out_);
  }

 private:
  void header(const std::string& text) { out_ += (out_.empty() ? "" : "\n") + text + "\n"; }

  void write_pieces() {
    bool any = false;
    for (const ScaffoldPiece& piece : scaffold_pieces()) {
      const std::string& value = m_.scaffold.*piece.value;
      if (value.empty()) continue;
      if (!std::exchange(any, true)) header("[scaffold]");
      out_ += std::string(piece.key) + " = " + toml_string(value) + "\n";
    }
  }

  template <class Section>
  void section(const char* name, Section& section) {
    header(name);
    WriteFields fields(out_);
    visit(fields, section);
  }

  void use(const char* name, PluginUse& use, PluginTable table) {
    header(name);
    WriteFields fields(out_);
    visit(fields, use, table);
    fields.options(use.options);
  }

  Manifest m_;  // a copy, as the declarations of the keys are for reading too
  std::string out_;
};

}  // namespace

std::string effective_manifest(const Manifest& manifest) { return ManifestWriter(manifest).text(); }

}  // namespace belay::runtime
