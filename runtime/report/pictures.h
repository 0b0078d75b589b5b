// SPDX-License-Identifier: Apache-2.0
// The parts of a run's events that are no numbers: histograms, images, texts, matrices, the graph. A run may have
// written gigabytes of them. So only those for a page are kept: some steps of each tag. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/events/matrix.h"
#include "runtime/events/run_events_reader.h"

namespace belay::runtime {

struct HistogramBucket {
  double left = 0, right = 0;
  double count = 0;
};
struct Histogram {
  std::int64_t step = 0;
  std::vector<HistogramBucket> buckets;
};
struct HistogramsOfTag {
  std::string name;
  std::vector<Histogram> steps;
};

struct Image {
  std::int64_t step = 0;
  std::string type;   // "image/png"
  std::string bytes;  // in its original form
};
struct ImagesOfTag {
  std::string name;
  std::vector<Image> steps;
};

struct TextOfTag {
  std::string name;
  std::int64_t step = 0;  // the last one
  std::string text;
};

struct MatrixOfTag {
  std::string name;
  std::int64_t step = 0;  // the last one
  Matrix rows;
};

struct Pictures {
  std::vector<HistogramsOfTag> histograms;
  std::vector<ImagesOfTag> images;
  std::vector<TextOfTag> texts;
  std::vector<MatrixOfTag> matrices;
  std::string graph;  // a serialized GraphDef, that of the last attempt; empty: there is none
  std::vector<std::string> left_out;
};

// `points` are those of all files, without contents. It skips points that are written again, or in a run that is not
// `shown`. It reads the files of `path` again if there is something to keep.
Pictures read_pictures(FileSystem& files, const std::string& path, const ReadEvents& events,
                       const std::vector<bool>& shown);

// Returns a histogram without buckets if the content is wrong.
Histogram parse_histogram(const std::string& content, std::int64_t step);

// Makes one drawing: a row for each step, the last one in front.
std::string svg_of(const HistogramsOfTag& histograms);

}  // namespace belay::runtime
