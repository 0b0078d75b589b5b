// SPDX-License-Identifier: Apache-2.0
// Reads examples from numpy's arrays: one of features and, optionally, one of labels. The first dimension counts the
// examples.
#include <belay/class_options.h>
#include <belay/example_order.h>
#include <belay/example_split.h>
#include <belay/finite_values.h>
#include <belay/label_facts.h>
#include <belay/plugin.h>

#include <optional>
#include <string>
#include <vector>

#include "npy_array.h"

namespace npy_input {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;

// The array is float32 [8, 2]: {0, 0}, {1, 2}, {2, 4}, ...
constexpr char kExample[] =
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 2), }                                                       "
    "   \n"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00\x00@\x00\x00\x80@\x00\x00@@\x00\x00\xc0@"
    "\x00\x00\x80@\x00\x00\x00"
    "A\x00\x00\xa0@\x00\x00 A\x00\x00\xc0@\x00\x00@A\x00\x00\xe0@\x00\x00`A";

class Npy final : public belay::Input {
 public:
  struct Options : belay::ClassOptions, belay::SplitOptions, belay::BatchOptions {
    belay::Path features;
    belay::Path labels;
    belay::List<belay::Str> columns;
    std::optional<double> scale;
    std::optional<double> mean;
    std::optional<double> stddev;
  };
  static constexpr auto about = belay::about(
      "npy", "Reads examples from numpy's .npy and .npz files",
      belay::option("features", &Options::features,
                    "array whose rows are the feature 'features': a .npy file, or \"file.npz:array\"")
          .required()
          .example_file("points.npy", kExample),
      belay::option("labels", &Options::labels,
                    "array whose rows are the label 'label', as many as of 'features'; whole numbers become int64; if "
                    "empty, no labels; a prediction reads none"),
      belay::option(
          "columns", &Options::columns,
          "names of the elements of the features' last dimension; other inputs of the model are matched by these names")
          .learned(),
      belay::class_options<Options>(),
      belay::option("scale", &Options::scale,
                    "factor for each element of the features, which become float32; 1 if not set")
          .learned(),
      belay::option("mean", &Options::mean, "number to subtract from each element after 'scale'").learned(),
      belay::option("std", &Options::stddev, "number to divide each element by after 'mean'").min(1e-30).learned(),
      belay::split_options<Options>("part of the rows to use; each row is in one of train, eval and test",
                                    "share of the rows that belongs to eval"),
      belay::batch_options<Options>());

  explicit Npy(const Options& o) : o_(o) { belay::check_split(o_); }

  void spec(belay::InputSpec& spec) override {
    features_.emplace("features", o_.features.string());
    check_rows(*features_);
    features_slot_ = spec.feature("features", feature_dtype(), batch_dims(*features_, -1));
    if (!o_.columns.empty()) declare_columns(spec);
    keep_scales(spec);
    rows_ = belay::split_examples(features_->rows(), o_);
    labels_.reset();
    evaluates_ = spec.use() == belay::InputUse::kEvaluation;
    finite_.set_use(spec.use());
    if (!o_.labels.empty() && spec.use() != belay::InputUse::kPrediction) declare_labels(spec);
    belay::keep_label_range(spec, "label", range_of_labels(spec));
  }

