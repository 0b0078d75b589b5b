// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/hparams.h"

#include <charconv>
#include <map>

#include "runtime/events/proto/event.pb.h"
#include "runtime/events/proto/hparams.pb.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The plugin reads the metadata; the tensor is empty.
std::string hparams_summary(const char* tag, const pb::HParamsPluginData& data) {
  pb::Summary summary;
  pb::Summary::Value& value = *summary.add_value();
  value.set_tag(tag);
  value.mutable_tensor()->set_dtype(pb::DT_FLOAT);
  value.mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(0);
  pb::SummaryMetadata::PluginData& plugin = *value.mutable_metadata()->mutable_plugin_data();
  plugin.set_plugin_name("hparams");
  plugin.set_content(data.SerializeAsString());
  return summary.SerializeAsString();
}

std::string hparam_text(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kBoolValue: return value.bool_value() ? "true" : "false";
    case google::protobuf::Value::kStringValue: return value.string_value();
    case google::protobuf::Value::kNumberValue: {
      char text[40];
      return {text, std::to_chars(text, text + sizeof(text), value.number_value()).ptr};
    }
    default: return "";
  }
}

}  // namespace

std::string hparams_of_start(const std::vector<HParam>& options, double seconds_since_1970) {
  pb::HParamsPluginData data;
  pb::HParamsSessionStart& start = *data.mutable_session_start_info();
  start.set_start_time_secs(seconds_since_1970);
  for (const auto& [key, option] : options) {
    google::protobuf::Value& value = (*start.mutable_hparams())[escaped(key)];
    if (const bool* b = std::get_if<bool>(&option)) {
      value.set_bool_value(*b);
    } else if (const double* d = std::get_if<double>(&option)) {
      value.set_number_value(*d);
    } else {
      value.set_string_value(escaped(std::get<std::string>(option)));
    }
  }
  return hparams_summary("_hparams_/session_start_info", data);
}

std::string hparams_of_end(bool success, double seconds_since_1970) {
  pb::HParamsPluginData data;
  pb::HParamsSessionEnd& end = *data.mutable_session_end_info();
  end.set_status(success ? pb::STATUS_SUCCESS : pb::STATUS_FAILURE);
  end.set_end_time_secs(seconds_since_1970);
  return hparams_summary("_hparams_/session_end_info", data);
}

std::string hparams_text(const std::string& content) {
  pb::HParamsPluginData data;
  if (!data.ParseFromString(content)) return "";
  std::string text;
  switch (data.data_case()) {
    case pb::HParamsPluginData::kSessionStartInfo: {
      // The message's map has no order.
      std::map<std::string, std::string> options;
      for (const auto& [key, value] : data.session_start_info().hparams()) options[key] = hparam_text(value);
      for (const auto& [key, value] : options) text += (text.empty() ? "" : ", ") + key + " = " + value;
      return text;
    }
    case pb::HParamsPluginData::kSessionEndInfo:
      switch (data.session_end_info().status()) {
        case pb::STATUS_SUCCESS: return "success";
        case pb::STATUS_FAILURE: return "failure";
        case pb::STATUS_RUNNING: return "running";
        default: return "unknown";
      }
    case pb::HParamsPluginData::kExperiment: return data.experiment().name();
    default: return "";
  }
}

}  // namespace belay::runtime
