// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/show.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/manifest/sections.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/text.h"

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

// Nested keys get dots. But if another option's key is the start of this one, the whole is one key in quotes.
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

// Visits every key that a section has and uses, with its value as TOML.
class ValueFields : public Fields {
 public:
  void boolean(const char* key, bool& value) override { write_if(key, to_text(value)); }
  void integer(const char* key, std::int64_t& value, IntegerRange) override { write_if(key, to_text(value)); }
  void number(const char* key, double& value, NumberRange) override { write_if(key, to_text(value)); }
  void integer(const char* key, std::optional<std::int64_t>& value, IntegerRange, const char* unset) override {
    value ? write_if(key, to_text(*value)) : not_set_if(key, unset);
  }
  void number(const char* key, std::optional<double>& value, NumberRange, const char* unset) override {
    value ? write_if(key, to_text(*value)) : not_set_if(key, unset);
  }
  void integers(const char* key, std::vector<std::int64_t>& value, IntegerRange) override {
    write_if(key, to_text(value));
  }
  void numbers(const char* key, std::vector<double>& value, NumberRange) override { write_if(key, to_text(value)); }
  void word(const char* key, std::string& value, const std::vector<std::string>&) override {
    write_if(key, to_text(value));
  }
  void text(const char* key, std::string& value, const char* unset) override {
    value.empty() ? not_set_if(key, unset) : write_if(key, to_text(value));
  }
  void path(const char* key, std::string& value, const char* unset) override { text(key, value, unset); }
  void paths(const char* key, std::vector<std::string>& value) override { write_if(key, to_text(value)); }
  void names(const char* key, std::vector<std::string>& value) override { write_if(key, to_text(value)); }
  void number_or_table(const char* key, double& value, NumberRange range, bool& is_table,
                       const std::function<void(Fields&)>& visit_members) override;
  void tables(const char* key, std::size_t size,
              const std::function<void(Fields&, std::size_t)>& visit_element) override;
  void options(std::vector<PluginOption>& options) override {
    std::set<std::string> keys;
    for (const PluginOption& option : options) keys.insert(option.key);
    for (const PluginOption& option : options) write_if(option_key(option.key, keys), toml_value(option.value));
  }
  void only_for(const char*, const char*, bool applies) override { applies_ = applies; }
  void check(bool, const char*, const std::string&, const std::string&) override {}

 protected:
  virtual void write(const std::string& key, const std::string& value) = 0;
  // `unset` describes the meaning of a missing value.
  virtual void not_set(const char*, std::string_view /*unset*/) {}

 private:
  void write_if(const std::string& key, const std::string& value) {
    if (applies_) write(key, value);
  }
  void not_set_if(const char* key, std::string_view unset) {
    if (applies_) not_set(key, unset);
  }

  bool applies_ = true;
};

// Writes the inside of { }.
class InlineFields final : public ValueFields {
 public:
  const std::string& inside() const noexcept { return out_; }

 private:
  void write(const std::string& key, const std::string& value) override {
    out_ += (out_.empty() ? "" : ", ") + key + " = " + value;
  }
  std::string out_;
};

void ValueFields::number_or_table(const char* key, double& value, NumberRange range, bool& is_table,
                                  const std::function<void(Fields&)>& visit_members) {
  if (!is_table) return number(key, value, range);
  InlineFields members;
  visit_members(members);
  write_if(key, "{ " + members.inside() + " }");
}

void ValueFields::tables(const char* key, std::size_t size,
                         const std::function<void(Fields&, std::size_t)>& visit_element) {
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < size; ++i) {
    InlineFields element;
    visit_element(element, i);
    elements.push_back("{ " + element.inside() + " }");
  }
  write_if(key, list_text(elements, [](const std::string& element) { return element; }));
}

// Writes `key = value` lines, and a comment for each key that is not set.
class LineFields final : public ValueFields {
 public:
  // `origin` returns the text after the value of a key.
  LineFields(std::string& out, std::function<std::string(const std::string& key)> origin)
      : out_(out), origin_(std::move(origin)) {}

 private:
  void write(const std::string& key, const std::string& value) override {
    out_ += key + " = " + value + (origin_ ? "  # " + origin_(key) : "") + "\n";
  }
  void not_set(const char* key, std::string_view unset) override {
    if (!unset.empty()) out_ += "# " + std::string(key) + ": not set, " + std::string(unset) + "\n";
  }
  std::string& out_;
  const std::function<std::string(const std::string& key)> origin_;
};

class KeysAndValues final : public ValueFields {
 public:
  KeysAndValues(ManifestValues& out, std::string section) : out_(out), section_(std::move(section)) {}

 private:
  void write(const std::string& key, const std::string& value) override { out_.push_back({section_, key, value}); }
  ManifestValues& out_;
  const std::string section_;
};

// Takes the sections of a manifest, in the order in which it is written.
class Sections {
 public:
  virtual ~Sections() = default;
  // `header` is as in TOML. `element` names an element of a list; empty: a table.
  virtual std::unique_ptr<Fields> begin(const std::string& header, const std::string& element) = 0;
};

// Names each element of a list of tables independent of its place: "csv_logger", a second one "csv_logger 2".
class ElementNames {
 public:
  std::string of(const std::string& name) {
    const int n = ++seen_[name];
    return n == 1 ? name : fmt::format("{} {}", name, n);
  }

 private:
  std::map<std::string, int> seen_;
};

