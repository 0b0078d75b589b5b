// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/tensor.h"
#include "runtime/events/hparams.h"
#include "runtime/events/matrix.h"

namespace belay::runtime {
namespace {

template <class T>
std::string number_text(T x) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof(text), x).ptr};
}

EventValue scalar(double x, bool is_float) {
  return {"scalar", {}, x, is_float ? number_text(static_cast<float>(x)) : number_text(x)};
}

std::string shape_text(const pb::TensorShapeProto& shape) {
  if (shape.unknown_rank()) return "[...]";
  Dims dims;
  for (const auto& dim : shape.dim()) dims.push_back(dim.size());
  return dims_text(dims);
}

template <class T>
std::optional<double> raw_at(std::string_view content, std::size_t i) {
  T value{};
  if (content.size() / sizeof(T) <= i) return std::nullopt;
  std::memcpy(&value, content.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

// If the list is shorter than the tensor, its last element fills the rest.
template <class T, class List>
std::optional<double> element(const List& list, const std::string& raw, std::size_t i) {
  if (list.empty()) return raw_at<T>(raw, i);
  return static_cast<double>(list.Get(static_cast<int>(std::min(i, static_cast<std::size_t>(list.size() - 1)))));
}

// Returns none if the tensor has no such element or another type.
std::optional<double> number_at(const pb::TensorProto& t, std::size_t i) {
  const std::string& raw = t.tensor_content();
  switch (t.dtype()) {
    case pb::DT_FLOAT: return element<float>(t.float_val(), raw, i);
    case pb::DT_DOUBLE: return element<double>(t.double_val(), raw, i);
    case pb::DT_INT32: return element<std::int32_t>(t.int_val(), raw, i);
    case pb::DT_INT64: return element<std::int64_t>(t.int64_val(), raw, i);
    case pb::DT_BOOL: {
      const std::optional<double> value = element<std::uint8_t>(t.bool_val(), raw, i);
      return value ? std::optional(*value != 0 ? 1.0 : 0.0) : std::nullopt;
    }
    case pb::DT_HALF: {
      if (t.half_val().empty()) return std::nullopt;
      const std::optional<double> bits = element<std::uint16_t>(t.half_val(), "", i);
      return detail::half_to_double(static_cast<std::uint16_t>(*bits));
    }
    default: return std::nullopt;
  }
}

// Returns an empty text if it is no matrix, has another type, or is large.
std::string matrix_text(const pb::TensorProto& t) {
  const pb::TensorShapeProto& shape = t.tensor_shape();
  if (shape.dim_size() != 2 || shape.dim(0).size() <= 0 || shape.dim(1).size() <= 0) return "";
  const auto rows = static_cast<std::size_t>(shape.dim(0).size()),
             columns = static_cast<std::size_t>(shape.dim(1).size());
  if (rows > kMostMatrixNumbers || columns > kMostMatrixNumbers / rows) return "";
  Matrix matrix(rows);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const std::optional<double> number = number_at(t, i);
    if (!number) return "";
    matrix[i / columns].push_back(*number);
  }
  return matrix_json(matrix);
}

std::string histogram_text(const pb::HistogramProto& h) {
  const double mean = h.num() > 0 ? h.sum() / h.num() : 0;
  return "count " + number_text(h.num()) + ", min " + number_text(h.min()) + ", max " + number_text(h.max()) +
         ", mean " + number_text(mean);
}

std::string strings_text(const pb::TensorProto& t) {
  std::string text;
  for (const std::string& s : t.string_val()) text += (text.empty() ? "" : "\n") + s;
  return text;
}

// If the metadata names the plugin that shows the tensor, that decides the kind.
EventValue tensor_value(const pb::TensorProto& t, const std::string& plugin) {
  if (plugin == "images" && t.string_val_size() >= 2)
    return {"image", {}, {}, fmt::format("{} of {} x {}", t.string_val_size() - 2, t.string_val(0), t.string_val(1))};
  if (plugin == "histograms") return {"histogram", {}, {}, "buckets " + shape_text(t.tensor_shape())};
  if (t.dtype() == pb::DT_STRING) return {"text", {}, {}, strings_text(t)};
  const auto& dims = t.tensor_shape().dim();
  const bool one = std::all_of(dims.begin(), dims.end(), [](const auto& d) { return d.size() == 1; });
  const auto number = number_at(t, 0);
  if (number && one && !t.tensor_shape().unknown_rank())
    return scalar(*number, t.dtype() == pb::DT_FLOAT || t.dtype() == pb::DT_HALF);
  if (std::string matrix = matrix_text(t); !matrix.empty()) return {"tensor", {}, {}, std::move(matrix)};
  return {"tensor", {}, {}, pb::DataType_Name(t.dtype()) + " " + shape_text(t.tensor_shape())};
}

// Reads a tensor of rows: left end, right end, count.
pb::HistogramProto histogram_of(const pb::TensorProto& t) {
  const bool wide = t.dtype() == pb::DT_DOUBLE;
  const std::string& raw = t.tensor_content();
  const auto listed = static_cast<std::size_t>(wide ? t.double_val_size() : t.float_val_size());
  const auto number = [&](std::size_t i) -> double {
    const auto at = static_cast<int>(i);
    if (i < listed) return wide ? t.double_val(at) : static_cast<double>(t.float_val(at));
    return (wide ? raw_at<double>(raw, i) : raw_at<float>(raw, i)).value_or(0);
  };
  const std::size_t numbers = listed != 0 ? listed : raw.size() / (wide ? sizeof(double) : sizeof(float));
  pb::HistogramProto h;
  if (t.dtype() != pb::DT_DOUBLE && t.dtype() != pb::DT_FLOAT) return h;
  for (std::size_t i = 0; i + 3 <= numbers; i += 3) {
    if (i == 0) h.set_min(number(0));
    h.set_max(number(i + 1));
    h.add_bucket_limit(number(i + 1));
    h.add_bucket(number(i + 2));
  }
  return h;
}

std::string content_of(const pb::Summary::Value& value, const std::string& kind) {
  if (kind == "image") {
    const pb::TensorProto& t = value.tensor();  // width, height, then the images
    return value.has_image() ? value.image().encoded_image_string() : t.string_val_size() > 2 ? t.string_val(2) : "";
  }
  if (kind != "histogram") return "";
  return (value.has_histo() ? value.histo() : histogram_of(value.tensor())).SerializeAsString();
}

std::string bytes_of(std::size_t bytes) { return fmt::format("{} bytes", bytes); }

// Returns the number of traced nodes, and the time from the first one's start to the last one's end.
std::string run_metadata_text(const std::string& bytes) {
  pb::RunMetadata run;
  int nodes = 0;
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
  if (run.ParseFromString(bytes))
    for (const pb::DeviceStepStats& device : run.step_stats().dev_stats())
      for (const pb::NodeExecStats& node : device.node_stats()) {
        ++nodes;
        begin = std::min<std::int64_t>(begin, node.all_start_micros());
        end = std::max<std::int64_t>(end, node.all_start_micros() + node.all_end_rel_micros());
      }
  return nodes == 0 ? bytes_of(bytes.size()) : fmt::format("{} nodes, {} us", nodes, end - begin);
}

EventValue session_value(const pb::SessionLog& log) {
  std::string kind = "session";
  if (log.status() == pb::SessionLog::START) kind = "start";
  if (log.status() == pb::SessionLog::STOP) kind = "stop";
  if (log.status() == pb::SessionLog::CHECKPOINT) kind = "checkpoint";
  return {kind, {}, {}, log.checkpoint_path().empty() ? log.msg() : log.checkpoint_path()};
}

}  // namespace

