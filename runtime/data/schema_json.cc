// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "runtime/data/schema.h"
#include "runtime/platform/text/text.h"

#include <fmt/core.h>

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHexDigits = "0123456789abcdef";

Json encoded(const std::string& text) {
  try {
    (void)Json(text).dump();
    return text;
  } catch (const Json::type_error&) {  // it is no UTF-8
  }
  std::string hex;
  for (const unsigned char c : text) hex += {kHexDigits[c >> 4], kHexDigits[c & 15]};
  return {{"hex", hex}};
}

Json encoded(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(encoded(text));
  return list;
}

Json encoded(const OptionValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Json::array();
        } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>) {
          return runtime::encoded(v);
        } else {
          return v;
        }
      },
      value);
}

Json encoded(const InputComponent& c) {
  Json json = {{"name", encoded(c.name)}, {"dtype", dtype_name(c.dtype)}, {"shape", c.dims}};
  if (!c.columns.empty()) json["columns"] = encoded(c.columns);
  if (c.classes > 0) json["classes"] = c.classes;
  if (!c.class_names.empty()) json["class_names"] = encoded(c.class_names);
  return json;
}

// Formats an object or list with one entry on each line.
std::string lines_of(const std::vector<std::string>& entries, char open, char close) {
  if (entries.empty()) return {open, close};
  std::string text(1, open);
  for (std::size_t i = 0; i < entries.size(); ++i) text += (i == 0 ? "\n  " : ",\n  ") + entries[i];
  return text + "\n " + close;
}

std::string components_text(const Schema& schema, bool label) {
  std::vector<std::string> entries;
  for (const InputComponent& c : schema.components)
    if (c.label == label) entries.push_back(encoded(c).dump());
  return lines_of(entries, '[', ']');
}

// ---- reading

std::string text_from(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const auto hex = json.at("hex").get<std::string>();
  const auto digit = [&](char c) {
    const char* found = c == '\0' ? nullptr : std::strchr(kHexDigits, c);
    if (found == nullptr) fail(Code::kDataLoss, fmt::format("[B3010] \"{}\" is no text in base 16", hex));
    return static_cast<unsigned char>(found - kHexDigits);
  };
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    text += static_cast<char>((digit(hex[i]) << 4) | digit(hex[i + 1]));
  return text;
}

std::vector<std::string> texts_from(const Json& json) {
  std::vector<std::string> texts;
  for (const Json& entry : json) texts.push_back(text_from(entry));
  return texts;
}

InputComponent component_from(const Json& json, bool label) {
  InputComponent c;
  c.label = label;
  c.name = text_from(json.at("name"));
  const auto dtype = json.at("dtype").get<std::string>();
  for (const DType t :
       {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kBool, DType::kString})
    if (dtype == dtype_name(t)) c.dtype = t;
  if (c.dtype == DType::kInvalid)
    fail(Code::kDataLoss, fmt::format("[B3010] \"{}\" has the unknown dtype {}", c.name, dtype));
  c.dims = json.at("shape").get<Dims>();
  if (json.contains("columns")) c.columns = texts_from(json["columns"]);
  c.classes = json.value("classes", std::int64_t{0});
  if (json.contains("class_names")) c.class_names = texts_from(json["class_names"]);
  if (!c.class_names.empty() && static_cast<std::int64_t>(c.class_names.size()) != c.classes)
    fail(Code::kDataLoss, fmt::format("[B3010] \"{}\" has another number of class names than of classes", c.name));
  return c;
}

KeptValue kept_from(const Json& json) {
  if (!json.empty() && json[0].is_number()) return json.get<std::vector<double>>();
  return texts_from(json);
}

OptionValue option_from(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number()) return json.get<std::int64_t>();
  if (!json.is_array()) return text_from(json);
  if (json.empty()) return std::monostate();
  if (json[0].is_boolean()) return json.get<std::vector<bool>>();
  if (json[0].is_number_float()) return json.get<std::vector<double>>();
  if (json[0].is_number()) return json.get<std::vector<std::int64_t>>();
  return texts_from(json);
}

Schema schema_from(const Json& json) {
  Schema schema;
  if (const auto format = json.at("format").get<std::int64_t>(); format != 1)
    fail(Code::kFailedPrecondition,
         fmt::format("[B3011] it is of format {}, which a later belay wrote: use a newer belay", format));
  schema.plugin = json.at("plugin").get<std::string>();
  for (const bool label : {false, true})
    for (const Json& c : json.at(label ? "labels" : "features")) schema.components.push_back(component_from(c, label));
  for (const auto& [name, value] : json.at("kept").items()) schema.kept.emplace(name, kept_from(value));
  for (const auto& [key, value] : json.at("options").items()) schema.options.push_back({key, option_from(value)});
  return schema;
}

}  // namespace

std::string format_schema(const Schema& schema) {
  std::vector<std::string> kept, options;
  for (const auto& [name, value] : schema.kept)
    kept.push_back(Json(name).dump() + ": " +
                   std::visit(
                       [](const auto& v) -> std::string {
                         if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<double>>)
                           return Json(v).dump();
                         else
                           return encoded(v).dump();
                       },
                       value));
  for (const PluginOption& o : schema.options) options.push_back(Json(o.key).dump() + ": " + encoded(o.value).dump());
  return "{\n \"format\": 1,\n \"plugin\": " + Json(schema.plugin).dump() +
         ",\n \"features\": " + components_text(schema, false) + ",\n \"labels\": " + components_text(schema, true) +
         ",\n \"kept\": " + lines_of(kept, '{', '}') + ",\n \"options\": " + lines_of(options, '{', '}') + "\n}\n";
}

Schema parse_schema(std::string_view text) {
  try {
    return schema_from(Json::parse(text));
  } catch (const Json::exception& e) {
    fail(Code::kDataLoss, fmt::format("[B3010] schema.json is not what belay writes: {}", e.what()));
  }
}

}  // namespace belay::runtime
