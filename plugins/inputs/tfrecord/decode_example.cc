#include "decode_example.h"

#include <belay/error.h>
#include <belay/nearest.h>

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
  fail(Code::kInvalidArgument, "has no feature \"" + spec.name + "\"" + belay::did_you_mean(spec.name, names) +
                                   ", and 'features' gives it no default; it has " +
                                   (list.empty() ? "no features" : list));
}

void need_kind(const pb::Feature& feature, const FeatureSpec& spec, pb::Feature::KindCase kind) {
  if (feature.kind_case() == kind) return;
  const bool bytes = feature.kind_case() == pb::Feature::kBytesList;
  fail(Code::kInvalidArgument,
       "feature \"" + spec.name + "\" holds " + kind_name(feature.kind_case()) + ", 'features' says " +
           belay::dtype_name(spec.dtype) +
           (bytes ? "; use string or uint8" : std::string("; use ") + kind_name(feature.kind_case())));
}

void need_count(std::size_t found, const FeatureSpec& spec, const char* of) {
  if (found == spec.elements) return;
  fail(Code::kInvalidArgument, "feature \"" + spec.name + "\" has " + std::to_string(found) + " " + of +
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
        fail(Code::kInvalidArgument, "feature \"" + spec.name + "\" has " +
                                         std::to_string(feature.bytes_list().value_size()) +
                                         " texts; uint8 takes the bytes of one");
      need_count(feature.bytes_list().value(0).size(), spec, "bytes");
      std::memcpy(target.numbers, feature.bytes_list().value(0).data(), spec.elements);
  }
}

}  // namespace

void decode_example(std::string_view record, const std::vector<FeatureSpec>& specs,
                    const std::vector<FeatureTarget>& targets) {
  pb::Example example;
  const bool parsed = record.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
                      example.ParseFromArray(record.data(), static_cast<int>(record.size()));
  if (!parsed) fail(Code::kDataLoss, "is no tf.train.Example: its bytes are no such message");
  if (!example.feature_lists().empty())
    fail(Code::kInvalidArgument,
         "is a tf.train.SequenceExample; this input reads tf.train.Example: write each sequence as a feature of one "
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
           "has no value for feature \"" + specs[i].name + "\", and 'features' gives it no default");
    } else {
      fail_missing(example.features(), specs[i]);
    }
  }
}

}  // namespace tfrecord_input
