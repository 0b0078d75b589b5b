// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/npy_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "the elements are written as they lie in memory");

constexpr std::size_t kAtOnce = std::size_t{1} << 16;

// numpy's name of the elements' type as they are written. Null: npy has no form for it.
const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kBFloat16: return "<f4";
    case DType::kFloat64: return "<f8";
    case DType::kFloat16: return "<f2";
    case DType::kInt32: return "<i4";
    case DType::kInt64: return "<i8";
    case DType::kUInt8: return "|u1";
    case DType::kBool: return "|b1";
    default: return nullptr;
  }
}

std::string description(const std::string& descr, std::int64_t rows, const Dims& row_dims) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},", descr, rows);
  for (std::size_t d = 0; d < row_dims.size(); ++d) text += (d == 0 ? " " : ", ") + std::to_string(row_dims[d]);
  return text + "), }";
}

// The header has the same length for any number of rows.
std::string npy_header(const std::string& descr, std::int64_t rows, const Dims& row_dims) {
  constexpr std::size_t kAlignment = 64, kBeforeText = 10;
  const std::size_t longest = description(descr, std::numeric_limits<std::int64_t>::max(), row_dims).size() + 1;
  const std::size_t size = (kBeforeText + longest + kAlignment - 1) / kAlignment * kAlignment - kBeforeText;
  std::string text = description(descr, rows, row_dims);
  text.append(size - 1 - text.size(), ' ');
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(size & 255);
  header += static_cast<char>(size >> 8);
  return header + text + "\n";
}

class NpyWriter final : public PredictionWriter {
 public:
  NpyWriter(std::unique_ptr<PredictionOutput> output, FileSystem& files, std::string temporary_directory)
      : output_(std::move(output)), files_(files), temporary_directory_(std::move(temporary_directory)) {
    if (output_->is_terminal())
      fail(Code::kInvalidArgument,
           "[B5034] npy is binary and stdout is a terminal: write to a file, or into another program");
  }

  bool write(const Prediction& batch) override {
    const std::int64_t n = common_examples(batch);
    if (!begun_) begin(batch);
    const TensorView& value = batch.values[0];
    check(value);
    put(value.dtype() == DType::kBFloat16 ? as_float32(value)
                                          : std::string_view(static_cast<const char*>(value.data()), value.bytes()));
    totals_.examples += n;
    return true;
  }

  bool finish() override {
    if (!begun_) fail(Code::kFailedPrecondition, "[B5037] there are no predictions, and so no array to write");
    const std::string header = npy_header(descr_, totals_.examples, row_dims_);
    if (spool_ == nullptr) {
      output_->write_at(0, header);
    } else if (!output_->write(header) || !copy_spool()) {
      totals_.reader_gone = true;
      return false;
    }
    totals_.reader_gone = !output_->finish();
    return !totals_.reader_gone;
  }

 private:
  void begin(const Prediction& batch) {
    if (batch.names.size() != 1)
      fail(Code::kInvalidArgument, "[B5034] npy holds one array, and the model predicts " +
                                       joined(std::vector<std::string>(batch.names.begin(), batch.names.end())) +
                                       ": choose one of them with predict.keys (--keys), or write JSON lines or CSV");
    const TensorView& value = batch.values[0];
    name_ = batch.names[0];
    dtype_ = value.dtype();
    if (descr_of(dtype_) == nullptr)
      fail(Code::kInvalidArgument, "[B5034] npy has no form for prediction " + single_quoted(name_) + ", which is " +
                                       dtype_name(dtype_) + ": write JSON lines or CSV");
    descr_ = descr_of(dtype_);
    row_dims_ = value.dims();
    row_dims_.erase(row_dims_.begin());
    if (output_->can_rewrite()) {
      output_->write(npy_header(descr_, 0, row_dims_));
    } else {
      open_spool();
    }
    begun_ = true;
  }
  void open_spool() {
    const std::unique_ptr<OpenDirectory> directory = files_.open_directory(temporary_directory_);
    const std::string name = temporary_name("belay-predictions");
    spool_ = directory->create(name);
    directory->remove(name);
  }
  void check(const TensorView& value) const {
    const belay_tensor& t = value.raw();
    if (value.dtype() == dtype_ && std::equal(row_dims_.begin(), row_dims_.end(), t.dims + 1, t.dims + t.rank)) return;
    Dims dims = value.dims();
    dims.erase(dims.begin());
    fail(Code::kInvalidArgument, "[B5034] npy holds one array, and an example of " + single_quoted(name_) + " was " +
                                     dims_text(row_dims_) + " and is now " + dims_text(dims) + ": write JSON lines");
  }
  std::string_view as_float32(const TensorView& value) {
    converted_.resize(value.size());
    for (std::size_t i = 0; i < converted_.size(); ++i) converted_[i] = static_cast<float>(value.number(i));
    return {reinterpret_cast<const char*>(converted_.data()), converted_.size() * sizeof(float)};
  }
  void put(std::string_view bytes) {
    if (spool_ == nullptr) {
      output_->write(bytes);
      return;
    }
    spool_->write(bytes.data(), bytes.size());
    spooled_ += bytes.size();
  }
  bool copy_spool() {
    std::string part(kAtOnce, '\0');
    for (std::uint64_t at = 0; at < spooled_; at += part.size()) {
      part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, spooled_ - at)));
      spool_->read_at(at, part.data(), part.size());
      if (!output_->write(part)) return false;
    }
    return true;
  }

  const std::unique_ptr<PredictionOutput> output_;
  FileSystem& files_;
  const std::string temporary_directory_;
  bool begun_ = false;
  std::string name_, descr_;
  DType dtype_ = DType::kInvalid;
  Dims row_dims_;
  std::unique_ptr<OpenFile> spool_;  // null: the output can be written over
  std::uint64_t spooled_ = 0;
  std::vector<float> converted_;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_npy_writer(std::unique_ptr<PredictionOutput> output, FileSystem& files,
                                                  const std::string& temporary_directory) {
  return std::make_unique<NpyWriter>(std::move(output), files, temporary_directory);
}

}  // namespace belay::runtime
