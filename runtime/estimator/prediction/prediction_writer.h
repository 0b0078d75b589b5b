// SPDX-License-Identifier: Apache-2.0
// Predictions as JSON lines, CSV or npy, in the order of the input and in memory that does not grow with it.
//
//   const auto writer = make_prediction_writer(PredictionFormat::kCsv, prediction_file(files, path), files, "/tmp");
//   while (const Prediction* batch = predictions.next_batch())
//     if (!writer->write(*batch)) break;       // `| head`: the reader is gone
//   writer->finish();
//
// The id of an example comes before its predictions, if the input has a feature or label of that name. Otherwise its
// number comes first: `index`, from 0. A prediction of the same name replaces either.
//
//   jsonl  an object a line, vectors as arrays, arrays of arrays and so on. NaN and infinities are null. Bytes of a
//          string that are no UTF-8 are U+FFFD. Both are counted.
//   csv    a header, and a column for a scalar. Larger values have columns `name_0`, `name_1`, ... (`name_0_0`, ...),
//          so all examples need the same shape. RFC 4180's quotes, lines that end with a line feed, `nan`, `inf` and
//          `-inf`.
//   npy    one prediction as one array, without ids; version 1.0, little-endian, in C order. bfloat16 becomes float32,
//          since numpy has no bfloat16. Its header holds the number of rows, which is known last. In a file the header
//          is written over. For stdout the rows wait in a file without a name in the temporary directory. It is not for
//          a terminal, and not for strings.
//
// Floats have the fewest digits that read back as the same number. For float16 and bfloat16 that is the same float32.
// Integers have all of theirs. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "belay/runtime/predict_settings.h"

#include "runtime/estimator/prediction/prediction_output.h"
#include "runtime/estimator/prediction/predictions.h"

namespace belay::runtime {

enum class PredictionFormat { kJsonLines, kCsv, kNpy };

// Parses "jsonl", "csv" and "npy". INVALID_ARGUMENT lists them.
PredictionFormat prediction_format(std::string_view name);
// Returns the format by the ending of a file's name; JSON lines if the ending is unknown.
PredictionFormat prediction_format_of_file(std::string_view path);

struct PredictionTotals {
  std::int64_t examples = 0;
  std::int64_t not_finite = 0;  // numbers that JSON cannot write, written as null
  std::int64_t replaced = 0;    // bytes that are no UTF-8, in JSON
  bool reader_gone = false;     // the rest was not read
};

class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  // Writes a batch of Predictions::next_batch. False: the reader is gone. INVALID_ARGUMENT if the format cannot hold
  // it.
  virtual bool write(const Prediction& batch) = 0;
  // Call it after the last batch, or no file appears. False as in write().
  virtual bool finish() = 0;
  const PredictionTotals& totals() const noexcept { return totals_; }

 protected:
  PredictionTotals totals_;
};

// npy to a terminal is INVALID_ARGUMENT. `files` is borrowed.
std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionFormat format,
                                                         std::unique_ptr<PredictionOutput> output, FileSystem& files,
                                                         const std::string& temporary_directory);

// The writer that [predict] of a manifest asks for: its output, or stdout; its format, or that of the file's name. npy
// for stdout waits in the folder that TMPDIR names.
std::unique_ptr<PredictionWriter> prediction_writer_of(const PredictSettings& settings, FileSystem& files);

// Sampled text with the same destination: the prompt comes before the first character, a newline after the last one. A
// model that cannot sample leaves stdout empty, and no file.
class SampledTextWriter {
 public:
  SampledTextWriter(std::unique_ptr<PredictionOutput> output, std::string prompt)
      : output_(std::move(output)), prompt_(std::move(prompt)) {}
  // False: the reader is gone.
  bool write(std::string_view character);
  // Call it after the last character, or no file appears.
  void finish();

 private:
  const std::unique_ptr<PredictionOutput> output_;
  const std::string prompt_;
  bool begun_ = false;
  bool read_ = true;
};
std::unique_ptr<SampledTextWriter> sampled_text_writer_of(const PredictSettings& settings, FileSystem& files);

// The remark at the end of a prediction, besides the number of examples: "3 numbers are not finite and were written as
// null". Empty: none.
std::string remark_of(const PredictionTotals& totals);

}  // namespace belay::runtime
