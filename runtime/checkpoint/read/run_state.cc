// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/run_state.h"

#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "belay/state_digest.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/format/strict_json.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kFormatWithoutDigest = 2;

constexpr const char* kTypes[] = {"bool", "int", "float", "text", "int_list", "float_list", "text_list", "tensor"};
static_assert(std::size(kTypes) == std::variant_size_v<StateValue>);

// ---- writing

ordered_json encoded(bool v) { return v; }
ordered_json encoded(std::int64_t v) { return v; }
ordered_json encoded(double v) {
  if (std::isfinite(v)) return v;
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char digits[16] = {};
  const auto bits = std::bit_cast<std::uint64_t>(v);
  return "nan:" + std::string(digits, std::to_chars(digits, digits + 16, bits, 16).ptr);
}
ordered_json encoded(const std::string& v) {
  try {
    (void)ordered_json(v).dump();
    return v;
  } catch (const json::type_error&) {  // it is no UTF-8
    std::string hex;
    for (const unsigned char c : v) hex += {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
    return {{"hex", hex}};
  }
}
template <class T>
ordered_json encoded(const std::vector<T>& list) {
  ordered_json items = ordered_json::array();
  for (const T& v : list) items.push_back(encoded(v));
  return items;
}

ordered_json encoded(const StateTensor& t) {
  return {{"dtype", dtype_name(t.dtype)}, {"shape", t.dims}, {"offset", t.offset}, {"crc32c", crc_text(crc_of(t))}};
}
ordered_json encoded(const StateValue& value) {
  return ordered_json::array({kTypes[value.index()], std::visit([](const auto& v) { return encoded(v); }, value)});
}

// `offset` is the place of the state's first tensor in state.data, and afterwards that of the next state's.
ordered_json encoded(const HookState& state, std::uint64_t& offset) {
  ordered_json::object_t object;  // the keys differ; looking each one up would cost their square
  for (const auto& [key, value] : state.entries) {
    const auto* tensor = std::get_if<StateTensor>(&value);
    object.push_back({key, encoded(value)});
    if (tensor == nullptr) continue;
    object.back().second[1]["offset"] = offset;
    offset += byte_size(*tensor);
  }
  return object;
}

// Writes one entry per line.
template <class Map, class F>
std::string lines_of(const Map& map, F&& entry) {
  if (map.empty()) return "{}";
  std::string text = "{";
  for (const auto& [name, value] : map)
    text += (text.size() == 1 ? "\n  " : ",\n  ") + ordered_json(name).dump() + ": " + entry(value).dump();
  return text + "\n }";
}

// ---- reading

[[noreturn]] void data_loss(const std::string& text) { fail(Code::kDataLoss, "[B4012] " + text); }
[[noreturn]] void wrong(const std::string& where, const char* type) { data_loss(where + " is no " + type); }

template <class T>
T decoded(const json& v, const std::string& where);

template <>
bool decoded(const json& v, const std::string& where) {
  if (!v.is_boolean()) wrong(where, "bool");
  return v.get<bool>();
}
template <>
std::int64_t decoded(const json& v, const std::string& where) {
  if (!v.is_number_integer() ||
      (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)))
    wrong(where, "int");
  return v.get<std::int64_t>();
}
template <>
double decoded(const json& v, const std::string& where) {
  if (v.is_number_float()) return v.get<double>();
  if (!v.is_string()) wrong(where, "float");
  const std::string& text = v.get_ref<const std::string&>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  if (text.size() != 20 || !text.starts_with("nan:") || std::from_chars(text.data() + 4, end, bits, 16).ptr != end ||
      !std::isnan(std::bit_cast<double>(bits)))
    wrong(where, "float");
  return std::bit_cast<double>(bits);
}
template <>
std::string decoded(const json& v, const std::string& where) {
  if (v.is_string()) return v.get<std::string>();
  const JsonFields fields(v, where, {"hex"});
  const std::string& hex = fields.text("hex");
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    const char* at = hex.data() + 2 * i;
    if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) wrong(where, "string");
    bytes[i] = static_cast<char>(byte);
  }
  if (hex.size() % 2 != 0) wrong(where, "string");
  return bytes;
}
template <class T>
std::vector<T> list_from_json(const json& v, const std::string& where) {
  if (!v.is_array()) wrong(where, "list");
  std::vector<T> list;
  list.reserve(v.size());
  for (const json& item : v) list.push_back(decoded<T>(item, where + "[" + std::to_string(list.size()) + "]"));
  return list;
}

StateTensor tensor_from_json(const json& v, const std::string& where, std::uint64_t& offset) {
  const JsonFields fields(v, where, {"dtype", "shape", "offset", "crc32c"});
  TensorInfo form = parse_form(fields);
  StateTensor tensor{form.dtype, std::move(form.dims)};
  tensor.offset = fields.unsigned_integer("offset");
  tensor.crc32c = parse_crc(fields);
  if (tensor.offset != offset)
    data_loss(fields.place("offset") + " is " + std::to_string(tensor.offset) + ", the tensors before it end at " +
              std::to_string(offset));
  if (__builtin_add_overflow(offset, byte_size(tensor), &offset)) data_loss(where + " has a size that overflows");
  return tensor;
}

