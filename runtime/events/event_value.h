// SPDX-License-Identifier: Apache-2.0
// Reads the content of an event, in both forms. The old one is that of TensorFlow 1's summaries. In the new one
// everything is a tensor, and the metadata of a tag's first value names its kind. [any thread]
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {

// A value of one tag, or of the session.
struct EventValue {
  std::string kind;  // scalar, histogram, image, audio, text, tensor, hparams, graph, run_metadata, start, stop ...
  std::string tag = {};
  std::optional<double> number = {};  // a scalar's
  // A scalar's number, with enough digits to read it back exactly in its type. A matrix's rows as JSON, unless it is
  // large. A text itself. Else a description.
  std::string text = {};
  // Set only if contents are wanted: an image's encoded bytes, a histogram's HistogramProto, a graph's GraphDef.
  std::string content = {};
};

// Whether values come with their content, or only with a description.
enum class EventContents { kDescribed, kHeld };

// Reads event files one by one, in the order of the run. It keeps the metadata of a tag's first value.
class EventValues {
 public:
  explicit EventValues(EventContents contents = EventContents::kDescribed) : contents_(contents) {}

  // Calls `use` for each value of the event. The version is no value.
  void for_each(const pb::Event& event, const std::function<void(EventValue)>& use);

 private:
  EventValue value_of(const pb::Summary::Value& value);
  EventValue value_of(const pb::Event& event) const;

  EventContents contents_;
  std::map<std::string, std::string> plugins_;  // by tag
};

}  // namespace belay::runtime
