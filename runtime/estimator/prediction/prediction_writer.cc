// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/prediction_writer.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/estimator/prediction/npy_writer.h"
#include "runtime/manifest/paths.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kWriteAtOnce = std::size_t{1} << 16;

template <class T>
void append_digits(std::string& out, T value) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// Some readers take "-0" for a whole number, which has no sign. So it is written as a fraction.
template <class T>
void append_float(std::string& out, T value) {
  append_digits(out, value);
  if (value == 0 && std::signbit(value)) out += ".0";
}

// Appends element i; the tensor has no strings.
void append_number(std::string& out, const TensorView& t, std::size_t i) {
  switch (t.dtype()) {
    case DType::kFloat64: return append_float(out, t.number(i));
    case DType::kFloat32:
    case DType::kBFloat16:
    case DType::kFloat16: return append_float(out, static_cast<float>(t.number(i)));
    case DType::kBool: out += t.number(i) != 0 ? "true" : "false"; return;
    case DType::kInt64: return append_digits(out, t.data<const std::int64_t>()[i]);
    default: return append_digits(out, static_cast<std::int64_t>(t.number(i)));
  }
}

bool is_float(DType t) {
  return t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kBFloat16 || t == DType::kFloat16;
}

// Elements of one example.
std::size_t row_size(const TensorView& batch) {
  std::size_t n = 1;
  for (std::int32_t d = 1; d < batch.rank(); ++d) n *= static_cast<std::size_t>(batch.dim(d));
  return n;
}

// JSON lines and CSV share this: a line per example, gathered to larger writes.
class LineWriter : public PredictionWriter {
 public:
  explicit LineWriter(std::unique_ptr<PredictionOutput> output) : output_(std::move(output)) {
    buffer_.reserve(2 * kWriteAtOnce);
  }
  bool write(const Prediction& batch) override {
    const std::int64_t n = common_examples(batch);
    begin_batch(batch);
    for (std::int64_t i = 0; i < n; ++i) {
      append_line(batch, static_cast<std::size_t>(i));
      ++totals_.examples;
      if (buffer_.size() >= kWriteAtOnce && !hand_over()) return false;
    }
    return hand_over();
  }
  bool finish() override { return kept_up(output_->finish()); }

 protected:
  virtual void begin_batch(const Prediction& batch) = 0;
  virtual void append_line(const Prediction& batch, std::size_t i) = 0;

  // The name before those of the predictions. Empty if a prediction has the same name.
  static std::string_view first_name(const Prediction& batch) {
    const std::string_view name = batch.id.has_value() ? kIdName : "index";
    return std::ranges::find(batch.names, name) == batch.names.end() ? name : std::string_view();
  }
  std::string buffer_;

 private:
  bool hand_over() {
    const bool taken = output_->write(buffer_);
    buffer_.clear();
    return kept_up(taken);
  }
  bool kept_up(bool taken) {
    if (!taken) totals_.reader_gone = true;
    return taken;
  }

  const std::unique_ptr<PredictionOutput> output_;
};

class JsonLinesWriter final : public LineWriter {
 public:
  using LineWriter::LineWriter;

 protected:
  void begin_batch(const Prediction& batch) override { first_name_ = first_name(batch); }

  void append_line(const Prediction& batch, std::size_t i) override {
    char before = '{';
    if (!first_name_.empty()) {
      append_name(before, first_name_);
      if (batch.id.has_value()) {
        append_value(batch.id, i);
      } else {
        append_digits(buffer_, totals_.examples);
      }
    }
    for (std::size_t v = 0; v < batch.values.size(); ++v) {
      append_name(before, batch.names[v]);
      append_value(batch.values[v], i);
    }
    buffer_ += "}\n";
  }

