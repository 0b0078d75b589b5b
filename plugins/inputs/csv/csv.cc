// SPDX-License-Identifier: Apache-2.0
// Rows of numbers and a label from a CSV file.
//
// The file is read into memory when the input is asked for its columns, and scanned for rows. Rows are parsed at the
// first batch; from then on only the numbers are kept.
#include <belay/decode_pool.h>
#include <belay/example_order.h>
#include <belay/example_split.h>
#include <belay/plugin.h>

#include <algorithm>
#include <optional>

#include "csv_file.h"
#include "csv_table.h"

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

class Csv final : public belay::Input {
 public:
  struct Options : belay::SplitOptions, belay::BatchOptions, belay::DecodeOptions {
    belay::Path path;
    bool header = true;
    belay::Str delimiter = ",";
    std::int64_t skip_lines = 0;
    belay::List<belay::Str> columns;
    belay::Str label = "-1";
    belay::Str label_type = "class";
    belay::List<belay::Str> classes;
    belay::Str id;
    belay::List<belay::Str> features;
    bool standardize = false;
  };
  static constexpr auto about = belay::about(
      "csv", "Rows of numbers and a label from a CSV file that fits in memory",
      belay::option("path", &Options::path, "the file: UTF-8 text, plain or .gz; blank lines are skipped")
          .required()
          .example_file("kinds.csv",
                        "length,width,kind\n5.1,3.5,a\n4.9,3.0,a\n7.0,3.2,b\n6.4,3.2,b\n"
                        "4.7,3.2,a\n6.9,3.1,b\n5.0,3.6,a\n5.5,2.3,b\n"),
      belay::option("header", &Options::header, "the first row names the columns"),
      belay::option("delimiter", &Options::delimiter, "one character between fields"),
      belay::option("skip_lines", &Options::skip_lines, "lines at the start to ignore, before the header").min(0),
      belay::option("columns", &Options::columns, "the columns' names where there is no header; unset: column_0 ..."),
      belay::option("label", &Options::label, "column by name, or by number (\"0\" first, \"-1\" last); \"\": no label")
          .example("kind"),
      belay::option("label_type", &Options::label_type,
                    "class: int64, strings numbered by 'classes' or as they first appear; float: float32")
          .choices("class", "float"),
      belay::option("classes", &Options::classes, "the labels in the order of their class numbers"),
      belay::option(
          "id", &Options::id,
          "column, as 'label', that predictions carry along as it is in the file, and no model sees; \"\": none"),
      belay::option("features", &Options::features, "columns of feature 'features', as 'label'; unset: all others"),
      belay::option("standardize", &Options::standardize,
                    "scale each feature to mean 0 and deviation 1, as measured on the file's train part"),
      belay::split_options<Options>("which rows; each row is in either train or eval",
                                    "part of the rows that is for eval"),
      belay::batch_options<Options>(),
      belay::decode_option<Options>("threads that parse; the batches are the same for any"));

  explicit Csv(const Options& o) : o_(o), pool_(o.decode_threads) {
    const std::string_view delimiter = o.delimiter;
    if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r")
      fail(Code::kInvalidArgument,
           "'delimiter' is \"" + o.delimiter.string() + "\", must be one character such as , ; | or a tab");
  }

  void spec(belay::InputSpec& spec) override {
    const CsvFormat format{o_.path.string(), o_.header, o_.delimiter.view()[0], o_.skip_lines, texts(o_.columns)};
    file_.emplace(format);
    file_rows_ = file_->rows();
    choose_columns();
    const auto width = static_cast<std::int64_t>(columns_.features.size());
    features_slot_ = spec.feature("features", belay::DType::kFloat32, {-1, width});
    if (columns_.label)
      label_slot_ = spec.label("label", has_classes() ? belay::DType::kInt64 : belay::DType::kFloat32, {-1});
    if (columns_.label && has_classes() && !columns_.classes.empty())
      spec.set_class_names(label_slot_, columns_.classes);
    if (columns_.id) id_slot_ = spec.label("id", belay::DType::kString, {-1});
  }