// `offset` is the required place of the next tensor.
StateValue value_from_json(const json& v, const std::string& where, std::uint64_t& offset) {
  if (!v.is_array() || v.size() != 2 || !v[0].is_string()) data_loss(where + " is no pair of type and value");
  const std::string& type = v[0].get_ref<const std::string&>();
  if (type == "bool") return decoded<bool>(v[1], where);
  if (type == "int") return decoded<std::int64_t>(v[1], where);
  if (type == "float") return decoded<double>(v[1], where);
  if (type == "text") return decoded<std::string>(v[1], where);
  if (type == "int_list") return list_from_json<std::int64_t>(v[1], where);
  if (type == "float_list") return list_from_json<double>(v[1], where);
  if (type == "text_list") return list_from_json<std::string>(v[1], where);
  if (type == "tensor") return tensor_from_json(v[1], where, offset);
  data_loss(where + " is of the unknown type \"" + escaped(type) + "\"");
}

std::map<std::string, Position> positions_from_json(const json& object) {
  std::map<std::string, Position> positions;
  for (const auto& [name, value] : object.items()) {
    const std::string where = "input_positions." + escaped(name);
    const JsonFields fields(value, where, {"epoch", "index"}, {"bytes"});
    Position& p = positions[name];
    p = {fields.integer("epoch"), fields.integer("index")};
    if (fields.has("bytes")) p.bytes = decoded<std::string>(value.at("bytes"), where + ".bytes");
  }
  return positions;
}

std::map<std::string, HookState> hook_states_from_json(const json& object) {
  std::map<std::string, HookState> states;
  std::uint64_t offset = 0;
  for (const auto& [name, entries] : object.items()) {
    const std::string where = "hook_states." + escaped(name);
    if (!entries.is_object()) data_loss(where + " is no object");
    HookState& state = states[name];
    for (const auto& [key, value] : entries.items())
      state.entries.emplace(key, value_from_json(value, where + "." + escaped(key), offset));
  }
  return states;
}

void versions_from_json(const json& object, std::map<std::string, HookState>& states) {
  for (const auto& [name, version] : object.items()) {
    const auto state = states.find(name);
    if (state == states.end()) data_loss("written_by." + escaped(name) + " is of no hook in hook_states");
    state->second.written_by = decoded<std::string>(version, "written_by." + escaped(name));
  }
}

std::map<std::string, ordered_json> versions_of(const std::map<std::string, HookState>& states) {
  std::map<std::string, ordered_json> versions;
  for (const auto& [name, state] : states)
    if (!state.written_by.empty()) versions[name] = encoded(state.written_by);
  return versions;
}

// Most inputs have no extra bytes.
ordered_json encoded(const Position& p) {
  ordered_json entries{{"epoch", p.epoch}, {"index", p.index}};
  if (!p.bytes.empty()) entries["bytes"] = encoded(p.bytes);
  return entries;
}

// Leaves out values that every run had before they were recorded.
ordered_json encoded(const Fingerprint& f) {
  const Fingerprint before;
  ordered_json entries = {{"threads", f.threads}, {"isa", f.isa}, {"binary", f.binary}, {"seed", f.seed}};
  if (f.precision != before.precision) entries["precision"] = f.precision;
  if (f.onednn != before.onednn) entries["onednn"] = f.onednn;
  if (f.floating_point != before.floating_point) entries["floating_point"] = f.floating_point;
  if (f.c_library != before.c_library) entries["c_library"] = f.c_library;
  if (!f.plugins.empty()) entries["plugins"] = f.plugins;
  return entries;
}

Fingerprint fingerprint_from(const JsonFields& fields) {
  Fingerprint f;
  f.threads = fields.integer("threads");
  f.isa = fields.text("isa");
  f.binary = fields.text("binary");
  f.seed = fields.unsigned_integer("seed");
  if (fields.has("precision")) f.precision = fields.text("precision");
  if (fields.has("onednn")) f.onednn = fields.text("onednn");
  if (fields.has("floating_point")) f.floating_point = fields.text("floating_point");
  if (fields.has("c_library")) f.c_library = fields.text("c_library");
  if (fields.has("plugins"))
    for (const auto& [name, id] : fields.object("plugins").items())
      f.plugins[name] = decoded<std::string>(id, "fingerprint.plugins." + escaped(name));
  return f;
}

template <class T>
std::uint64_t count_of(const T&) {
  return 1;
}
template <class T>
std::uint64_t count_of(const std::vector<T>& list) {
  return list.size();
}

