// SPDX-License-Identifier: Apache-2.0
#include "header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace belay_safetensors {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using nlohmann::json;

struct Type {
  std::string_view name;
  std::uint64_t bits;
  DType dtype;
};
// All types of the format; kInvalid: Belay does not have the type.
constexpr Type kTypes[] = {
    {"F32", 32, DType::kFloat32},
    {"F64", 64, DType::kFloat64},
    {"I32", 32, DType::kInt32},
    {"I64", 64, DType::kInt64},
    {"U8", 8, DType::kUInt8},
    {"BOOL", 8, DType::kBool},
    {"BF16", 16, DType::kBFloat16},
    {"F16", 16, DType::kFloat16},
    {"F4", 4, DType::kInvalid},
    {"F6_E2M3", 6, DType::kInvalid},
    {"F6_E3M2", 6, DType::kInvalid},
    {"I8", 8, DType::kInvalid},
    {"F8_E5M2", 8, DType::kInvalid},
    {"F8_E4M3", 8, DType::kInvalid},
    {"F8_E8M0", 8, DType::kInvalid},
    {"I16", 16, DType::kInvalid},
    {"F8_E4M3FNUZ", 8, DType::kInvalid},
    {"F8_E5M2FNUZ", 8, DType::kInvalid},
    {"U16", 16, DType::kInvalid},
    {"U32", 32, DType::kInvalid},
    {"C64", 64, DType::kInvalid},
    {"U64", 64, DType::kInvalid},
};

const Type* find_type(std::string_view name) {
  for (const Type& t : kTypes)
    if (t.name == name) return &t;
  return nullptr;
}

std::string shown(std::string_view name) { return json(name).dump(-1, ' ', false, json::error_handler_t::replace); }

[[noreturn]] void bad(const std::string& text) { fail(Code::kDataLoss, text); }
[[noreturn]] void bad_tensor(std::string_view name, const std::string& text) {
  bad("tensor " + shown(name) + " " + text);
}

// An entry with the JSON's values.
struct RawEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

// Returns the bytes of the data. It multiplies from left to right: [0, huge] is legal and [huge, 2, 0] is not. The
// format's reference reader does the same.
std::uint64_t data_bytes(const RawEntry& raw, const Type& type) {
  std::uint64_t n = 1;
  for (const std::uint64_t d : *raw.shape)
    if (__builtin_mul_overflow(n, d, &n)) bad_tensor(raw.name, "has a shape whose size overflows 64 bits");
  if (__builtin_mul_overflow(n, type.bits, &n)) bad_tensor(raw.name, "has a shape whose size overflows 64 bits");
  if (n % 8 != 0) bad_tensor(raw.name, "does not fill whole bytes");
  return n / 8;
}

Entry checked(const RawEntry& raw) {
  if (!raw.dtype) bad_tensor(raw.name, "has no \"dtype\"");
  if (!raw.shape) bad_tensor(raw.name, "has no \"shape\"");
  if (!raw.offsets) bad_tensor(raw.name, "has no \"data_offsets\"");
  const Type* type = find_type(*raw.dtype);
  if (type == nullptr) bad_tensor(raw.name, "has the unknown dtype " + shown(*raw.dtype));
  if (raw.offsets->size() != 2) bad_tensor(raw.name, "has fewer than 2 data_offsets");
  const std::uint64_t begin = (*raw.offsets)[0], end = (*raw.offsets)[1];
  const std::uint64_t bytes = data_bytes(raw, *type);
  if (end < begin || end - begin != bytes)
    bad_tensor(raw.name, "has the data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "], but " +
                             std::to_string(bytes) + " bytes by its dtype and shape");
  Entry entry{raw.name, type->dtype, {}, begin, end};
  for (const std::uint64_t d : *raw.shape) {
    if (d > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      bad_tensor(raw.name, "has the dimension " + std::to_string(d));
    entry.dims.push_back(static_cast<std::int64_t>(d));
  }
  return entry;
}

