// SPDX-License-Identifier: Apache-2.0
// `belay schema` prints the manifest's JSON Schema, with the options of every plugin that is found. It is for editors
// (taplo and its relatives read Draft 4) and for checks elsewhere.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "belay/detail/nested_name.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/text/option_json.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/sections.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json typed(const char* type) { return {{"type", type}}; }

Json list_of(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

// It uses if and then, not anyOf. So a validator names the wrong key, and does not report that no branch fits.
Json depends(Json condition, Json then, Json otherwise) {
  return {{"if", std::move(condition)}, {"then", std::move(then)}, {"else", std::move(otherwise)}};
}
Json list_or(Json list, Json single) { return depends(typed("array"), std::move(list), std::move(single)); }

// The condition that `key` has this value. If the value is the default, the key may also be missing.
Json is_value(const std::string& key, const std::string& value, bool is_default) {
  Json condition = {{"properties", {{key, {{"const", value}}}}}};
  if (!is_default) condition["required"] = Json::array({key});
  return condition;
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

// The schema of a key, with its description.
Json described(Json schema, const OptionInfo& option) {
  if (!option.help.empty()) schema["description"] = option.help;
  if (option.default_value) schema["default"] = option_json(*option.default_value);
  return schema;
}

Json value_schema(const OptionInfo& option) {
  Json schema = element_schema(option);
  if (!option.list) return schema;
  Json list = list_of(schema);
  return option.single ? list_or(std::move(list), std::move(schema)) : list;
}

// The schema of `table` ("layers[]") with its keys in `nested`. If the table has a `decider`, it is for tables with
// `value` there.
Json nested_table(const std::vector<OptionInfo>& nested, const std::string& table, const std::string& decider,
                  const std::string& value);

// Returns the schema at `path`, which is a separate table or a list of tables.
Json nested_schema(const std::vector<OptionInfo>& nested, const std::string& path) {
  std::string decider;
  for (const OptionInfo& o : nested)
    if (detail::table_of(o.name) == path && !o.when_key.empty()) decider = o.when_key;
  if (decider.empty()) return nested_table(nested, path, "", "");
  Json schema = typed("object"), all = Json::array();
  for (const OptionInfo& o : nested) {
    if (o.name != path + "." + decider) continue;
    schema["properties"][decider] = described({{"enum", o.choices}}, o);
    if (!o.default_value) schema["required"] = Json::array({decider});
    for (const std::string& value : o.choices) {
      const bool is_default = o.default_value && *o.default_value == OptionValue(value);
      all.push_back(
          {{"if", is_value(decider, value, is_default)}, {"then", nested_table(nested, path, decider, value)}});
    }
  }
  schema["allOf"] = std::move(all);
  return schema;
}

Json nested_table(const std::vector<OptionInfo>& nested, const std::string& table, const std::string& decider,
                  const std::string& value) {
  Json properties = Json::object(), required = Json::array(), others = false;
  for (const OptionInfo& o : nested) {
    if (o.name.compare(0, table.size() + 1, table + ".") != 0) continue;
    const std::string part = o.name.substr(table.size() + 1, o.name.find('.', table.size() + 1) - table.size() - 1);
    const std::string key(detail::without_brackets(part));
    Json schema;
    if (detail::table_of(o.name) != table) {
      schema = nested_schema(nested, table + "." + part);
      if (key != part) schema = list_of(std::move(schema));
    } else if (!o.when.empty() && std::find(o.when.begin(), o.when.end(), value) == o.when.end()) {
      continue;
    } else {
      // A key with any name in a manifest may have dots: then it is a table of tables.
      schema = described(key == decider ? Json{{"enum", {value}}} : value_schema(o), o);
      if (key == "*") schema = {{"anyOf", {std::move(schema), typed("object")}}};
      const bool has_default = o.default_value && *o.default_value == OptionValue(value);
      if (o.required || (key == decider && !has_default)) required.push_back(key);
    }
    (key == "*" ? others : properties[key]) = std::move(schema);
  }
  Json all = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", std::move(others)}};
  if (!required.empty()) all["required"] = std::move(required);
  return all;
}

Json table_schema(const OptionInfo& option, const std::vector<OptionInfo>& nested) {
  const auto is_there = [&](const std::string& path) {
    return std::any_of(nested.begin(), nested.end(),
                       [&](const OptionInfo& o) { return o.name.compare(0, path.size() + 1, path + ".") == 0; });
  };
  const std::string element = option.name + "[]";
  const bool table = is_there(option.name), list = is_there(element);
  if (!table && !list) return list_or(list_of(typed(option.single ? "string" : "object")), typed("object"));
  if (!list) return nested_schema(nested, option.name);
  Json tables = list_of(nested_schema(nested, element));
  return table ? list_or(std::move(tables), nested_schema(nested, option.name)) : tables;
}

Json option_schema(const OptionInfo& option, const std::vector<OptionInfo>& nested) {
  return described(option.type == OptionType::kTable ? table_schema(option, nested) : value_schema(option), option);
}

// The schema of a table that names a plugin by the key `name` and has its options beside the host's `keys`. The options
// of a plugin's file are not known here. `otherwise`: the plugin if the key is missing; empty: the key is required.
Json tables_of_plugins(const PluginSearch& search, PluginKind kind, const char* name, const Json& keys,
                       const std::string& otherwise) {
  Json names = Json::array(), all = Json::array();
  for (const FoundPlugin& p : search.plugins()) {
    if (p.info.kind != kind || !p.shadowed_by.empty() || !p.conflicts_with.empty()) continue;
    Json properties = keys;
    Json required = Json::array();
    properties.erase("file");
    if (kind == PluginKind::kOp) properties.erase("name");
    properties[name] = {{"const", p.info.name}};
    for (const OptionInfo& option : p.info.options) {
      if (kind == PluginKind::kOp) break;  // attributes: a model sets them
      properties[option.name] = option_schema(option, p.info.nested);
      if (option.required) required.push_back(option.name);
      // Groups of variables have separate options.
      if (properties.contains("groups"))
        properties["groups"]["items"]["properties"][option.name] = properties[option.name];
    }
    if (properties.contains("groups")) properties["groups"]["items"]["additionalProperties"] = false;
    Json table = {{"title", p.info.name}, {"description", p.info.doc}, {"properties", std::move(properties)}};
    if (!required.empty()) table["required"] = std::move(required);
    table["additionalProperties"] = false;
    names.push_back(p.info.name);
    all.push_back({{"if", is_value(name, p.info.name, p.info.name == otherwise)}, {"then", std::move(table)}});
  }
  Json by_name = {{"properties", {{name, {{"enum", std::move(names)}}}}}};
  if (!all.empty()) by_name["allOf"] = std::move(all);
  if (otherwise.empty()) by_name["required"] = Json::array({name});
  Json schema = depends({{"required", Json::array({"file"})}},
                        {{"title", "a plugin by its file"}, {"properties", keys}}, std::move(by_name));
  schema["type"] = "object";
  return schema;
}

// Collects the keys of a section, each with its schema.
class SchemaFields final : public Fields {
 public:
  // `search`: for a section with the options of plugins.
  explicit SchemaFields(const PluginSearch* search = nullptr) : search_(search) {}

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
    SchemaFields members(search_);
    visit_members(members);
    Json number = ranged(range);
    number["default"] = value;
    // A learning rate has the one table of this kind.
    Json table = tables_of_plugins(*search_, PluginKind::kSchedule, "schedule", std::move(members).properties(), "");
    add(key, depends(typed("object"), std::move(table), std::move(number)));
  }
  void tables(const char* key, std::size_t size,
              const std::function<void(Fields&, std::size_t)>& visit_element) override {
    SchemaFields members(search_);
    visit_element(members, size);
    add(key, list_of({{"type", "object"}, {"properties", std::move(members).properties()}}));
  }
  void options(std::vector<PluginOption>&) override {}
  // A key may need a value of another key. The schema describes this and does not enforce it.
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
    if (range.min != NumberRange{}.min) schema[range.without_min ? "exclusiveMinimum" : "minimum"] = range.min;
    if (range.max != NumberRange{}.max) schema[range.without_max ? "exclusiveMaximum" : "maximum"] = range.max;
    return schema;
  }
  static void describe_unset(Json& schema, const std::string& unset) {
    if (!unset.empty()) schema["description"] = "not set: " + unset;
  }
  Json& add(const char* key, Json schema) {
    if (!owner_.empty()) schema["description"] = "for " + owner_ + " only";
    return properties_[key] = std::move(schema);
  }

  const PluginSearch* search_;
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

Json optimizer_schema(const PluginSearch& search) {
  OptimizerSettings optimizer;
  SchemaFields fields(&search);
  visit(fields, optimizer);
  Json keys = std::move(fields).properties();
  keys["groups"]["items"]["required"] = Json::array({"vars"});
  return tables_of_plugins(search, PluginKind::kOptimizer, "name", keys, "sgd");
}

Json reserved_properties(PluginTable table) {
  SchemaFields fields;
  visit_reserved(fields, table);
  Json properties = std::move(fields).properties();
  if (table != PluginTable::kHook && table != PluginTable::kExporter) properties.erase("on_error");
  return properties;
}

Json plugin_schema(const PluginSearch& search, PluginKind kind, PluginTable table) {
  return tables_of_plugins(search, kind, "plugin", reserved_properties(table), "");
}

// A schema cannot have these: rules over several keys, ranges of lists' lengths, names that a graph must have.
int schema_command(const PluginSearch& search, std::ostream& out, std::ostream& err) {
  for (const std::string& warning : search.warnings()) err << "warning: " << escaped(warning) << "\n";
  const Json init_fn = plugin_schema(search, PluginKind::kInitFn, PluginTable::kInitFn);
  Json scaffold = {{"type", "object"},
                   {"properties",
                    {{"saver", plugin_schema(search, PluginKind::kSaver, PluginTable::kSaver)},
                     {"init_fn", list_or(list_of(init_fn), init_fn)}}},
                   {"additionalProperties", false}};
  for (const ScaffoldPiece& piece : scaffold_pieces())
    scaffold["properties"][piece.key] = {{"type", "string"}, {"minLength", 1}};
  const Json inputs = {{"type", "object"},
                       {"properties", Json::object()},
                       {"anyOf", {{{"required", {"train"}}}, {{"required", {"eval"}}}, {{"required", {"predict"}}}}},
                       {"additionalProperties", plugin_schema(search, PluginKind::kInput, PluginTable::kInput)}};
  Json metric = section_schema<MetricSection>();
  metric["required"] = Json::array({"kind"});
  const Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "Belay manifest"},
                       {"type", "object"},
                       {"properties",
                        {{"version", {{"const", kManifestVersion}}},
                         {"run", section_schema<RunSettings>()},
                         {"plugins", section_schema<PluginsSection>()},
                         {"input", inputs},
                         {"model", plugin_schema(search, PluginKind::kModel, PluginTable::kModel)},
                         {"optimizer", optimizer_schema(search)},
                         {"scaffold", scaffold},
                         {"checkpoint", section_schema<CheckpointSettings>()},
                         {"eval", section_schema<EvalSettings>()},
                         {"predict", section_schema<PredictSettings>()},
                         {"session", section_schema<SessionSettings>()},
                         {"hooks", list_of(plugin_schema(search, PluginKind::kHook, PluginTable::kHook))},
                         {"metrics", list_of(std::move(metric))},
                         {"exporters", list_of(plugin_schema(search, PluginKind::kExporter, PluginTable::kExporter))},
                         {"ops", list_of(plugin_schema(search, PluginKind::kOp, PluginTable::kOp))},
                         {"cluster", plugin_schema(search, PluginKind::kCluster, PluginTable::kCluster)}}},
                       {"required", {"input", "model"}},
                       {"additionalProperties", false}};
  out << shown_json(schema.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
  return 0;
}

}  // namespace

Command declare_schema() {
  return {.name = "schema",
          .what = "prints the manifest's JSON Schema, with the options of every plugin that is found",
          .run = [](const Given& given) {
            if (!given.arguments().empty())
              throw UsageError("[B5003] belay schema takes no argument; it prints to stdout");
            return schema_command(default_search(), std::cout, std::cerr);
          }};
}

}  // namespace belay::runtime