  void open(const belay::OpenArgs& args) override {
    if (rows_.empty())
      fail(Code::kFailedPrecondition, "[B3027] split: '" + o_.features.string() + "' has " +
                                          std::to_string(features_->rows()) + " rows and none of them is for \"" +
                                          o_.split.string() + "\"; " + belay::split_fix(o_));
    if (classes_ > 0 && can_check_labels()) check_all_labels();
    order_ = belay::ExampleOrder(static_cast<std::int64_t>(rows_.size()), o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto n = static_cast<std::int64_t>(examples.size());
    const belay::TensorView features = batch.tensor(features_slot_, batch_dims(*features_, n));
    copy_rows(*features_, examples, features);
    if (is_scaled()) scale(features);
    check_finite(*features_, "features", examples, features);
    if (labels_) {
      const belay::TensorView labels = batch.tensor(label_slot_, batch_dims(*labels_, n));
      copy_rows(*labels_, examples, labels);
      if (classes_ > 0) check_labels(examples, labels);
      check_finite(*labels_, "label", examples, labels);
    }
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  bool is_scaled() const { return o_.scale || o_.mean || o_.stddev; }
  DType feature_dtype() const { return is_scaled() ? DType::kFloat32 : features_->dtype(); }
  DType label_dtype() const {
    const DType dtype = labels_->dtype();
    return dtype == DType::kFloat32 || dtype == DType::kFloat64 ? dtype : DType::kInt64;
  }

  // A training keeps the scales if it scales, another input if its training kept them. A training of another plugin has
  // no such values. A scale for bytes does not fit numbers from 0 to 1, so the type is kept, too.
  void keep_scales(belay::InputSpec& spec) const {
    if (spec.has_learned() ? !spec.learned_values("scale") : !is_scaled()) return;
    spec.keep("scale", std::vector<double>{o_.scale.value_or(1)});
    spec.keep("mean", std::vector<double>{o_.mean.value_or(0)});
    spec.keep("std", std::vector<double>{o_.stddev.value_or(1)});
    if (!spec.has_learned() || spec.learned_words("scale.dtype"))
      spec.keep("scale.dtype", std::vector<std::string>{belay::dtype_name(features_->dtype())});
  }

  void declare_columns(belay::InputSpec& spec) const {
    std::vector<std::string> names;
    for (const belay::Str& name : o_.columns) names.push_back(name.string());
    const belay::Dims& shape = features_->header().shape;
    if (shape.size() < 2 || shape.back() != static_cast<std::int64_t>(names.size()))
      fail(Code::kInvalidArgument, "[B3024] " + features_->prefix() + "has the shape " + belay::dims_text(shape) +
                                       "; 'columns' names " + std::to_string(names.size()) +
                                       " elements of its last dimension");
    spec.set_columns(features_slot_, names);
  }

  void declare_labels(belay::InputSpec& spec) {
    labels_.emplace("labels", o_.labels.string());
    check_rows(*labels_);
    if (labels_->rows() != features_->rows())
      fail(Code::kFailedPrecondition, "[B3026] " + labels_->prefix() + "has " + std::to_string(labels_->rows()) +
                                          " rows, features '" + o_.features.string() + "' has " +
                                          std::to_string(features_->rows()) + "; give two arrays of one set");
    label_slot_ = spec.label("label", label_dtype(), batch_dims(*labels_, -1));
    const bool classes = o_.classes.value_or(0) > 0 || !o_.class_names.empty();
    if (classes && label_dtype() != DType::kInt64)
      fail(Code::kInvalidArgument, "[B3025] " + labels_->prefix() + "holds '" + labels_->header().descr +
                                       "'; 'classes' and 'class_names' are for whole numbers");
    classes_ = belay::declare_classes(spec, label_slot_, o_);
  }

  static belay::Dims batch_dims(const NpyArray& array, std::int64_t rows) {
    belay::Dims dims = array.header().shape;
    dims[0] = rows;
    return dims;
  }

  static void check_rows(const NpyArray& array) {
    const belay::Dims& shape = array.header().shape;
    if (shape.empty())
      fail(Code::kInvalidArgument,
           "[B3024] " + array.prefix() + "is a single number; an array's first dimension must count the examples");
    if (array.header().elements() == 0)
      fail(Code::kFailedPrecondition, "[B3021] " + array.prefix() + "is empty: its shape is " +
                                          belay::dims_text(shape) + "; give an array that has examples");
  }

  void copy_rows(const NpyArray& array, const std::vector<std::int64_t>& examples, const belay::TensorView& out) const {
    switch (out.dtype()) {
      case DType::kFloat32: return copy_rows_as<float>(array, examples, out);
      case DType::kFloat64: return copy_rows_as<double>(array, examples, out);
      case DType::kInt32: return copy_rows_as<std::int32_t>(array, examples, out);
      case DType::kInt64: return copy_rows_as<std::int64_t>(array, examples, out);
      case DType::kUInt8: return copy_rows_as<std::uint8_t>(array, examples, out);
      default: return copy_rows_as<bool>(array, examples, out);
    }
  }
  template <class T>
  void copy_rows_as(const NpyArray& array, const std::vector<std::int64_t>& examples,
                    const belay::TensorView& out) const {
    T* row = out.data<T>();
    for (const std::int64_t example : examples) {
      array.copy_row(rows_[static_cast<std::size_t>(example)], row);
      row += array.row_elements();
    }
  }

  void scale(const belay::TensorView& features) const {
    const double factor = o_.scale.value_or(1), mean = o_.mean.value_or(0), deviation = o_.stddev.value_or(1);
    auto* values = features.data<float>();
    for (std::size_t i = 0; i < features.size(); ++i)
      values[i] = static_cast<float>((static_cast<double>(values[i]) * factor - mean) / deviation);
  }

  void check_finite(const NpyArray& array, const char* name, const std::vector<std::int64_t>& examples,
                    const belay::TensorView& values) {
    finite_.check(host(), name, values, [&](std::size_t row) {
      return array.prefix() + "row " + std::to_string(rows_[static_cast<std::size_t>(examples[row])]);
    });
  }

  void check_labels(const std::vector<std::int64_t>& examples, const belay::TensorView& labels) const {
    const auto* values = labels.data<const std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (values[i] >= 0 && values[i] < classes_) continue;
      fail_by_label(values[i], rows_[static_cast<std::size_t>(examples[i / labels_->row_elements()])]);
    }
  }

  bool can_check_labels() const {
    return labels_ && static_cast<std::size_t>(labels_->rows()) * labels_->row_elements() <= kMostChecked;
  }

  // Returns the range of the training's labels if only the model knows the classes. Empty: they are checked here.
  belay::LabelRange range_of_labels(const belay::InputSpec& spec) const {
    belay::LabelRange range;
    if (spec.has_learned() || classes_ > 0 || !can_check_labels() || label_dtype() != DType::kInt64) return range;
    std::vector<std::int64_t> labels(labels_->row_elements());
    for (const std::int64_t row : rows_) {
      labels_->copy_row(row, labels.data());
      for (const std::int64_t label : labels) range.add(label, row);
    }
    return range;
  }

  // The labels are in memory or mapped, so a wrong one is found before the first step.
  void check_all_labels() const {
    std::vector<std::int64_t> labels(labels_->row_elements());
    for (const std::int64_t row : rows_) {
      labels_->copy_row(row, labels.data());
      for (const std::int64_t label : labels)
        if (label < 0 || label >= classes_) fail_by_label(label, row);
    }
  }

  // A bad label in a training is damage. In an evaluation it does not fit the model.
  [[noreturn]] void fail_by_label(std::int64_t label, std::int64_t row) const {
    fail(evaluates_ ? Code::kInvalidArgument : Code::kDataLoss,
         "[B3007] " + labels_->prefix() + "has label " + std::to_string(label) + " in row " + std::to_string(row) +
             "; " + belay::text_of_classes(classes_));
  }

  static constexpr std::size_t kMostChecked = std::size_t{1} << 26;  // labels that opening checks

  const Options o_;
  std::optional<NpyArray> features_, labels_;
  std::vector<std::int64_t> rows_;  // rows of the arrays in this split
  std::uint32_t features_slot_ = 0, label_slot_ = 0;
  std::int64_t classes_ = 0;  // labels are below it; 0: not checked
  bool evaluates_ = false;    // true: a bad label does not fit the model
  belay::FiniteValues finite_;
  belay::ExampleOrder order_;  // order of rows_
};

}  // namespace
}  // namespace npy_input

BELAY_MODULE("1.0.0", npy_input::Npy)
