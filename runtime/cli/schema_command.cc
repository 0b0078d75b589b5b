// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/schema_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/cli/option_json.h"
#include "runtime/manifest/sections.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json typed(const char* type) { return {{"type", type}}; }

Json list_of(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

// Collects the keys of a section, each with its schema.
class SchemaFields final : public Fields {
 public:
  void boolean(const char* key, bool& value) override { add(key, typed("boolean")).emplace("default", value); }
  void integer(const char* key, std::int64_t& value, IntegerRange range) override {
    add(key, ranged(range)).emplace("default", value);
  }
  void number(const char* key, double& value, NumberRange range) override {
    add(key, ranged(range)).emplace("default", value);
  }
  void integer(const char* key, std::optional<std::int64_t>&, IntegerRange range, const char* unset) override {
    describe_unset(add(key, ranged(range)), unset);
  }
  void number(const char* key, std::optional<double>&, NumberRange range, const char* unset) override {
    describe_unset(add(key, ranged(range)), unset);
  }
  void integers(const char* key, std::vector<std::int64_t>&, IntegerRange range) override {
    add(key, list_of(ranged(range)));
  }
  void numbers(const char* key, std::vector<double>&, NumberRange range) override { add(key, list_of(ranged(range))); }
  void word(const char* key, std::string& value, const std::vector<std::string>& words) override {
    Json& schema = add(key, {{"enum", words}});
    if (!value.empty()) schema["default"] = value;
  }
  void text(const char* key, std::string& value, const char* unset) override {
    Json& schema = add(key, text_schema());
    describe_unset(schema, unset);
    if (!value.empty()) schema["default"] = value;
  }
  void path(const char* key, std::string&, const char* unset) override {
    describe_unset(add(key, text_schema()), unset);
  }
  void paths(const char* key, std::vector<std::string>&) override { add(key, list_of(text_schema())); }
  void names(const char* key, std::vector<std::string>&) override { add(key, list_of(text_schema())); }
  void number_or_table(const char* key, double& value, NumberRange range, bool&,
                       const std::function<void(Fields&)>& visit_members) override {
    SchemaFields members;
    visit_members(members);
    Json number = ranged(range);
    number["default"] = value;
    add(key, {{"anyOf", {std::move(number), std::move(members).section()}}});
  }
  // Which value of another key a key belongs to: said, not enforced.
  void only_for(const char*, const char* owner, bool) override { owner_ = owner; }
  void check(bool, const char*, const std::string&, const std::string&) override {}

  Json section() && {
    return {{"type", "object"}, {"properties", std::move(properties_)}, {"additionalProperties", false}};
  }
  Json properties() && { return std::move(properties_); }

 private:
  static Json text_schema() { return {{"type", "string"}, {"minLength", 1}}; }
  static Json ranged(IntegerRange range) {
    Json schema = typed("integer");
    if (range.min != IntegerRange{}.min) schema["minimum"] = range.min;
    if (range.max != IntegerRange{}.max) schema["maximum"] = range.max;
    return schema;
  }
  static Json ranged(NumberRange range) {
    Json schema = typed("number");
    if (range.min != NumberRange{}.min) schema["minimum"] = range.min;
    if (range.max != NumberRange{}.max) schema["maximum"] = range.max;
    if (range.without_min) schema["exclusiveMinimum"] = true;
    if (range.without_max) schema["exclusiveMaximum"] = true;
    return schema;
  }
  static void describe_unset(Json& schema, const std::string& unset) {
    if (!unset.empty()) schema["description"] = "not set: " + unset;
  }
  Json& add(const char* key, Json schema) {
    if (!owner_.empty()) schema["description"] = "for " + owner_ + " only";
    return properties_[key] = std::move(schema);
  }

  Json properties_ = Json::object();
  std::string owner_;
};

template <class Section>
Json section_schema() {
  Section section;
  SchemaFields fields;
  visit(fields, section);
  return std::move(fields).section();
}

Json reserved_properties(PluginTable table) {
  InputSection input;
  SchemaFields fields;
  if (table == PluginTable::kInput) {
    visit(fields, input);
  } else {
    visit(fields, input, table);
  }
  Json properties = std::move(fields).properties();
  if (table != PluginTable::kHook) properties.erase("on_error");
  return properties;
}

Json element_schema(const OptionInfo& option) {
  switch (option.type) {
    case OptionType::kBool: return typed("boolean");
    case OptionType::kInt:
    case OptionType::kFloat: {
      Json schema = typed(option.type == OptionType::kInt ? "integer" : "number");
      if (option.min) schema["minimum"] = *option.min;
      if (option.max) schema["maximum"] = *option.max;
      return schema;
    }
    case OptionType::kString:
      if (!option.choices.empty()) return {{"enum", option.choices}};
      return typed("string");
    case OptionType::kPath: return typed("string");
    case OptionType::kTable: return typed("object");
  }
  return Json::object();
}

Json option_schema(const OptionInfo& option) {
  Json schema = element_schema(option);
  if (option.list) {
    schema = list_of(std::move(schema));
  } else if (option.type == OptionType::kTable) {
    schema = {{"anyOf", {std::move(schema), list_of(typed("object"))}}};
  }
  if (!option.help.empty()) schema["description"] = option.help;
  if (option.default_value) schema["default"] = option_json(*option.default_value);
  return schema;
}

// A table that names one of the plugins and has its options, or a file, whose options are not known here.
Json plugin_schema(const PluginSearch& search, PluginKind kind, PluginTable table) {
  Json any = Json::array();
  const Json reserved = reserved_properties(table);
  for (const FoundPlugin& p : search.plugins()) {
    if (p.info.kind != kind || !p.shadowed_by.empty() || !p.conflicts_with.empty()) continue;
    Json properties = reserved;
    properties["plugin"] = {{"enum", {p.info.name}}};
    properties.erase("file");
    Json required = {"plugin"};
    if (kind == PluginKind::kOp) properties.erase("name");
    for (const OptionInfo& option : p.info.options) {
      if (kind == PluginKind::kOp) break;  // attributes: a model sets them
      properties[option.name] = option_schema(option);
      if (option.required) required.push_back(option.name);
    }
    any.push_back({{"type", "object"},
                   {"title", p.info.name},
                   {"description", p.info.doc},
                   {"properties", std::move(properties)},
                   {"required", std::move(required)},
                   {"additionalProperties", false}});
  }
  any.push_back(
      {{"type", "object"}, {"title", "a plugin by its file"}, {"properties", reserved}, {"required", {"file"}}});
  return {{"anyOf", std::move(any)}};
}

}  // namespace