 private:
  void append_name(char& before, std::string_view name) {
    buffer_ += before;
    before = ',';
    append_text(name);
    buffer_ += ':';
  }
  void append_value(const TensorView& value, std::size_t i) {
    std::size_t at = i * row_size(value);
    append_axis(value, 1, at);
  }
  void append_axis(const TensorView& value, std::int32_t axis, std::size_t& at) {
    if (axis == value.rank()) return append_element(value, at++);
    buffer_ += '[';
    for (std::int64_t k = 0; k < value.dim(axis); ++k) {
      if (k != 0) buffer_ += ',';
      append_axis(value, axis + 1, at);
    }
    buffer_ += ']';
  }
  void append_element(const TensorView& value, std::size_t at) {
    if (value.dtype() == DType::kString) return append_text(value.text(at));
    if (is_float(value.dtype()) && !std::isfinite(value.number(at))) {
      ++totals_.not_finite;
      buffer_ += "null";
      return;
    }
    append_number(buffer_, value, at);
  }
  void append_text(std::string_view text) {
    buffer_ += '"';
    while (!text.empty()) {
      const Utf8Char c = first_char(text);
      append_char(c, text.substr(0, c.size));
      text.remove_prefix(c.size);
    }
    buffer_ += '"';
  }
  void append_char(const Utf8Char& c, std::string_view bytes) {
    if (!c.valid) {
      ++totals_.replaced;
      buffer_ += "\\ufffd";
    } else if (c.value == '"' || c.value == '\\') {
      buffer_ += '\\';
      buffer_ += bytes;
    } else if (is_control(c.value)) {  // what a terminal would obey
      constexpr char kDigits[] = "0123456789abcdef";
      buffer_ += "\\u";
      buffer_ += kDigits[c.value >> 12];
      buffer_ += kDigits[c.value >> 8 & 15];
      buffer_ += kDigits[c.value >> 4 & 15];
      buffer_ += kDigits[c.value & 15];
    } else {
      buffer_ += bytes;
    }
  }

  std::string_view first_name_;
};

class CsvWriter final : public LineWriter {
 public:
  using LineWriter::LineWriter;

 protected:
  void begin_batch(const Prediction& batch) override {
    if (columns_.empty()) return begin(batch);
    std::size_t c = 0;
    if (has_first_ && batch.id.has_value()) check_shape(columns_[c++], batch.id);
    for (const TensorView& value : batch.values) check_shape(columns_[c++], value);
  }

  void append_line(const Prediction& batch, std::size_t i) override {
    bool first = true;
    if (has_first_ && batch.id.has_value()) append_cells(batch.id, i, first);
    if (has_first_ && !batch.id.has_value()) {
      append_digits(buffer_, totals_.examples);
      first = false;
    }
    for (const TensorView& value : batch.values) append_cells(value, i, first);
    buffer_ += '\n';
  }

 private:
  struct Column {
    std::string name;
    Dims dims;  // of an example
  };

  static Dims row_dims(const TensorView& value) {
    Dims dims = value.dims();
    dims.erase(dims.begin());
    return dims;
  }
  static void check_shape(const Column& column, const TensorView& value) {
    const bool same = value.rank() == static_cast<std::int32_t>(column.dims.size()) + 1 &&
                      std::equal(column.dims.begin(), column.dims.end(), value.raw().dims + 1);
    if (same) return;
    fail(Code::kInvalidArgument, "[B5034] CSV has as many columns in all lines, and an example of " +
                                     single_quoted(column.name) + " was " + dims_text(column.dims) + " and is now " +
                                     dims_text(row_dims(value)) + "; write JSON lines");
  }

  void begin(const Prediction& batch) {
    std::vector<std::string> header;
    const std::string name(first_name(batch));
    has_first_ = !name.empty();
    if (has_first_ && batch.id.has_value()) add_columns(name, batch.id, header);
    if (has_first_ && !batch.id.has_value()) header.push_back(name);
    for (std::size_t v = 0; v < batch.values.size(); ++v) add_columns(batch.names[v], batch.values[v], header);
    for (std::size_t c = 0; c < header.size(); ++c) {
      if (c != 0) buffer_ += ',';
      append_text(header[c]);
    }
    buffer_ += '\n';
    std::ranges::sort(header);
    if (const auto twice = std::ranges::adjacent_find(header); twice != header.end())
      fail(Code::kInvalidArgument,
           "[B5034] two columns would be named " + single_quoted(*twice) +
               "; choose among the predictions with predict.keys (--keys), or write JSON lines");
  }
  void add_columns(const std::string& name, const TensorView& value, std::vector<std::string>& header) {
    columns_.push_back({name, row_dims(value)});
    std::vector<std::string> names{name};
    for (const std::int64_t n : columns_.back().dims) {
      std::vector<std::string> longer;
      for (const std::string& before : names)
        for (std::int64_t k = 0; k < n; ++k) longer.push_back(fmt::format("{}_{}", before, k));
      names = std::move(longer);
    }
    header.insert(header.end(), names.begin(), names.end());
  }

