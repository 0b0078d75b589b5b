// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/strict_json.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kTailBegin = ",\n \"crc32c\": \"", kTailEnd = "\"\n}\n";
constexpr std::size_t kTailSize = kTailBegin.size() + 8 + kTailEnd.size();
constexpr std::size_t kMaxRank = 255;
constexpr DType kStored[] = {DType::kFloat32, DType::kFloat64, DType::kInt32,    DType::kUInt8,
                             DType::kInt64,   DType::kBool,    DType::kBFloat16, DType::kFloat16};

// Writes one entry per line.
template <class Entry>
std::string lines_of(const std::vector<Entry>& entries, ordered_json (*encoded)(const Entry&)) {
  std::string text = "[";
  for (const Entry& entry : entries) text += (text.size() == 1 ? "\n  " : ",\n  ") + encoded(entry).dump();
  return text + "\n ]";
}

ordered_json encoded(const FileEntry& f) {
  return {{"name", f.name}, {"length", f.length}, {"crc32c", crc_text(f.crc32c)}};
}

ordered_json encoded(const TensorEntry& t) {
  return {{"name", t.name}, {"dtype", dtype_name(t.dtype)}, {"shape", t.dims}, {"crc32c", crc_text(t.crc32c)}};
}

// Counts like parse_json: an entry, and a key and a value for each of its fields.
std::size_t values_in(const CheckpointIndex& index) {
  constexpr std::size_t kOfRest = 20, kOfFile = 7, kOfTensor = 9;
  std::size_t values = kOfRest + kOfFile * index.files.size();
  for (const TensorEntry& t : index.tensors) values += kOfTensor + t.dims.size();
  return values;
}

[[noreturn]] void fail_too_large(const CheckpointIndex& index, std::size_t size, const char* unit, std::uint64_t most) {
  fail(Code::kResourceExhausted, fmt::format("[B4003] the index of {} tensors would have {} {}, at most {} are read",
                                             index.tensors.size(), size, unit, most));
}

[[noreturn]] void damaged(const std::string& text) { fail(Code::kDataLoss, "[B4012] " + text); }

// Returns the content without its last two lines, which have its checksum.
std::string_view checked_body(std::string_view text) {
  if (text.size() > kMaxIndexBytes)
    damaged(fmt::format("it has {} bytes, at most {} are read", text.size(), kMaxIndexBytes));
  if (text.size() < kTailSize) damaged(fmt::format("it ends at byte {}, before its checksum", text.size()));
  const std::string_view body = text.substr(0, text.size() - kTailSize), tail = text.substr(body.size());
  const auto stored = parse_crc(tail.substr(kTailBegin.size(), 8));
  if (!tail.starts_with(kTailBegin) || !tail.ends_with(kTailEnd) || !stored)
    damaged(fmt::format("it does not end with its checksum; the last {} bytes, from byte {} on, are no such thing",
                        kTailSize, body.size()));
  const std::uint32_t actual = crc32c(body);
  if (*stored != actual)
    fail(Code::kDataLoss, fmt::format("[B4010] its CRC32C is {}, but the stored one is {} (bytes 0 to {})",
                                      crc_text(actual), crc_text(*stored), body.size()));
  return body;
}

void check_format(const json& value) {
  const auto format = value.find("format"), writer = value.find("writer");
  if (format == value.end() || !format->is_number_unsigned() || writer == value.end() || !writer->is_string())
    damaged("format and writer are missing");
  const auto found = format->get<std::uint64_t>();
  if (found > static_cast<std::uint64_t>(kIndexFormat))
    fail(Code::kFailedPrecondition,
         fmt::format(
             "[B4004] it was written by {} in format {}; this is belay {}, which reads format {}: use a newer belay",
             escaped(writer->get_ref<const std::string&>()), found, BELAY_VERSION, kIndexFormat));
  if (found != static_cast<std::uint64_t>(kIndexFormat)) damaged(fmt::format("format is {}", found));
}

std::string item(std::string_view list, std::size_t i) { return fmt::format("{}[{}]", list, i); }

std::vector<FileEntry> parse_files(const json& list) {
  std::vector<FileEntry> files;
  std::set<std::string_view> names;
  files.reserve(list.size());
  for (const json& value : list) {
    const JsonFields fields(value, item("files", files.size()), {"name", "length", "crc32c"});
    const std::string& name = fields.text("name");
    if (!is_entry_name(name) || name == kIndexName)
      damaged(fields.place("name") + " is \"" + escaped(name) + "\", which is no file of a checkpoint");
    if (!names.insert(name).second) damaged(fields.place("name") + " is \"" + escaped(name) + "\" a second time");
    files.push_back({name, static_cast<std::uint64_t>(fields.integer("length")), parse_crc(fields)});
  }
  if (!names.contains(kStateName)) damaged("files has no \"state\"");
  return files;
}

