// SPDX-License-Identifier: Apache-2.0
// Reads examples from TFRecord files of tf.train.Example, by the features in the manifest.
//
// Opening finds the places of the records. A record is decoded at each delivery.
#include <belay/class_options.h>
#include <belay/data_file.h>
#include <belay/decode_pool.h>
#include <belay/example_order.h>
#include <belay/example_split.h>
#include <belay/finite_values.h>
#include <belay/nearest.h>
#include <belay/plugin.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "decode_example.h"
#include "feature_spec.h"
#include "record_file.h"

namespace tfrecord_input {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;

// The file has four records, each a tf.train.Example: x of two floats, y a class.
constexpr char kExample[] =
    "!\x00\x00\x00\x00\x00\x00\x00\x01{\xec\xf6\n\x1f\n\x11\n\x01x\x12\x0c\x12\n\n\x08\x00\x00\x00\x00\x00\x00\x80?"
    "\n\n\n\x01y\x12\x05\x1a\x03\n\x01\x00\xb0\xcd\xf7\x01"
    "!\x00\x00\x00\x00\x00\x00\x00\x01{\xec\xf6\n\x1f\n\x11\n\x01x\x12\x0c\x12\n\n\x08\x00\x00\x80?"
    "\x00\x00\x00\x00\n\n\n\x01y\x12\x05\x1a\x03\n\x01\x01\x04\xea\x1a/"
    "!\x00\x00\x00\x00\x00\x00\x00\x01{\xec\xf6\n\x1f\n\x11\n\x01x\x12\x0c\x12\n\n\x08\x00\x00\x00@\x00\x00\x80?"
    "\n\n\n\x01y\x12\x05\x1a\x03\n\x01\x00\n\x89\xfe\xd1"
    "!\x00\x00\x00\x00\x00\x00\x00\x01{\xec\xf6\n\x1f\n\x11\n\x01x\x12\x0c\x12\n\n\x08\x00\x00@@"
    "\x00\x00\x00\x00\n\n\n\x01y\x12\x05\x1a\x03\n\x01\x01\x9f\xba\x83\xd4";

class TfRecord final : public belay::Input {
 public:
  struct Options : belay::ClassOptions, belay::SplitOptions, belay::BatchOptions, belay::DecodeOptions {
    belay::List<belay::Path> files;
    belay::Table features;
    belay::Str label;
  };
  static constexpr auto about = belay::about(
      "tfrecord", "Reads examples from TFRecord files of tf.train.Example, plain or .gz",
      belay::option("files", &Options::files,
                    "TFRecord files, which are read in this order; .gz files are kept in memory")
          .required()
          .example_file("train.tfrecord", kExample),
      belay::option(
          "features", &Options::features,
          "table of NAME = { dtype, shape, default } for each feature; dtype is float32, int64, string, or uint8 for "
          "the bytes of one string; without a shape it is a single value; without a default each example must have it")
          .required()
          .learned()
          .example("{ x = { dtype = \"float32\", shape = [2] }, y = { dtype = \"int64\" } }"),
      belay::option<belay::Str>("features.*.dtype", "type of the feature; uint8 means the bytes of one string")
          .choices("float32", "int64", "string", "uint8")
          .required(),
      belay::option<belay::List<std::int64_t>>("features.*.shape",
                                               "shape of the feature in one example; if not set, a single value")
          .min(1),
      belay::option<belay::List<float>>("features.*.default", "value for an example that lacks the feature")
          .or_single()
          .when("dtype", "float32"),
      belay::option<belay::List<std::int64_t>>("features.*.default", "value for an example that lacks the feature")
          .or_single()
          .when("dtype", "int64"),
      belay::option<belay::List<belay::Str>>("features.*.default", "value for an example that lacks the feature")
          .or_single()
          .when("dtype", "string"),
      belay::option<belay::List<std::int64_t>>("features.*.default", "value for an example that lacks the feature")
          .or_single()
          .range(0, 255)
          .when("dtype", "uint8"),
      belay::option("label", &Options::label,
                    "name of the feature that is the label; \"\" means none; a prediction reads none")
          .learned()
          .example("y"),
      belay::class_options<Options>(
          "number of classes; an int64 label is below it; 0 means no check; if not set, as many as 'class_names'"),
      belay::split_options<Options>(), belay::batch_options<Options>(), belay::decode_option<Options>());

  explicit TfRecord(const Options& o) : o_(o), described_(parse_feature_specs(o.features)), pool_(o.decode_threads) {
    belay::check_split(o_);
    if (o.files.empty()) fail(Code::kInvalidArgument, "[B3020] 'files' is empty; name at least one TFRecord file");
    if (described_.size() == 1 && described_[0].name == o.label.view())
      fail(Code::kInvalidArgument, "[B3020] 'features' has the label alone; name at least one feature besides");
  }