EventValue EventValues::value_of(const pb::Summary::Value& value) {
  const std::string& named = value.metadata().plugin_data().plugin_name();
  const std::string& plugin = plugins_.try_emplace(value.tag(), named).first->second;
  switch (value.value_case()) {
    case pb::Summary::Value::kSimpleValue: return scalar(static_cast<double>(value.simple_value()), true);
    case pb::Summary::Value::kHisto: return {"histogram", {}, {}, histogram_text(value.histo())};
    case pb::Summary::Value::kImage:
      return {"image", {}, {}, fmt::format("{} x {}", value.image().width(), value.image().height())};
    case pb::Summary::Value::kAudio: return {"audio", {}, {}, bytes_of(value.audio().encoded_audio_string().size())};
    case pb::Summary::Value::kTensor:
      if (plugin == "hparams") return {"hparams", {}, {}, hparams_text(value.metadata().plugin_data().content())};
      return tensor_value(value.tensor(), plugin);
    default: return {"other"};
  }
}

EventValue EventValues::value_of(const pb::Event& event) const {
  switch (event.what_case()) {
    case pb::Event::kSessionLog: return session_value(event.session_log());
    case pb::Event::kGraphDef: {
      EventValue graph{"graph", {}, {}, bytes_of(event.graph_def().size())};
      if (contents_ == EventContents::kHeld) graph.content = event.graph_def();
      return graph;
    }
    case pb::Event::kMetaGraphDef: return {"meta_graph", {}, {}, bytes_of(event.meta_graph_def().size())};
    case pb::Event::kTaggedRunMetadata:
      return {"run_metadata",
              event.tagged_run_metadata().tag(),
              {},
              run_metadata_text(event.tagged_run_metadata().run_metadata())};
    case pb::Event::kLogMessage: return {"log", {}, {}, event.log_message().message()};
    default: return {};
  }
}

void EventValues::for_each(const pb::Event& event, const std::function<void(EventValue)>& use) {
  if (!event.has_summary()) {
    if (EventValue value = value_of(event); !value.kind.empty()) use(std::move(value));
    return;
  }
  for (const pb::Summary::Value& v : event.summary().value()) {
    EventValue value = value_of(v);
    value.tag = v.tag();
    if (contents_ == EventContents::kHeld) value.content = content_of(v, value.kind);
    use(std::move(value));
  }
}

}  // namespace belay::runtime