  void open(const belay::OpenArgs& args) override {
    rows_ = rows_of(o_.split);
    if (rows_.empty())
      fail(Code::kFailedPrecondition, "split: '" + o_.path.string() + "' has " + std::to_string(file_rows_) +
                                          " rows and none of them is for \"" + o_.split.string() +
                                          "\"; change 'eval_fraction'");
    measured_rows_ = rows_of(o_.split == "all" ? "all" : "train");
    if (o_.standardize && measured_rows_.empty())
      fail(Code::kFailedPrecondition,
           "standardize: no row of '" + o_.path.string() +
               "' is for \"train\", by which the features are scaled; change 'eval_fraction'");
    order_ = belay::ExampleOrder(static_cast<std::int64_t>(rows_.size()), o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    if (features_.empty()) load();
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto n = static_cast<std::int64_t>(examples.size());
    const std::size_t width = columns_.features.size();
    float* features = batch.tensor(features_slot_, {n, static_cast<std::int64_t>(width)}).data<float>();
    for (const std::int64_t example : examples)
      features = std::copy_n(features_.data() + static_cast<std::size_t>(example) * width, width, features);
    if (columns_.label && has_classes()) copy_labels(classes_, examples, batch);
    if (columns_.label && !has_classes()) copy_labels(targets_, examples, batch);
    if (columns_.id) copy_ids(examples, batch);
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  static std::vector<std::string> texts(const belay::List<belay::Str>& list) {
    std::vector<std::string> all;
    for (const belay::Str& text : list) all.push_back(text.string());
    return all;
  }

  bool has_classes() const { return columns_.label_type == LabelType::kClass; }

  std::vector<std::int64_t> rows_of(std::string_view split) const {
    return belay::split_examples(file_rows_, split, o_.eval_fraction, o_.split_seed);
  }

  void choose_columns() {
    columns_ = {};
    columns_.label_type = o_.label_type == "class" ? LabelType::kClass : LabelType::kFloat;
    columns_.classes = texts(o_.classes);
    if (!o_.label.empty()) columns_.label = file_->find_column("label", o_.label);
    if (!o_.id.empty()) columns_.id = file_->find_column("id", o_.id);
    if (columns_.id && columns_.id == columns_.label)
      fail(Code::kInvalidArgument,
           "id: \"" + o_.id.string() + "\" is the label's column; where the file has no label, set label = \"\"");
    for (const belay::Str& name : o_.features) {
      const std::size_t column = file_->find_column("features", name);
      if (columns_.label == column || columns_.id == column)
        fail(Code::kInvalidArgument,
             "features: \"" + name.string() + "\" is the " + (columns_.id == column ? "id" : "label") + "'s column");
      if (std::count(columns_.features.begin(), columns_.features.end(), column) != 0)
        fail(Code::kInvalidArgument, "features: \"" + name.string() + "\" is there twice");
      columns_.features.push_back(column);
    }
    for (std::size_t i = 0; o_.features.empty() && i < file_->columns().size(); ++i)
      if (columns_.label != i && columns_.id != i) columns_.features.push_back(i);
    if (columns_.features.empty())
      fail(Code::kInvalidArgument,
           "features: '" + o_.path.string() + "' has no column besides the label" + (columns_.id ? " and the id" : ""));
  }

  // Parses the file and keeps this split's rows.
  void load() {
    Table table = parse_table(*file_, columns_, pool_);
    if (o_.standardize) standardize(table, measured_rows_);
    for (const std::int64_t row : rows_) {
      const auto r = static_cast<std::size_t>(row);
      for (std::size_t i = 0; i < table.width; ++i)
        features_.push_back(static_cast<float>(table.features[r * table.width + i]));
      if (!table.classes.empty()) classes_.push_back(table.classes[r]);
      if (!table.targets.empty()) targets_.push_back(table.targets[r]);
      if (!table.ids.empty()) ids_.push_back(std::move(table.ids[r]));
    }
    file_.reset();
  }

  template <class T>
  void copy_labels(const std::vector<T>& labels, const std::vector<std::int64_t>& examples, belay::Batch& batch) {
    T* out = batch.tensor(label_slot_, {static_cast<std::int64_t>(examples.size())}).template data<T>();
    for (const std::int64_t example : examples) *out++ = labels[static_cast<std::size_t>(example)];
  }

  void copy_ids(const std::vector<std::int64_t>& examples, belay::Batch& batch) {
    batch.tensor(id_slot_, {static_cast<std::int64_t>(examples.size())});
    for (std::size_t i = 0; i < examples.size(); ++i)
      batch.set_string(id_slot_, i, ids_[static_cast<std::size_t>(examples[i])]);
  }

  Options o_;
  std::optional<CsvFile> file_;  // until it is parsed
  std::int64_t file_rows_ = 0;
  TableColumns columns_;
  std::vector<std::int64_t> rows_;           // of the file, in this split
  std::vector<std::int64_t> measured_rows_;  // by which features are scaled
  std::uint32_t features_slot_ = 0, label_slot_ = 0, id_slot_ = 0;
  belay::ExampleOrder order_;  // of rows_
  std::vector<float> features_;
  std::vector<std::int64_t> classes_;
  std::vector<float> targets_;
  std::vector<std::string> ids_;
  belay::DecodePool pool_;
};

}  // namespace
}  // namespace csv_input

BELAY_MODULE("1.0.0", csv_input::Csv)
