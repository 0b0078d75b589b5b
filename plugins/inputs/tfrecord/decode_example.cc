// SPDX-License-Identifier: Apache-2.0
#include "decode_example.h"

#include <belay/error.h>
#include <belay/nearest.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "plugins/inputs/tfrecord/example.pb.h"

namespace tfrecord_input {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;
namespace pb = belay::tfrecord;

const char* kind_name(pb::Feature::KindCase kind) {
  switch (kind) {
    case pb::Feature::kBytesList: return "bytes";
    case pb::Feature::kFloatList: return "float32";
    case pb::Feature::kInt64List: return "int64";
    case pb::Feature::KIND_NOT_SET: break;
  }
  return "nothing";
}

[[noreturn]] void fail_missing(const pb::Features& features, const FeatureSpec& spec) {
  std::vector<std::string> names;
  for (const auto& [name, feature] : features.feature()) names.push_back(name);
  std::sort(names.begin(), names.end());
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) list += " and " + std::to_string(names.size() - kShown) + " more";
  fail(Code::kInvalidArgument,
       "[B3034] it has no feature \"" + spec.name + "\"" + belay::did_you_mean(spec.name, names) +
           ", and 'features' has no default for it; it has " + (list.empty() ? "no features" : list));
}

void need_kind(const pb::Feature& feature, const FeatureSpec& spec, pb::Feature::KindCase kind) {
  if (feature.kind_case() == kind) return;
  const bool bytes = feature.kind_case() == pb::Feature::kBytesList;
  fail(Code::kInvalidArgument,
       "[B3025] feature \"" + spec.name + "\" holds " + kind_name(feature.kind_case()) + ", but 'features' names " +
           belay::dtype_name(spec.dtype) +
           (bytes ? "; use string or uint8" : std::string("; use ") + kind_name(feature.kind_case())));
}

void need_count(std::size_t found, const FeatureSpec& spec, const char* of) {
  if (found == spec.elements) return;
  fail(Code::kInvalidArgument, "[B3024] feature \"" + spec.name + "\" has " + std::to_string(found) + " " + of +
                                   ", its shape " + belay::dims_text(spec.dims) + " needs " +
                                   std::to_string(spec.elements));
}

template <class Values>
void copy_values(const Values& values, const FeatureSpec& spec, void* out) {
  need_count(static_cast<std::size_t>(values.size()), spec, "values");
  if (spec.elements != 0) std::memcpy(out, values.data(), spec.elements * sizeof(*values.data()));
}

void copy_fallback(const FeatureSpec& spec, const FeatureTarget& target) {
  if (spec.dtype == DType::kString) {
    std::copy(spec.fallback->texts.begin(), spec.fallback->texts.end(), target.texts);
  } else {
    std::memcpy(target.numbers, spec.fallback->bytes.data(), spec.fallback->bytes.size());
  }
}

void copy_feature(const pb::Feature& feature, const FeatureSpec& spec, const FeatureTarget& target) {
  switch (spec.dtype) {
    case DType::kFloat32:
      need_kind(feature, spec, pb::Feature::kFloatList);
      copy_values(feature.float_list().value(), spec, target.numbers);
      break;
    case DType::kInt64:
      need_kind(feature, spec, pb::Feature::kInt64List);
      copy_values(feature.int64_list().value(), spec, target.numbers);
      break;
    case DType::kString:
      need_kind(feature, spec, pb::Feature::kBytesList);
      need_count(static_cast<std::size_t>(feature.bytes_list().value_size()), spec, "values");
      std::copy(feature.bytes_list().value().begin(), feature.bytes_list().value().end(), target.texts);
      break;
    default:
      need_kind(feature, spec, pb::Feature::kBytesList);
      if (feature.bytes_list().value_size() != 1)
        fail(Code::kInvalidArgument, "[B3024] feature \"" + spec.name + "\" has " +
                                         std::to_string(feature.bytes_list().value_size()) +
                                         " strings; uint8 takes the bytes of one");
      need_count(feature.bytes_list().value(0).size(), spec, "bytes");
      std::memcpy(target.numbers, feature.bytes_list().value(0).data(), spec.elements);
  }
}

// Reads messages in the usual form from the record straight to their destination. That takes a tenth of the time of
// making a message with its map of strings. Each function returns false if the bytes have another form, or do not fit
// the manifest. Then the whole record is parsed, which finds the fault, if there is one.
class PlainReader {
 public:
  explicit PlainReader(std::string_view bytes)
      : bytes_(bytes), in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  bool at_end() { return position() == bytes_.size(); }
  // Returns the number and wire type of the next field; 0: the end.
  std::uint32_t tag() { return in_.ReadTag(); }
  // Reads the length of a field of bytes, and the bytes.
  bool bytes(std::string_view& out) {
    std::uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > bytes_.size() - position()) return false;
    out = bytes_.substr(position(), length);
    return in_.Skip(static_cast<int>(length));
  }
  bool bytes_of(std::uint32_t tag, std::string_view& out) { return this->tag() == tag && bytes(out); }
  bool integer(std::int64_t& out) {
    std::uint64_t value = 0;
    if (!in_.ReadVarint64(&value)) return false;
    out = static_cast<std::int64_t>(value);
    return true;
  }

 private:
  std::size_t position() const { return static_cast<std::size_t>(in_.CurrentPosition()); }

  std::string_view bytes_;
  google::protobuf::io::CodedInputStream in_;
};