  void append_cells(const TensorView& value, std::size_t i, bool& first) {
    const std::size_t n = row_size(value);
    for (std::size_t k = 0; k < n; ++k) {
      if (!std::exchange(first, false)) buffer_ += ',';
      if (value.dtype() == DType::kString) {
        append_text(value.text(i * n + k));
      } else {
        append_cell(value, i * n + k);
      }
    }
  }
  void append_cell(const TensorView& value, std::size_t at) {
    // A NaN's sign has no meaning.
    if (is_float(value.dtype()) && std::isnan(value.number(at))) {
      buffer_ += "nan";
    } else {
      append_number(buffer_, value, at);
    }
  }
  // An empty string is quoted too: otherwise a line with nothing else would look like no line.
  void append_text(std::string_view text) { append_csv_cell(buffer_, text); }

  std::vector<Column> columns_;
  bool has_first_ = false;
};

constexpr std::pair<std::string_view, PredictionFormat> kFormats[] = {
    {"jsonl", PredictionFormat::kJsonLines}, {"csv", PredictionFormat::kCsv}, {"npy", PredictionFormat::kNpy}};

}  // namespace

PredictionFormat prediction_format(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
    names.emplace_back(known);
  }
  fail(Code::kInvalidArgument, "[B5004] there is no format " + single_quoted(name) + " for predictions" +
                                   did_you_mean(name, names) + "; there are: " + joined(names));
}

PredictionFormat prediction_format_of_file(std::string_view path) {
  for (const auto& [name, format] : kFormats)
    if (path.ends_with("." + std::string(name))) return format;
  return PredictionFormat::kJsonLines;
}

std::unique_ptr<PredictionWriter> make_prediction_writer(PredictionFormat format,
                                                         std::unique_ptr<PredictionOutput> output, FileSystem& files,
                                                         const std::string& temporary_directory) {
  switch (format) {
    case PredictionFormat::kCsv: return std::make_unique<CsvWriter>(std::move(output));
    case PredictionFormat::kNpy: return make_npy_writer(std::move(output), files, temporary_directory);
    case PredictionFormat::kJsonLines: break;
  }
  return std::make_unique<JsonLinesWriter>(std::move(output));
}

namespace {

std::unique_ptr<PredictionOutput> output_of(const PredictSettings& settings, FileSystem& files) {
  return settings.output.empty() ? prediction_stream(STDOUT_FILENO, "stdout") : prediction_file(files, settings.output);
}

}  // namespace

std::unique_ptr<PredictionWriter> prediction_writer_of(const PredictSettings& settings, FileSystem& files) {
  const PredictionFormat format =
      settings.format == "auto" ? prediction_format_of_file(settings.output) : prediction_format(settings.format);
  return make_prediction_writer(format, output_of(settings, files), files,
                                process_environment()("TMPDIR").value_or("/tmp"));
}

bool SampledTextWriter::write(std::string_view character) {
  if (!std::exchange(begun_, true)) read_ = output_->write(prompt_);
  read_ = read_ && output_->write(character);
  return read_;
}

void SampledTextWriter::finish() {
  if (read_) output_->write("\n");
  output_->finish();
}

std::unique_ptr<SampledTextWriter> sampled_text_writer_of(const PredictSettings& settings, FileSystem& files) {
  return std::make_unique<SampledTextWriter>(output_of(settings, files), settings.prompt);
}

std::string remark_of(const PredictionTotals& totals) {
  std::vector<std::string> remarks;
  const auto add = [&](std::int64_t n, const char* one, const char* more) {
    if (n != 0) remarks.push_back(std::to_string(n) + (n == 1 ? one : more));
  };
  add(totals.not_finite, " number is not finite and was written as null",
      " numbers are not finite and were written as null");
  add(totals.replaced, " byte is no UTF-8 and was written as U+FFFD (--format csv keeps it)",
      " bytes are no UTF-8 and were written as U+FFFD (--format csv keeps them)");
  return joined(remarks, "; ");
}

}  // namespace belay::runtime
