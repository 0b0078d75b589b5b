// SPDX-License-Identifier: Apache-2.0
// What an event says, in the old form of TensorFlow 1's summaries and in the new one, where everything is a tensor and
// the metadata of a tag's first value says what it is. [any thread]
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {

// Of one tag, or of the session.
struct EventValue {
  std::string kind;  // scalar, histogram, image, audio, text, tensor, hparams, graph, run_metadata, start, stop ...
  std::string tag = {};
  std::optional<double> number = {};  // of a scalar
  // Of a scalar its number, with as many digits as read back to it in its type; of a matrix its rows, as JSON, unless
  // it is large; a text itself; else what there is to say.
  std::string text = {};
  // Only where contents are asked for: of an image its encoded bytes, of a histogram a HistogramProto, of a graph a
  // GraphDef.
  std::string content = {};
};

// Whether values come with what they hold, or with a word about it.
enum class EventContents { kDescribed, kHeld };

// One event file after the other, in the order of the run: the metadata of a tag is kept from its first value.
class EventValues {
 public:
  explicit EventValues(EventContents contents = EventContents::kDescribed) : contents_(contents) {}

  // Calls `use` for each value of the event; the version is none.
  void for_each(const pb::Event& event, const std::function<void(EventValue)>& use);

 private:
  EventValue value_of(const pb::Summary::Value& value);
  EventValue value_of(const pb::Event& event) const;

  EventContents contents_;
  std::map<std::string, std::string> plugins_;  // by tag
};

}  // namespace belay::runtime