const std::string& name_of(const PluginUse& use) {
  return !use.name.empty() ? use.name : !use.plugin.empty() ? use.plugin : use.file;
}

// The manifest is a copy, since the declarations of the keys also serve for reading.
void visit_sections(Manifest m, Sections& sections) {
  const auto section = [&](const char* header, auto& keys, const std::string& element = {}) {
    visit(*sections.begin(header, element), keys);
  };
  const auto use = [&](const char* header, PluginUse& keys, PluginTable table, const std::string& element = {}) {
    const std::unique_ptr<Fields> fields = sections.begin(header, element);
    visit(*fields, keys, table);
    fields->options(keys.options);
  };
  section("[run]", m.run);
  section("[plugins]", m.plugins);
  for (auto& [name, input] : m.inputs) {
    const std::unique_ptr<Fields> fields = sections.begin("[input." + toml_key(name) + "]", "");
    visit(*fields, input);
    fields->options(input.options);
  }
  if (m.model) use("[model]", *m.model, PluginTable::kModel);
  section("[optimizer]", m.optimizer);
  const std::vector<ScaffoldPiece>& pieces = scaffold_pieces();
  if (std::any_of(pieces.begin(), pieces.end(),
                  [&](const auto& piece) { return !(m.scaffold.*piece.value).empty(); })) {
    const std::unique_ptr<Fields> fields = sections.begin("[scaffold]", "");
    for (const ScaffoldPiece& piece : pieces) fields->text(piece.key, m.scaffold.*piece.value, "");
  }
  if (m.scaffold.saver) use("[scaffold.saver]", *m.scaffold.saver, PluginTable::kSaver);
  ElementNames init_fns, hooks, metrics, exporters, ops;
  for (PluginUse& p : m.scaffold.init_fn) use("[[scaffold.init_fn]]", p, PluginTable::kInitFn, init_fns.of(name_of(p)));
  section("[checkpoint]", m.checkpoint);
  section("[eval]", m.eval);
  section("[predict]", m.predict);
  section("[session]", m.session);
  for (PluginUse& p : m.hooks) use("[[hooks]]", p, PluginTable::kHook, hooks.of(name_of(p)));
  for (MetricSection& metric : m.metrics) section("[[metrics]]", metric, metrics.of(metric.role()));
  for (ExporterSection& p : m.exporters) {
    const std::unique_ptr<Fields> fields = sections.begin("[[exporters]]", exporters.of(name_of(p)));
    visit(*fields, p);
    fields->options(p.options);
  }
  for (PluginUse& p : m.ops) use("[[ops]]", p, PluginTable::kOp, ops.of(name_of(p)));
  if (m.cluster) {
    const std::unique_ptr<Fields> fields = sections.begin("[cluster]", "");
    visit(*fields, *m.cluster);
    fields->options(m.cluster->options);
  }
}

std::string origin_text(const Location& at) {
  return escaped(at.file) + (at.line > 0 ? fmt::format(":{}", at.line) : "");
}

class TextOfSections final : public Sections {
 public:
  // `places` is null if no origins are wanted.
  explicit TextOfSections(const Places* places) : places_(places) {}

  std::unique_ptr<Fields> begin(const std::string& header, const std::string&) override {
    text += (text.empty() ? "" : "\n") + header + "\n";
    if (places_ == nullptr) return std::make_unique<LineFields>(text, nullptr);
    return std::make_unique<LineFields>(text, [this, section = path_of(header)](const std::string& key) {
      const auto at = places_->find(section + "." + key);
      return at == places_->end() ? "default" : origin_text(at->second);
    });
  }
  std::string text;

 private:
  // Turns "[run]" into "run", and the second "[[hooks]]" into "hooks.1".
  std::string path_of(const std::string& header) {
    const bool list = header.starts_with("[[");
    std::string path = header.substr(list ? 2 : 1, header.size() - (list ? 4 : 2));
    // An init function may be one table instead of a list.
    if (list) path += places_->count(path + ".0") == 0 ? "" : fmt::format(".{}", elements_[path]++);
    return path;
  }

  const Places* const places_;
  std::map<std::string, std::size_t> elements_;
};

class ValuesOfSections final : public Sections {
 public:
  std::unique_ptr<Fields> begin(const std::string& header, const std::string& element) override {
    const std::size_t brackets = header.starts_with("[[") ? 2 : 1;
    const std::string section = header.substr(brackets, header.size() - 2 * brackets);
    return std::make_unique<KeysAndValues>(values, section + (element.empty() ? "" : "." + element));
  }
  ManifestValues values;
};

}  // namespace

std::string effective_manifest(const Manifest& manifest) {
  TextOfSections sections(nullptr);
  visit_sections(manifest, sections);
  return std::move(sections.text);
}

std::string manifest_with_origins(const Manifest& manifest) {
  TextOfSections sections(&manifest.places);
  visit_sections(manifest, sections);
  return std::move(sections.text);
}

ManifestValues manifest_values(const Manifest& manifest) {
  ValuesOfSections sections;
  visit_sections(manifest, sections);
  return std::move(sections.values);
}

std::map<std::string, const PluginUse*> elements_of(const std::vector<PluginUse>& uses, const std::string& list) {
  ElementNames names;
  std::map<std::string, const PluginUse*> elements;
  for (const PluginUse& use : uses) elements[list + "." + names.of(name_of(use))] = &use;
  return elements;
}

}  // namespace belay::runtime
