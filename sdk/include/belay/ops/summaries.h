// SPDX-License-Identifier: Apache-2.0
// Summaries: string scalars that hold a serialized tensorboard Summary, for summary_saver to write.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Each joins the collection "summaries", which the session merges and summary_saver writes. Tags name what TensorBoard
// shows.

// One number.
inline Output scalar_summary(std::string_view tag, const Output& value, std::string_view name = {}) {
  const Graph g = value.graph();
  const Output s = g.node("ScalarSummary", name).in(value).attr("tag", tag).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// How the elements of a tensor are distributed. A NaN or infinity in it ends the run as DIVERGED.
inline Output histogram_summary(std::string_view tag, const Output& values, std::string_view name = {}) {
  const Graph g = values.graph();
  const Output s = g.node("HistogramSummary", name).in(values).attr("tag", tag).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// The first images of [images, height, width, channels], as "tag/image/0" ... (with max_images 1: "tag/image"). 1
// channel is grey, 3 are RGB, 4 RGBA. uint8 as they are; float32 scaled image by image: the largest value becomes 255,
// or, where some are negative, 0 becomes 128. Pixels that are no numbers are red.
inline Output image_summary(std::string_view tag, const Output& images, std::int64_t max_images = 3,
                            std::string_view name = {}) {
  const Graph g = images.graph();
  const Output s = g.node("ImageSummary", name).in(images).attr("tag", tag).attr("max_images", max_images).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// A string tensor; TensorBoard shows it as Markdown.
inline Output text_summary(std::string_view tag, const Output& texts, std::string_view name = {}) {
  const Graph g = texts.graph();
  const Output s = g.node("TextSummary", name).in(texts).attr("tag", tag).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// All in one message.
inline Output merge_summary(const Graph& g, const std::vector<Output>& summaries, std::string_view name = {}) {
  return g.node("MergeSummary", name).in(summaries).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