  // Features are in the manifest's order. The order of a table has no meaning, so the host puts them into the
  // training's order.
  void spec(belay::InputSpec& spec) override {
    choose_features(spec.use() == belay::InputUse::kPrediction);
    evaluates_ = spec.use() == belay::InputUse::kEvaluation;
    finite_.set_use(spec.use());
    slots_.clear();
    for (const FeatureSpec& feature : specs_) {
      belay::Dims dims{-1};
      dims.insert(dims.end(), feature.dims.begin(), feature.dims.end());
      const bool label = feature.name == o_.label;
      slots_.push_back(label ? spec.label(feature.name, feature.dtype, dims)
                             : spec.feature(feature.name, feature.dtype, dims));
      if (label && has_classes()) classes_ = belay::declare_classes(spec, slots_.back(), o_);
      if (!label && feature.fallback) keep_default(feature, spec);
    }
  }

  void open(const belay::OpenArgs& args) override {
    files_.clear();
    starts_.clear();
    std::int64_t records = 0;
    std::vector<std::string> paths;
    for (const belay::Path& path : o_.files) paths.push_back(path.string());
    if (o_.split != "all") belay::refuse_repeated_files("files", paths);  // else a record may count twice
    for (const belay::Path& path : o_.files) {
      starts_.push_back(records);
      files_.emplace_back("files", path.string());
      records += files_.back().records();
    }
    records_ = belay::split_examples(records, o_);
    if (records_.empty())
      fail(Code::kFailedPrecondition, "[B3027] split: the files have " + std::to_string(records) +
                                          " records and none of them is for \"" + o_.split.string() + "\"; " +
                                          belay::split_fix(o_));
    for (const FeatureSpec& feature : specs_)
      if (feature.fallback) warn_if_never_there(feature);
    if (evaluates_ && classes_ > 0) check_all_labels();
    order_ = belay::ExampleOrder(static_cast<std::int64_t>(records_.size()), o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto rows = static_cast<std::int64_t>(examples.size());
    if (targets_.size() != examples.size()) targets_.assign(examples.size(), std::vector<FeatureTarget>(specs_.size()));
    texts_.resize(specs_.size());
    tensors_.clear();
    for (std::size_t i = 0; i < specs_.size(); ++i) tensors_.push_back(prepare(i, rows, batch));
    pool_.for_each_row(rows, [&](std::int64_t row) {
      const auto r = static_cast<std::size_t>(row);
      decode(records_[static_cast<std::size_t>(examples[r])], targets_[r]);
    });
    for (std::size_t i = 0; i < specs_.size(); ++i)
      finite_.check(host(), specs_[i].name, tensors_[i], [&](std::size_t row) {
        const auto [file, record] = file_of(records_[static_cast<std::size_t>(examples[row])]);
        return file->place(record);
      });
    for (std::size_t i = 0; i < specs_.size(); ++i)
      for (std::size_t at = 0; at < texts_[i].size(); ++at) batch.set_string(slots_[i], at, texts_[i][at]);
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  bool has_classes() const { return o_.classes.value_or(0) > 0 || !o_.class_names.empty(); }

  // Selects all described features. It leaves out the label if it is not needed.
  void choose_features(bool for_prediction) {
    if (!o_.label.empty() && !for_prediction) find_label();
    specs_.clear();
    for (const FeatureSpec& feature : described_)
      if (!for_prediction || feature.name != o_.label) specs_.push_back(feature);
  }

  void find_label() {
    std::vector<std::string> names;
    for (const FeatureSpec& feature : described_) names.push_back(feature.name);
    const auto found = std::find(names.begin(), names.end(), o_.label.view());
    if (found == names.end())
      fail(Code::kInvalidArgument, "[B3020] label: 'features' has no \"" + o_.label.string() + "\"" +
                                       belay::did_you_mean(o_.label, names) + "; describe it there, too");
    label_ = static_cast<std::size_t>(found - names.begin());
    if (has_classes() && described_[label_].dtype != DType::kInt64)
      fail(Code::kInvalidArgument, "[B3025] 'classes' and 'class_names' are for an int64 label, \"" +
                                       o_.label.string() + "\" is " + belay::dtype_name(described_[label_].dtype));
  }

  // A default hides that a file has another name for the feature.
  void warn_if_never_there(const FeatureSpec& feature) const {
    constexpr std::size_t kLooked = 100;
    const std::size_t looked = std::min(records_.size(), kLooked);
    try {
      for (std::size_t i = 0; i < looked; ++i)
        if (const auto [file, record] = file_of(records_[i]); has_feature(file->record(record), feature.name)) return;
    } catch (const belay::Error&) {
      return;  // the batch with the damaged record will fail
    }
    host().warning("files: the first " + std::to_string(looked) + " examples have no feature \"" + feature.name +
                   "\" and get its default; repair the files if they call it otherwise");
  }

  // The default of a missing feature is kept with the training, too.
  static void keep_default(const FeatureSpec& feature, belay::InputSpec& spec) {
    const std::string name = "features." + feature.name + ".default";
    if (feature.dtype == DType::kString)
      spec.keep(name, feature.fallback->texts);
    else
      spec.keep(name, default_numbers(feature));
  }

  // Allocates one feature of all rows.
  belay::TensorView prepare(std::size_t feature, std::int64_t rows, belay::Batch& batch) {
    const FeatureSpec& spec = specs_[feature];
    belay::Dims dims{rows};
    dims.insert(dims.end(), spec.dims.begin(), spec.dims.end());
    const belay::TensorView tensor = batch.tensor(slots_[feature], dims);
    auto* numbers = static_cast<unsigned char*>(tensor.mutable_data());
    const bool strings = spec.dtype == DType::kString;
    if (strings) texts_[feature].resize(static_cast<std::size_t>(rows) * spec.elements);
    for (std::size_t row = 0; row < targets_.size(); ++row) {
      const std::size_t at = row * spec.elements;
      if (strings) {
        targets_[row][feature].texts = texts_[feature].data() + at;
      } else {
        targets_[row][feature].numbers = numbers + at * belay::dtype_size(spec.dtype);
      }
    }
    return tensor;
  }

  // `number` counts over all files. The result's number counts in its file.
  std::pair<const RecordFile*, std::int64_t> file_of(std::int64_t number) const {
    const auto file = std::upper_bound(starts_.begin(), starts_.end(), number) - starts_.begin() - 1;
    return {&files_[static_cast<std::size_t>(file)], number - starts_[static_cast<std::size_t>(file)]};
  }

  void decode(std::int64_t number, const std::vector<FeatureTarget>& targets) const {
    const auto [file, record] = file_of(number);
    const std::string_view bytes = file->record(record);
    try {
      decode_example(bytes, specs_, targets);
      if (classes_ > 0) check_label(targets[label_]);
    } catch (const belay::Error& e) {
      fail(e.code(), file->place(record) + ": " + e.what());
    }
  }

  // Checks all labels before a training that is evaluated at its end.
  void check_all_labels() {
    const std::vector<FeatureSpec> label{specs_[label_]};
    pool_.for_each_row(static_cast<std::int64_t>(records_.size()), [&](std::int64_t row) {
      const auto [file, record] = file_of(records_[static_cast<std::size_t>(row)]);
      std::vector<std::int64_t> values(label[0].elements);
      const std::vector<FeatureTarget> target{{.numbers = values.data()}};
      try {
        decode_example(file->record(record), label, target);
      } catch (const belay::Error&) {
        return;  // damage is an error of the batch that has the record
      }
      try {
        check_label(target[0]);
      } catch (const belay::Error& e) {
        fail(e.code(), file->place(record) + ": " + e.what());
      }
    });
  }

  // A training's own labels are damaged; those of an evaluation do not fit the model.
  void check_label(const FeatureTarget& target) const {
    const auto* labels = static_cast<const std::int64_t*>(target.numbers);
    for (std::size_t i = 0; i < specs_[label_].elements; ++i)
      if (labels[i] < 0 || labels[i] >= classes_)
        fail(evaluates_ ? Code::kInvalidArgument : Code::kDataLoss,
             "[B3007] it has label " + std::to_string(labels[i]) + "; " + belay::text_of_classes(classes_));
  }

  const Options o_;
  const std::vector<FeatureSpec> described_;  // in the manifest
  std::vector<FeatureSpec> specs_;            // features that are delivered
  std::size_t label_ = 0;                     // its index in specs_, if there is one
  std::int64_t classes_ = 0;                  // labels are below it; 0: not checked
  bool evaluates_ = false;                    // labels are checked when it is opened
  std::vector<std::uint32_t> slots_;          // of each feature
  std::vector<RecordFile> files_;
  std::vector<std::int64_t> starts_;                 // the number of each file's first record
  std::vector<std::int64_t> records_;                // the records in this split
  belay::ExampleOrder order_;                        // order of records_
  std::vector<std::vector<FeatureTarget>> targets_;  // by row and feature, for the batch that is being filled
  std::vector<std::vector<std::string>> texts_;      // by feature
  std::vector<belay::TensorView> tensors_;           // the same
  belay::FiniteValues finite_;
  belay::DecodePool pool_;
};

}  // namespace
}  // namespace tfrecord_input

BELAY_MODULE("1.0.0", tfrecord_input::TfRecord)