// Returns the number of its format; 1: it has none. Later formats have another shape, so this comes first.
std::int64_t format_of(const json& value) {
  if (!value.is_object() || !value.contains("format")) return 1;
  const json& format = value["format"];
  if (!format.is_number_unsigned() || format.get<std::uint64_t>() < 2)
    data_loss("format is no number that belay has written");
  const auto found = format.get<std::uint64_t>();
  if (found > static_cast<std::uint64_t>(kStateFormat))
    fail(Code::kFailedPrecondition,
         fmt::format(
             "[B4004] it is of format {}, which a later belay wrote; this is belay {}, which reads formats 1 to {}: "
             "use a newer belay",
             found, BELAY_VERSION, kStateFormat));
  return static_cast<std::int64_t>(found);
}

JsonFields fields_of(const json& value, std::int64_t format) {
  if (format == 1) return {value, "", {"global_step", "input_positions", "hook_states", "fingerprint"}, {"best"}};
  if (format == kFormatWithoutDigest)
    return {
        value, "", {"format", "global_step", "input_positions", "hook_states", "written_by", "fingerprint"}, {"best"}};
  return {value,
          "",
          {"format", "global_step", "input_positions", "hook_states", "written_by", "fingerprint", "digest"},
          {"best"}};
}

const std::string& digest_from(const JsonFields& fields) {
  const std::string& digest = fields.text("digest");
  if (!StateDigest::is_text(digest)) data_loss("digest is " + double_quoted(digest) + ", must be 32 digits of base 16");
  return digest;
}

}  // namespace

void check_state_key(std::string_view key) {
  try {
    (void)ordered_json(key).dump();
  } catch (const json::type_error&) {
    fail(Code::kInvalidArgument, fmt::format("[B4005] the key \"{}\" is not UTF-8", escaped(key)));
  }
}

StateCost cost_of(std::string_view key, const StateValue& value) {
  constexpr std::uint64_t kLongestEscape = 6, kPunctuation = 24, kTensor = 96, kDimension = 20;
  StateCost cost{kLongestEscape * key.size() + kPunctuation, 4};
  if (const auto* tensor = std::get_if<StateTensor>(&value)) {  // it is described without separate memory
    const std::uint64_t rank = tensor->dims.size();
    return {cost.bytes + kTensor + kDimension * rank, cost.values + 8 + rank};
  }
  cost.bytes += encoded(value)[1].dump().size();
  cost.values += std::visit([](const auto& v) { return count_of(v); }, value);
  return cost;
}

std::string format_run_state(const RunState& state) { return format_run_state(state, ""); }

std::string format_run_state(const RunState& state, const std::string& digest) {
  try {
    std::uint64_t offset = 0;
    std::string text =
        "{\n \"format\": " + std::to_string(digest.empty() ? kFormatWithoutDigest : kStateFormat) +
        ",\n \"global_step\": " + std::to_string(state.global_step) +
        ",\n \"input_positions\": " + lines_of(state.input_positions, [](const Position& p) { return encoded(p); }) +
        ",\n \"hook_states\": " + lines_of(state.hook_states, [&](const HookState& s) { return encoded(s, offset); }) +
        ",\n \"written_by\": " + ordered_json(versions_of(state.hook_states)).dump() +
        ",\n \"fingerprint\": " + encoded(state.fingerprint).dump() +
        (state.best.metric.empty() ? "" : ",\n \"best\": " + format_best_list(state.best)) +
        (digest.empty() ? "" : ",\n \"digest\": \"" + digest + "\"") + "\n}\n";
    if (text.size() > kMaxStateBytes)
      fail(Code::kResourceExhausted,
           fmt::format("[B4003] `state` would have {} bytes, at most {} are read", text.size(), kMaxStateBytes));
    return text;
  } catch (const json::type_error&) {
    fail(Code::kInvalidArgument, "[B4005] a name or key in the hooks' states is not UTF-8");
  }
}

RunState parse_run_state(std::string_view text) {
  const json value = parse_json(text);
  const std::int64_t format = format_of(value);
  const bool first_format = format == 1;
  const JsonFields fields = fields_of(value, format);
  const JsonFields fingerprint(fields.object("fingerprint"), "fingerprint", {"threads", "isa", "binary", "seed"},
                               {"precision", "onednn", "floating_point", "c_library", "plugins"});
  RunState state;
  state.global_step = fields.integer("global_step");
  state.input_positions = positions_from_json(fields.object("input_positions"));
  state.hook_states = hook_states_from_json(fields.object("hook_states"));
  if (!first_format) versions_from_json(fields.object("written_by"), state.hook_states);
  state.fingerprint = fingerprint_from(fingerprint);
  if (fields.has("best")) state.best = parse_best_list(fields.object("best").dump(), "best");
  if (format > kFormatWithoutDigest) digest_from(fields);
  return state;
}

std::string digest_in_run_state(std::string_view text) {
  const json value = parse_json(text);
  const std::int64_t format = format_of(value);
  return format > kFormatWithoutDigest ? digest_from(fields_of(value, format)) : "";
}

}  // namespace belay::runtime
