// SPDX-License-Identifier: Apache-2.0
// Summaries: string scalars that hold a serialized tensorboard Summary message, for summary_saver to write.
//
//   ops::scalar_summary("loss", loss);
//   ops::histogram_summary("hidden/kernel", kernel);
//
// Each summary joins the collection "summaries", which the session merges into one fetch; the program need not fetch
// it. It is computed only in the steps that fetch it, so it costs nothing in the others. Tags are the names that
// TensorBoard shows, with / as folders. INVALID_ARGUMENT: an empty tag. Bodies of cond and while_loop refuse summaries.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// One number: a scalar of any dtype but string, written as float32. NaN is written too.
inline Output scalar_summary(std::string_view tag, const Output& value, std::string_view name = {}) {
  const Graph g = value.graph();
  const Output s = g.node("ScalarSummary", name).in(value).attr("tag", tag).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// The distribution of the elements of a tensor of numbers, of any shape. It uses TensorFlow's buckets, whose limits
// grow by 10 %. A NaN or infinity in it ends the run as DIVERGED.
inline Output histogram_summary(std::string_view tag, const Output& values, std::string_view name = {}) {
  const Graph g = values.graph();
  const Output s = g.node("HistogramSummary", name).in(values).attr("tag", tag).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// The first max_images (at least 1) of [images, height, width, channels] as PNG. They are "tag/image/0" ..., or
// "tag/image" with max_images 1. 1 channel is grey, 2 are grey and alpha, 3 RGB, 4 RGBA. uint8 is written unchanged.
// float32 is scaled image by image, by TensorFlow's rule. The largest value becomes 255, or, if some are negative, 0
// becomes 128. Pixels with a NaN or infinity are red (white with one channel).
inline Output image_summary(std::string_view tag, const Output& images, std::int64_t max_images = 3,
                            std::string_view name = {}) {
  const Graph g = images.graph();
  const Output s = g.node("ImageSummary", name).in(images).attr("tag", tag).attr("max_images", max_images).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// A string tensor of any shape. TensorBoard shows it as Markdown.
inline Output text_summary(std::string_view tag, const Output& texts, std::string_view name = {}) {
  const Graph g = texts.graph();
  const Output s = g.node("TextSummary", name).in(texts).attr("tag", tag).output();
  g.collect(collections::kSummaries, s);
  return s;
}
// Merges summaries into one message: a string scalar. Use it for a summary operation in place of the default. The
// merged strings may be serialized Summary messages from any source.
inline Output merge_summary(const Graph& g, const std::vector<Output>& summaries, std::string_view name = {}) {
  return g.node("MergeSummary", name).in(summaries).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