TensorEntry parse_tensor(const json& value, std::size_t i) {
  const JsonFields fields(value, item("tensors", i), {"name", "dtype", "shape", "crc32c"});
  const std::string& name = fields.text("name");
  if (name.empty() || name.find('\0') != name.npos)
    damaged(fields.place("name") + " is \"" + escaped(name) + "\", which is no tensor's name");
  TensorEntry tensor{parse_form(fields), parse_crc(fields)};
  tensor.name = name;
  return tensor;
}

std::vector<TensorEntry> parse_tensors(const json& list) {
  std::vector<TensorEntry> tensors;
  tensors.reserve(list.size());
  for (const json& value : list) tensors.push_back(parse_tensor(value, tensors.size()));
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorEntry& t : tensors) names.push_back(t.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) damaged("tensors holds \"" + escaped(*twice) + "\" twice");
  return tensors;
}

}  // namespace

TensorInfo parse_form(const JsonFields& fields) {
  TensorInfo form;
  for (const DType t : kStored)
    if (fields.text("dtype") == dtype_name(t)) form.dtype = t;
  if (form.dtype == DType::kInvalid)
    damaged(fields.place("dtype") + " is \"" + escaped(fields.text("dtype")) + "\", which belay does not store");
  const json& shape = fields.list("shape");
  if (shape.size() > kMaxRank) damaged(fields.place("shape") + " has more than 255 dimensions");
  for (const json& dim : shape) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
      damaged(fields.place("shape") + " holds what is no dimension");
    form.dims.push_back(dim.get<std::int64_t>());
  }
  if (!byte_size(form.dtype, form.dims))
    damaged(fields.place("shape") + " is " + dims_text(form.dims) + ", whose size overflows");
  return form;
}

std::uint32_t parse_crc(const JsonFields& fields) {
  const auto crc = parse_crc(fields.text("crc32c"));
  if (!crc) damaged(fields.place("crc32c") + " is no CRC32C of eight digits");
  return *crc;
}

std::string format_index(const CheckpointIndex& index) {
  const std::size_t values = values_in(index);
  if (values > kMaxIndexValues) fail_too_large(index, values, "values", kMaxIndexValues);
  try {
    const ordered_json saver = {{"name", index.saver}, {"version", index.saver_version}};
    std::string text = "{\n \"format\": " + std::to_string(kIndexFormat) +
                       ",\n \"writer\": \"belay " BELAY_VERSION "\",\n \"saver\": " + saver.dump() +
                       ",\n \"graph_hash\": " + ordered_json(index.graph_hash).dump() +
                       ",\n \"global_step\": " + std::to_string(index.global_step) +
                       ",\n \"files\": " + lines_of(index.files, encoded) +
                       ",\n \"tensors\": " + lines_of(index.tensors, encoded);
    text += std::string(kTailBegin) + crc_text(crc32c(text)) + std::string(kTailEnd);
    if (text.size() > kMaxIndexBytes) fail_too_large(index, text.size(), "bytes", kMaxIndexBytes);
    return text;
  } catch (const json::type_error&) {
    fail(Code::kInvalidArgument, "[B4005] a name in the index is not UTF-8");
  }
}

void check_index_holds(const std::vector<TensorInfo>& variables) {
  CheckpointIndex index;
  for (const TensorInfo& v : variables) index.tensors.push_back({v, 0});
  try {
    format_index(index);
  } catch (const Error& e) {
    if (e.code() != Code::kResourceExhausted) return;  // a save reports the fault
    fail(e.code(), fmt::format("[B4003] the model has {} variables, more than a checkpoint holds: {}; make fewer and "
                               "larger ones (layers that are alike as one array), give them shorter names, or train "
                               "without checkpoints (save_secs = 0 in [checkpoint])",
                               variables.size(), take_code(e.message()).text));
  }
}

CheckpointIndex parse_index(std::string_view text) {
  const json value = parse_json(std::string(checked_body(text)) + "}", kMaxIndexValues);
  if (!value.is_object()) damaged("it is no object");
  check_format(value);
  const JsonFields fields(value, "", {"format", "writer", "saver", "graph_hash", "global_step", "files", "tensors"});
  const JsonFields saver(fields.object("saver"), "saver", {"name", "version"});
  CheckpointIndex index;
  index.saver = saver.text("name");
  index.saver_version = saver.text("version");
  index.graph_hash = fields.text("graph_hash");
  index.global_step = fields.integer("global_step");
  index.files = parse_files(fields.list("files"));
  index.tensors = parse_tensors(fields.list("tensors"));
  return index;
}

}  // namespace belay::runtime