// Receives the JSON's events and accepts only a header. It builds no tree, so the header's size bounds the cost of a
// hostile header.
class HeaderReader final : public json::json_sax_t {
 public:
  std::vector<Entry> entries;

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a boolean"); }
  bool number_float(double, const std::string& text) override { return other(text); }
  bool number_integer(std::int64_t v) override { return other(std::to_string(v)); }
  bool number_unsigned(std::uint64_t v) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return other(std::to_string(v));
    std::vector<std::uint64_t>& list = place_ == Place::kShape ? *raw_.shape : *raw_.offsets;
    const std::size_t most = place_ == Place::kShape ? kMaxRank : 2;
    if (list.size() == most) bad_tensor(raw_.name, "has more than " + std::to_string(most) + " " + key_shown());
    list.push_back(v);
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ == Place::kEntry && key_ == "dtype") {
      raw_.dtype = text;
      return true;
    }
    return other("a string");
  }
  bool binary(binary_t&) override { return other("binary data"); }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = key_ == "__metadata__" ? Place::kMetadata : Place::kEntry;
      if (place_ == Place::kEntry) raw_ = RawEntry{key_, {}, {}, {}};
      keys_.clear();
    } else {
      other("an object");
      ignore_one_deeper();
    }
    return true;
  }
  bool key(std::string& name) override {
    if (place_ == Place::kIgnored) return true;
    if (place_ != Place::kTop) {  // parse_header looks for duplicates among the header's keys
      if (!keys_.insert(name).second)
        bad((place_ == Place::kEntry ? "tensor " + shown(raw_.name) : std::string("\"__metadata__\"")) +
            " has the key " + shown(name) + " twice");
    } else if (name == "__metadata__") {
      if (has_metadata_) bad("the key \"__metadata__\" occurs twice");
      has_metadata_ = true;
    }
    key_ = name;
    return true;
  }
  bool end_object() override {
    if (place_ == Place::kIgnored) return leave_ignored();
    if (place_ == Place::kEntry) entries.push_back(checked(raw_));
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ == Place::kEntry && key_ == "shape") {
      place_ = Place::kShape, raw_.shape.emplace();
    } else if (place_ == Place::kEntry && key_ == "data_offsets") {
      place_ = Place::kOffsets, raw_.offsets.emplace();
    } else {
      other("a list");
      ignore_one_deeper();
    }
    return true;
  }
  bool end_array() override {
    if (place_ == Place::kIgnored) return leave_ignored();
    place_ = Place::kEntry;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    // The library's message also has the byte, counted from 1 inside the JSON.
    const std::string_view text = e.what();
    const std::size_t colon = text.find(": ", text.find("parse error"));
    bad("the header is no JSON at byte " + std::to_string(kLengthBytes + position - (position != 0 ? 1 : 0)) + ": " +
        shown(colon == std::string_view::npos ? text : text.substr(colon + 2)));
  }

 private:
  enum class Place { kStart, kTop, kEntry, kShape, kOffsets, kMetadata, kIgnored, kEnd };
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxRank = 255;

  // Handles a value of a kind that the format does not have here. An entry's unknown keys are skipped, like in the
  // format's reference reader.
  bool other(const std::string& what) {
    switch (place_) {
      case Place::kIgnored: return true;
      case Place::kStart:
      case Place::kEnd: bad("the header is " + what + ", not an object");
      case Place::kTop: bad("the header's " + shown(key_) + " is " + what + ", not an object");
      case Place::kMetadata: bad("\"__metadata__\" holds strings only, but " + shown(key_) + " is " + what);
      case Place::kShape: bad_tensor(raw_.name, "has the dimension " + what);
      case Place::kOffsets: bad_tensor(raw_.name, "has the offset " + what);
      case Place::kEntry: break;
    }
    if (key_ == "dtype" || key_ == "shape" || key_ == "data_offsets")
      bad_tensor(raw_.name, "has a \"" + key_ + "\" that is " + what);
    return true;
  }
  std::string key_shown() const { return key_ == "shape" ? "dimensions" : key_; }
  void ignore_one_deeper() {
    place_ = Place::kIgnored;
    if (++ignored_depth_ > kMaxDepth) bad("the header is nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }
  bool leave_ignored() {
    if (--ignored_depth_ == 0) place_ = Place::kEntry;
    return true;
  }

  Place place_ = Place::kStart;
  std::string key_;
  std::set<std::string> keys_;  // keys of the entry or of the metadata
  RawEntry raw_;                // the entry that is being read
  bool has_metadata_ = false;
  std::size_t ignored_depth_ = 0;
};

void check_names(const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const Entry& e : entries) names.push_back(e.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) bad_tensor(*twice, "occurs twice");
}

// Sorts by position and checks that the entries cover all data once.
void check_tiling(std::vector<Entry>& entries, std::uint64_t data_size) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t covered = 0;
  for (const Entry& e : entries) {
    if (e.begin < covered)
      bad_tensor(e.name, "begins at data byte " + std::to_string(e.begin) + ", but the one before it ends at " +
                             std::to_string(covered));
    if (e.begin > covered)
      bad_tensor(e.name, "begins at data byte " + std::to_string(e.begin) + " and leaves a hole from " +
                             std::to_string(covered));
    covered = e.end;
  }
  if (covered > data_size)
    bad("the tensors need " + std::to_string(covered) + " bytes of data, the file has " + std::to_string(data_size));
  if (covered < data_size)
    bad("the tensors end at data byte " + std::to_string(covered) + ", and " + std::to_string(data_size - covered) +
        " bytes follow them");
}

// Returns the name as JSON. INVALID_ARGUMENT: it is not UTF-8.
std::string json_name(const std::string& name) {
  try {
    return json(name).dump();
  } catch (const json::type_error&) {
    fail(Code::kInvalidArgument,
         "[B4042] the variable's name " + shown(name) + " is not UTF-8, which the format asks for");
  }
}

}  // namespace

std::vector<Entry> parse_header(std::string_view text, std::uint64_t data_size) {
  if (text.empty()) bad("the header is empty");
  HeaderReader reader;
  json::sax_parse(text.begin(), text.end(), &reader);
  check_names(reader.entries);
  check_tiling(reader.entries, data_size);
  return std::move(reader.entries);
}

std::string format_header(const std::vector<Entry>& entries, const Metadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + json(metadata).dump();
  for (const Entry& e : entries) {
    const Type* type =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type& t) { return t.dtype == e.dtype; });
    if (text.size() > 1) text += ',';
    text += json_name(e.name) + ":{\"dtype\":\"" + std::string(type->name) + "\",\"shape\":" + json(e.dims).dump() +
            ",\"data_offsets\":[" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]}";
  }
  text += '}';
  while ((kLengthBytes + text.size()) % 64 != 0) text += ' ';
  std::string bytes(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  return bytes + text;
}

}  // namespace belay_safetensors
