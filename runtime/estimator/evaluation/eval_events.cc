// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_events.h"

#include <fmt/core.h>

#include "belay/tensor_text.h"
#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {
namespace {

// DT_INVALID: no event has such elements.
pb::DataType proto_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return pb::DT_FLOAT;
    case DType::kFloat64: return pb::DT_DOUBLE;
    case DType::kInt32: return pb::DT_INT32;
    case DType::kInt64: return pb::DT_INT64;
    case DType::kUInt8: return pb::DT_UINT8;
    case DType::kBool: return pb::DT_BOOL;
    case DType::kBFloat16: return pb::DT_BFLOAT16;
    case DType::kFloat16: return pb::DT_HALF;
    default: return pb::DT_INVALID;
  }
}

class MetricSummary {
 public:
  explicit MetricSummary(Logger& log) : log_(log) {}

  void add(const std::string& key, const TensorView& value) {
    if (value.dtype() == DType::kString) {
      add_summaries(key, value);
    } else if (value.size() == 1 && value.rank() == 0) {
      pb::Summary::Value& v = *summary_.add_value();
      v.set_tag(key);
      v.set_simple_value(static_cast<float>(value.number(0)));
    } else {
      add_tensor(key, value);
    }
  }
  const pb::Summary& summary() const noexcept { return summary_; }

 private:
  void skip(const std::string& key, const std::string& why) {
    log_.warning("", "the metric '" + key + "' is in no event: " + why);
  }

  void add_summaries(const std::string& key, const TensorView& value) {
    pb::Summary parsed;
    if (value.size() != 1) return skip(key, "it holds several strings");
    if (!parsed.ParseFromString(std::string(value.text(0)))) return skip(key, "the string is no serialized summary");
    for (int i = 0; i < parsed.value_size(); ++i) {
      pb::Summary::Value& v = *summary_.add_value();
      v = parsed.value(i);
      v.set_tag(fmt::format("{}/{}", key, i));
    }
  }

  void add_tensor(const std::string& key, const TensorView& value) {
    const pb::DataType type = proto_type(value.dtype());
    if (type == pb::DT_INVALID) return skip(key, "its type has no place there");
    pb::Summary::Value& v = *summary_.add_value();
    v.set_tag(key);
    pb::TensorProto& tensor = *v.mutable_tensor();
    tensor.set_dtype(type);
    for (const std::int64_t d : value.dims()) tensor.mutable_tensor_shape()->add_dim()->set_size(d);
    tensor.set_tensor_content(std::string(static_cast<const char*>(value.data()), value.bytes()));
  }

  Logger& log_;
  pb::Summary summary_;
};

}  // namespace

void write_eval_metrics(EventWriter& events, Logger& log, const EvalMetrics& metrics, std::int64_t step,
                        const std::string& checkpoint) {
  MetricSummary summary(log);
  for (const auto& [name, value] : metrics)
    if (name != "global_step") summary.add(name, value);
  events.add_summary(summary.summary().SerializeAsString(), step);
  if (!checkpoint.empty()) {
    pb::Summary path;
    pb::Summary::Value& v = *path.add_value();
    v.set_tag("checkpoint_path");
    v.mutable_tensor()->set_dtype(pb::DT_STRING);
    v.mutable_tensor()->mutable_tensor_shape();
    v.mutable_tensor()->add_string_val(checkpoint);
    events.add_summary(path.SerializeAsString(), step);
  }
  events.flush();
}

}  // namespace belay::runtime

namespace belay {

std::string eval_metrics_text(const EvalMetrics& metrics) {
  std::string text;
  for (const auto& [name, tensor] : metrics) {
    const TensorView value = tensor;
    if (value.dtype() == DType::kString || value.size() != 1) continue;
    text += (text.empty() ? "" : ", ") + name + " = " + rounded_text(value.number(0));
  }
  return text;
}

}  // namespace belay