int schema_command(const PluginSearch& search, std::ostream& out, std::ostream& err) {
  for (const std::string& warning : search.warnings()) err << "warning: " << escaped(warning) << "\n";
  const Json init_fn = plugin_schema(search, PluginKind::kInitFn, PluginTable::kInitFn);
  Json scaffold = {{"type", "object"},
                   {"properties",
                    {{"saver", plugin_schema(search, PluginKind::kSaver, PluginTable::kSaver)},
                     {"init_fn", {{"anyOf", {init_fn, list_of(init_fn)}}}}}},
                   {"additionalProperties", false}};
  for (const ScaffoldPiece& piece : scaffold_pieces())
    scaffold["properties"][piece.key] = {{"type", "string"}, {"minLength", 1}};
  const Json inputs = {{"type", "object"},
                       {"properties", Json::object()},
                       {"anyOf", {{{"required", {"train"}}}, {{"required", {"eval"}}}, {{"required", {"predict"}}}}},
                       {"additionalProperties", plugin_schema(search, PluginKind::kInput, PluginTable::kInput)}};
  Json metric = section_schema<MetricSection>();
  metric["required"] = Json::array({"kind"});
  const Json schema = {{"$schema", "http://json-schema.org/draft-04/schema#"},
                       {"title", "Belay manifest"},
                       {"type", "object"},
                       {"properties",
                        {{"run", section_schema<RunSettings>()},
                         {"plugins", section_schema<PluginsSection>()},
                         {"input", inputs},
                         {"model", plugin_schema(search, PluginKind::kModel, PluginTable::kModel)},
                         {"optimizer", section_schema<OptimizerSettings>()},
                         {"scaffold", scaffold},
                         {"checkpoint", section_schema<CheckpointSettings>()},
                         {"eval", section_schema<EvalSettings>()},
                         {"predict", section_schema<PredictSettings>()},
                         {"session", section_schema<SessionSettings>()},
                         {"hooks", list_of(plugin_schema(search, PluginKind::kHook, PluginTable::kHook))},
                         {"metrics", list_of(std::move(metric))},
                         {"ops", list_of(plugin_schema(search, PluginKind::kOp, PluginTable::kOp))}}},
                       {"required", {"input", "model"}},
                       {"additionalProperties", false}};
  out << schema.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  return 0;
}

}  // namespace belay::runtime
