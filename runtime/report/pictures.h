// SPDX-License-Identifier: Apache-2.0
// What of a run's events is no number: histograms, images, texts, matrices, the graph. A run may have written gigabytes
// of them, so only what a page shows is kept: some steps of each tag. [any thread]
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
  std::string bytes;  // as it was written
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

// `points` are what all the files hold, without contents; those that are redone or in a run that is not `shown` are
// passed over. The files of `path` are read once more where there is something to keep.
Pictures read_pictures(FileSystem& files, const std::string& path, const ReadEvents& events,
                       const std::vector<bool>& shown);

// Left out below: nothing; of a wrong one no buckets.
Histogram parse_histogram(const std::string& content, std::int64_t step);

// One drawing: a row for each step, the last one in front.
std::string svg_of(const HistogramsOfTag& histograms);

}  // namespace belay::runtime