// Returns the tag of a field of bytes.
constexpr std::uint32_t field(std::uint32_t number) { return number << 3 | 2; }

bool read_integers(std::string_view packed, const FeatureSpec& spec, void* out) {
  PlainReader in(packed);
  auto* values = static_cast<std::int64_t*>(out);
  for (std::size_t i = 0; i < spec.elements; ++i)
    if (!in.integer(values[i])) return false;
  return in.at_end();
}

bool read_texts(std::string_view list, const FeatureSpec& spec, const FeatureTarget& target) {
  PlainReader in(list);
  std::string_view text;
  if (spec.dtype == DType::kUInt8) {
    if (!in.bytes_of(field(pb::BytesList::kValueFieldNumber), text) || text.size() != spec.elements) return false;
    if (!text.empty()) std::memcpy(target.numbers, text.data(), text.size());
    return in.at_end();
  }
  for (std::size_t i = 0; i < spec.elements; ++i) {
    if (!in.bytes_of(field(pb::BytesList::kValueFieldNumber), text)) return false;
    target.texts[i] = text;
  }
  return in.at_end();
}

bool read_feature(std::string_view feature, const FeatureSpec& spec, const FeatureTarget& target) {
  const bool floats = spec.dtype == DType::kFloat32, integers = spec.dtype == DType::kInt64;
  const int kind = floats     ? pb::Feature::kFloatListFieldNumber
                   : integers ? pb::Feature::kInt64ListFieldNumber
                              : pb::Feature::kBytesListFieldNumber;
  PlainReader in(feature);
  std::string_view list, packed;
  if (!in.bytes_of(field(static_cast<std::uint32_t>(kind)), list) || !in.at_end()) return false;
  if (!floats && !integers) return read_texts(list, spec, target);
  if (list.empty()) return spec.elements == 0;
  PlainReader values(list);
  if (!values.bytes_of(field(pb::FloatList::kValueFieldNumber), packed) || !values.at_end()) return false;
  if (integers) return read_integers(packed, spec, target.numbers);
  if (packed.size() != spec.elements * sizeof(float)) return false;
  std::memcpy(target.numbers, packed.data(), packed.size());
  return true;
}

bool read_plainly(std::string_view record, const std::vector<FeatureSpec>& specs,
                  const std::vector<FeatureTarget>& targets) {
  constexpr std::size_t kMost = 64;
  if (specs.size() > kMost || record.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  PlainReader example(record);
  std::string_view features, entry, name, feature;
  if (!example.bytes_of(field(pb::Example::kFeaturesFieldNumber), features) || !example.at_end()) return false;
  std::uint64_t found = 0;
  PlainReader in(features);
  while (!in.at_end()) {
    if (!in.bytes_of(field(pb::Features::kFeatureFieldNumber), entry)) return false;
    PlainReader pair(entry);
    if (!pair.bytes_of(field(1), name) || !pair.bytes_of(field(2), feature) || !pair.at_end()) return false;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].name != name) continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      if ((found & bit) != 0 || !read_feature(feature, specs[i], targets[i])) return false;
      found |= bit;
    }
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (((found >> i) & 1) != 0) continue;
    if (!specs[i].fallback) return false;
    copy_fallback(specs[i], targets[i]);
  }
  return true;
}

}  // namespace

bool has_feature(std::string_view record, const std::string& name) {
  pb::Example example;
  if (record.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !example.ParseFromArray(record.data(), static_cast<int>(record.size())))
    return false;
  const auto& features = example.features().feature();
  const auto found = features.find(name);
  return found != features.end() && found->second.kind_case() != pb::Feature::KIND_NOT_SET;
}

void decode_example(std::string_view record, const std::vector<FeatureSpec>& specs,
                    const std::vector<FeatureTarget>& targets) {
  if (read_plainly(record, specs, targets)) return;
  pb::Example example;
  const bool parsed = record.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
                      example.ParseFromArray(record.data(), static_cast<int>(record.size()));
  if (!parsed) fail(Code::kDataLoss, "[B3022] it is no tf.train.Example: its bytes are no such message");
  if (!example.feature_lists().empty())
    fail(
        Code::kInvalidArgument,
        "[B3022] it is a tf.train.SequenceExample; this input reads tf.train.Example: write each sequence as a feature "
        "of one "
        "length");
  const auto& features = example.features().feature();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto found = features.find(specs[i].name);
    const bool set = found != features.end() && found->second.kind_case() != pb::Feature::KIND_NOT_SET;
    if (set) {
      copy_feature(found->second, specs[i], targets[i]);
    } else if (specs[i].fallback) {
      copy_fallback(specs[i], targets[i]);
    } else if (found != features.end()) {
      fail(Code::kInvalidArgument,
           "[B3034] it has no value for feature \"" + specs[i].name + "\", and 'features' has no default for it");
    } else {
      fail_missing(example.features(), specs[i]);
    }
  }
}

}  // namespace tfrecord_input
