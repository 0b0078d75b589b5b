// SPDX-License-Identifier: Apache-2.0
// Reads rows of a CSV file, or of several: numbers, words, dates and text, and a label.
//
// The files are read and parsed when the input is asked for its columns, since the rows name the classes. After that
// only the numbers stay in memory. A training keeps the names of its columns and classes and the name of its label's
// column. It also keeps the scales of `standardize`, and all that columns with types fitted (belay/columns.h).
//
// A file of numbers without gaps has no types. Types exist if the manifest has the table `columns`, or if a column has
// words or gaps. Then those that the manifest lacks are guessed from the training's rows.
#include <belay/column_split.h>
#include <belay/columns.h>
#include <belay/decode_pool.h>
#include <belay/example_order.h>
#include <belay/label_facts.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "csv_balance.h"
#include "csv_columns.h"
#include "csv_file.h"
#include "csv_split.h"
#include "csv_table.h"

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

class Csv final : public belay::Input {
 public:
  struct Options : belay::ColumnSplitOptions, belay::BatchOptions, belay::DecodeOptions {
    belay::List<belay::Path> path;
    bool header = true;
    belay::Str delimiter = ",";
    std::int64_t skip_lines = 0;
    belay::Table columns;
    belay::List<belay::Str> gaps = belay::kGaps;
    belay::Str label = "-1";
    belay::Str label_type = "class";
    belay::List<belay::Str> classes;
    belay::Str id;
    belay::List<belay::Str> features;
    bool standardize = false;
    belay::Str extra = "error";
  };
  static constexpr auto about = belay::about(
      "csv", "Reads numbers, words, dates and a label from CSV files that fit in memory",
      belay::option("path", &Options::path,
                    "CSV file of UTF-8 text, plain or .gz, or a list of files with the same columns; * ? and [ are "
                    "patterns; blank lines are skipped")
          .or_single()
          .required()
          .example_file("kinds.csv",
                        "length,width,kind\n5.1,3.5,a\n4.9,3.0,a\n7.0,3.2,b\n6.4,3.2,b\n"
                        "4.7,3.2,a\n6.9,3.1,b\n5.0,3.6,a\n5.5,2.3,b\n"),
      belay::option("header", &Options::header, "true: the first row has the names of the columns"),
      belay::option("delimiter", &Options::delimiter, "character between two fields"),
      belay::option("skip_lines", &Options::skip_lines, "number of lines before the header to ignore").min(0),
      belay::option(
          "columns", &Options::columns,
          "table of NAME = { type, ... }; type is number (missing, scale, buckets, indicator), category (missing, "
          "min_count, max_size, hash_buckets, deliver), date (missing, scale, indicator, formats, parts, cycles), text "
          "(min_count, max_size), id, weight or ignore; types that are not set are guessed if a column has words or "
          "gaps; or a list: names of the columns if there is no header, in place of column_0, column_1 and so on")
          .or_list(),
      belay::option("gaps", &Options::gaps, "cells that mean a missing value, in columns with types"),
      belay::option(
          "label", &Options::label,
          "column of the label, by name or by number (\"0\" is the first, \"-1\" the last); \"\" means no label")
          .example("kind"),
      belay::option("label_type", &Options::label_type,
                    "class: int64, with strings numbered as in 'classes' or as they first appear; float: float32")
          .choices("class", "float")
          .learned(),
      belay::option("classes", &Options::classes, "labels in the order of their class numbers"),
      belay::option("id", &Options::id,
                    "column that predictions repeat as it is in the file, and that no model sees, by name or number; "
                    "\"\" means none"),
      belay::option("features", &Options::features,
                    "columns of the feature 'features', by name or number; if empty, all others")
          .learned(),
      belay::option("standardize", &Options::standardize,
                    "true: scales each feature to mean 0 and deviation 1, as measured on the train part of the file")
          .learned(),
      belay::option(
          "extra", &Options::extra,
          "what happens to columns that the training of the model did not have: an error, or they are ignored")
          .choices("error", "ignore"),
      belay::column_split_options<Options>(), belay::batch_options<Options>(),
      belay::decode_option<Options>("number of threads that parse; the batches do not depend on it"));

  explicit Csv(const Options& o) : o_(o), gaps_(texts(o.gaps)), pool_(o.decode_threads) {
    if (!o.columns.empty() && o.columns.key(0) == "[0]")
      for (std::size_t i = 0; i < o.columns.size(); ++i) names_.emplace_back(o.columns.text(i));
    else
      types_ = belay::parse_columns("columns", o.columns);
    belay::check_split(o_);
    if (o.split_by == "stratify" && o.split_column.empty() && o.label_type == "float")
      fail(Code::kInvalidArgument,
           "split_by = \"stratify\" needs classes, and the label is a number; set 'split_column'");
    const std::string_view delimiter = o.delimiter;
    if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r")
      fail(Code::kInvalidArgument,
           "'delimiter' is \"" + o.delimiter.string() + "\", must be one character such as , ; | or a tab");
  }

  void spec(belay::InputSpec& spec) override {
    const std::vector<std::string> files = files_of(texts(o_.path));
    const CsvFile file({files[0], o_.header, o_.delimiter.view()[0], o_.skip_lines, names_,
                        std::vector<std::string>(files.begin() + 1, files.end())});
    is_training_ = spec.use() == belay::InputUse::kTraining;
    choose_columns(file, spec);
    choose_parts(file, spec);
    read_table(file, spec);
    warn_of_lone_words(file);
    const std::vector<std::string> names = feature_names(file);
    width_ = names.size();
    if (width_ != 0) {
      features_slot_ = spec.feature("features", belay::DType::kFloat32, {-1, static_cast<std::int64_t>(width_)});
      spec.set_columns(features_slot_, names);
    }
    declare_categories(spec);
    if (columns_.label)
      label_slot_ = spec.label("label", has_classes() ? belay::DType::kInt64 : belay::DType::kFloat32, {-1});
    if (columns_.label && !table_.class_names.empty()) spec.set_class_names(label_slot_, table_.class_names);
    if (columns_.id) id_slot_ = spec.label("id", belay::DType::kString, {-1});
    if (columns_.weight) weight_slot_ = spec.label("weight", belay::DType::kFloat32, {-1});
    keep_names(file, spec);
    keep_label_facts(spec);
    if (o_.standardize && columns_.typed.empty()) scale(spec, names);
  }

  void open(const belay::OpenArgs& args) override {
    const std::vector<std::int64_t> rows = rows_of(o_.split);
    if (rows.empty())
      fail(Code::kFailedPrecondition, "split: '" + path() + "' has " + std::to_string(parts_.size()) +
                                          " rows and none of them is for \"" + o_.split.string() + "\"; " +
                                          belay::split_fix(o_));
    const std::vector<std::string> classes = table_.class_names;
    take_rows(rows);
    if (const std::string text = balance_text(classes_, classes); is_training_ && !text.empty()) host().info(text);
    order_ = belay::ExampleOrder(static_cast<std::int64_t>(rows.size()), o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto n = static_cast<std::int64_t>(examples.size());
    if (width_ != 0) {
      float* features = batch.tensor(features_slot_, {n, static_cast<std::int64_t>(width_)}).data<float>();
      for (const std::int64_t example : examples)
        features = std::copy_n(features_.data() + static_cast<std::size_t>(example) * width_, width_, features);
    }
    copy_categories(examples, batch);
    if (columns_.label && has_classes()) copy_labels(classes_, label_slot_, examples, batch);
    if (columns_.label && !has_classes()) copy_labels(targets_, label_slot_, examples, batch);
    if (columns_.weight) copy_labels(weights_, weight_slot_, examples, batch);
    if (columns_.id) copy_ids(examples, batch);
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  template <class Text>
  static std::vector<std::string> texts(const belay::List<Text>& list) {
    std::vector<std::string> all;
    for (const belay::Str& text : list) all.push_back(text.string());
    return all;
  }

  // Returns the first file, for messages.
  std::string path() const { return o_.path[0].string(); }

  bool has_classes() const { return columns_.label_type == LabelType::kClass; }

  std::vector<std::int64_t> rows_of(std::string_view split) const { return belay::rows_of_part(parts_, split); }

  // Other inputs of the model read the training's dates, and have its gaps.
  void choose_parts(const CsvFile& file, belay::InputSpec& spec) {
    SplitColumn by{split_column_, spec.learned_words("gaps").value_or(gaps_)};
    if (const auto entry = entries_.find(split_column_.value_or(file.names().size())); entry != entries_.end())
      by.formats = entry->second.formats;
    by.formats = spec.learned_words("split_column.formats").value_or(by.formats);
    if (!by.formats.empty()) spec.keep("split_column.formats", by.formats);
    parts_.assign(static_cast<std::size_t>(file.rows()), belay::Part::kTrain);
    if (o_.split == "all") return;
    parts_ = split_table(file, o_, by);
    const std::string text = split_text(file, o_, by, parts_);
    if (!text.empty() && is_training_) host().info(text);
  }

  // A word that only one of many rows has is more often a misspelling than a class.
  void warn_of_lone_words(const CsvFile& file) const {
    constexpr std::size_t kRowsOfAClass = 10, kShown = 3;
    const std::size_t classes = table_.class_names.size();
    if (!columns_.classes.empty() || classes < 2 || table_.classes.size() < kRowsOfAClass * classes) return;
    std::vector<std::int64_t> count(classes), last(classes);
    for (std::size_t row = 0; row < table_.classes.size(); ++row) {
      const auto number = static_cast<std::size_t>(table_.classes[row]);
      if (number >= classes) return;
      ++count[number];
      last[number] = static_cast<std::int64_t>(row);
    }
    std::size_t shown = 0;
    for (std::size_t i = 0; i < classes && shown < kShown; ++i)
      if (count[i] == 1 && ++shown != 0)
        host().warning(file.place(last[i], *columns_.label) + ": label \"" + table_.class_names[i] +
                       "\" is in this row alone, and is class " + std::to_string(i) +
                       "; if that is a mistake, repair the row, or list the labels in 'classes'");
  }

  std::vector<std::string> feature_names(const CsvFile& file) const {
    std::vector<std::string> names;
    for (const belay::Column& column : columns_.typed)
      for (std::string& name : column.names()) names.push_back(std::move(name));
    for (const std::size_t column : columns_.features)
      if (columns_.typed.empty()) names.push_back(file.names()[column]);
    return names;
  }

  // Returns the names of the columns in the training's file that are features.
  static std::optional<std::vector<std::string>> trained_features(const belay::InputSpec& spec) {
    auto typed = spec.learned_words("columns");
    return typed ? typed : spec.learned_columns("features");
  }

  // Returns the column with the name of the training's label or id. None: the name is not known, or the file lacks it.
  static std::optional<std::size_t> learned_column(const CsvFile& file, const belay::InputSpec& spec,
                                                   std::string_view kept) {
    const auto name = spec.learned_words(kept);
    return name && name->size() == 1 ? file.column_of(name->front()) : std::nullopt;
  }

  static bool is_number(std::string_view text) {
    if (!text.empty() && text[0] == '-') text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  }

  // A number in the option counts columns, but another file may have them in another order. So the training's name
  // comes first.
  std::optional<std::size_t> label_column(const CsvFile& file, const belay::InputSpec& spec) const {
    const auto trained = spec.learned_words("label");
    const auto column = learned_column(file, spec, "label");
    const bool is_name = !is_number(o_.label) && !o_.label.empty();
    if (!trained || (is_name && o_.label != trained->front())) {
      if (o_.label.empty()) return std::nullopt;
      if (column && spec.use() != belay::InputUse::kPrediction)
        fail(Code::kInvalidArgument, "label: '" + path() + "' has \"" + trained->front() +
                                         "\", which was the training's label, besides \"" + o_.label.string() +
                                         "\"; leave 'label' out");
      return other_label(file, spec);
    }
    if (column) return column;
    if (spec.use() == belay::InputUse::kPrediction || o_.label.empty()) return std::nullopt;
    fail(Code::kNotFound, "label: '" + path() + "' has no column \"" + trained->front() +
                              "\", which was the training's label; " +
                              file.held(CsvFile::is_numbered(trained->front())));
  }

  // Returns the column of the option. A feature of the model cannot be the label.
  std::optional<std::size_t> other_label(const CsvFile& file, const belay::InputSpec& spec) const {
    const std::size_t column = file.find_column("label", o_.label);
    const auto trained = trained_features(spec);
    if (!trained || std::find(trained->begin(), trained->end(), file.names()[column]) == trained->end()) return column;
    if (spec.use() == belay::InputUse::kPrediction) return std::nullopt;
    fail(Code::kInvalidArgument, "label: \"" + o_.label.string() + "\" is the column " + file.names()[column] +
                                     ", which is a feature of the training; name the label's column");
  }

  std::optional<std::size_t> id_column(const CsvFile& file, const belay::InputSpec& spec) const {
    const auto trained = spec.learned_words("id");
    const auto column = learned_column(file, spec, "id");
    if (o_.id.empty()) return spec.use() == belay::InputUse::kPrediction ? column : std::nullopt;
    if (!trained || !is_number(o_.id)) return file.find_column("id", o_.id);
    if (column) return column;
    fail(Code::kNotFound, "id: '" + path() + "' has no column \"" + trained->front() +
                              "\", which was the training's id; name the column, or leave 'id' out; " + file.held());
  }

  void choose_columns(const CsvFile& file, const belay::InputSpec& spec) {
    columns_ = {};
    columns_.label_type = o_.label_type == "class" ? LabelType::kClass : LabelType::kFloat;
    columns_.classes = texts(o_.classes);
    columns_.label = label_column(file, spec);
    columns_.id = id_column(file, spec);
    place_types(file, spec);
    place_split(file, spec);
    if (columns_.id && columns_.id == columns_.label)
      fail(Code::kInvalidArgument,
           "id: \"" + o_.id.string() + "\" is the label's column; where the file has no label, set label = \"\"");
    if (const auto classes = spec.learned_class_names("label"); classes && columns_.classes.empty()) {
      columns_.classes = *classes;
      columns_.learned = true;
    }
    if (!o_.features.empty())
      take_features(file, spec);
    else if (const auto trained = trained_features(spec))
      take_learned_features(file, spec, *trained);
    else
      for (std::size_t i = 0; i < file.columns().size(); ++i)
        if (!is_no_feature(i)) columns_.features.push_back(i);
    if (columns_.features.empty())
      fail(Code::kInvalidArgument,
           "features: '" + path() + "' has no column besides the label" + (columns_.id ? " and the id" : ""));
    // The model needs no label for a prediction, and the column may have other content.
    if (spec.use() == belay::InputUse::kPrediction && spec.has_learned())
      columns_.label.reset(), columns_.weight.reset();
  }

  bool is_no_feature(std::size_t column) const {
    return columns_.label == column || columns_.id == column || columns_.weight == column ||
           ignored_.count(column) != 0;
  }

  // Finds the column that decides about the parts. Groups and parts are no features, unless an entry in `columns` or
  // `features` says so. A file for all rows need not have the column.
  void place_split(const CsvFile& file, const belay::InputSpec& spec) {
    split_column_.reset();
    if (o_.split == "all" && spec.has_learned()) return;
    split_column_ = find_split_column(file, o_, columns_.label);
    const bool names_parts = o_.split_by == "groups" || o_.split_by == "column";
    if (split_column_ && names_parts && !spec.has_learned() && entries_.count(*split_column_) == 0)
      ignored_.insert(*split_column_);
  }

  // Finds the columns that have an entry in `columns`, and those of them that are no features. Other inputs of the
  // model have the training's.
  void place_types(const CsvFile& file, const belay::InputSpec& spec) {
    entries_.clear(), ignored_.clear();
    if (spec.has_learned()) {
      columns_.weight = learned_column(file, spec, "weight");
      for (const belay::ColumnOptions& entry : types_)
        if (entry.type == "id" && !columns_.id) columns_.id = learned_column(file, spec, "id");
      for (const std::string& name : spec.learned_words("ignored").value_or(std::vector<std::string>()))
        if (const auto column = file.column_of(name)) ignored_.insert(*column);
      return;
    }
    for (const belay::ColumnOptions& entry : types_) {
      const std::size_t column = file.find_column("columns", entry.name);
      if (!entries_.emplace(column, entry).second || column == columns_.label)
        fail(Code::kInvalidArgument,
             "columns: \"" + entry.name + "\" is " + (column == columns_.label ? "the label's column" : "there twice"));
      std::optional<std::size_t>* place = entry.type == "id"       ? &columns_.id
                                          : entry.type == "weight" ? &columns_.weight
                                                                   : nullptr;
      if (place != nullptr && *place && *place != column)
        fail(Code::kInvalidArgument, "columns: \"" + entry.name + "\" is a second column of type " + entry.type);
      if (place != nullptr) *place = column;
      if (entry.type == "ignore") ignored_.insert(column);
    }
  }

  // Reads the rows, with types if they are known or needed.
  void read_table(const CsvFile& file, const belay::InputSpec& spec) {
    if (spec.learned_words("columns")) {
      learn_types(file, spec);
    } else if (spec.has_learned() && !types_.empty()) {
      fail(Code::kInvalidArgument,
           "columns: the training of the model had no types, since it read numbers; leave the table out, or train anew "
           "with it");
    } else if (!types_.empty()) {
      fit_types(file);
    } else if (!spec.has_learned()) {
      try {
        table_ = parse_table(file, columns_, pool_, false);
        return;
      } catch (const belay::Error& e) {
        if (e.code() != Code::kDataLoss) throw;
      }
      fit_types(file);
    }
    table_ = parse_table(file, columns_, pool_);
  }

  void learn_types(const CsvFile& file, const belay::InputSpec& spec) {
    gaps_ = spec.learned_words("gaps").value_or(gaps_);
    for (const std::size_t column : columns_.features) {
      auto typed = belay::Column::learned(spec, file.names()[column], gaps_);
      if (!typed) fail(Code::kNotFound, "features: the training had no column \"" + file.names()[column] + "\"");
      columns_.typed.push_back(std::move(*typed));
    }
  }

  // Fits the columns on the train part of the file. It guesses the types that have no entry. If these are all numbers
  // and there is no entry, it does nothing.
  void fit_types(const CsvFile& file) {
    const std::vector<std::int64_t> rows = rows_of(o_.split == "all" ? "all" : "train");
    if (rows.empty())
      fail(Code::kFailedPrecondition, "columns: no row of '" + path() +
                                          "' is for \"train\", by which the columns are fitted; " +
                                          belay::split_fix(o_));
    std::vector<belay::ColumnOptions> all;
    for (const std::size_t column : columns_.features) {
      const auto entry = entries_.find(column);
      all.push_back(entry == entries_.end() ? belay::ColumnOptions() : entry->second);
      all.back().name = file.names()[column];
    }
    std::string said;
    const bool any = guess_types(file, columns_.features, rows, gaps_, all, said);
    if (!any && types_.empty()) return;
    if (!said.empty()) host().info("columns: types by the rows of the training: " + said);
    drop_ignored(all);
    for (belay::ColumnOptions& column : all)
      if (column.type == "number" && column.scale.empty() && column.buckets.empty() && column.bucket_count == 0)
        column.scale = o_.standardize ? "standard" : "none";
    columns_.typed = fit_columns(file, columns_.features, rows, gaps_, all);
  }

  void drop_ignored(std::vector<belay::ColumnOptions>& all) {
    std::vector<std::size_t> features;
    std::vector<belay::ColumnOptions> used;
    std::vector<std::string> dropped;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].type != "ignore") {
        features.push_back(columns_.features[i]), used.push_back(all[i]);
        continue;
      }
      ignored_.insert(columns_.features[i]);
      if (all[i].keys.empty()) dropped.push_back(all[i].name);
    }
    if (!dropped.empty())
      host().warning("columns: not used: " + CsvFile::listed(dropped) +
                     "; almost each row has another cell of words, or all are gaps; an entry in 'columns' with "
                     "a type changes that");
    if (used.empty()) fail(Code::kInvalidArgument, "columns: '" + path() + "' has no column that is a feature");
    columns_.features = features, all = used;
  }

  // Each category that delivers ids is a feature of its own, with the words as names of its values.
  void declare_categories(belay::InputSpec& spec) {
    category_slots_.clear();
    for (const belay::Column& column : columns_.typed) {
      if (!column.has_ids()) continue;
      std::string name = "category.";
      for (const char c : column.name)
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ? c : '_';
      category_slots_.push_back(spec.feature(name, belay::DType::kInt64, {-1}));
      const std::vector<std::string> words = column.words_by_id();
      if (words.empty())
        spec.set_classes(category_slots_.back(), column.ids());
      else
        spec.set_class_names(category_slots_.back(), words);
    }
  }

  // As in label_column, the training's name comes before a number.
  void take_features(const CsvFile& file, const belay::InputSpec& spec) {
    const auto trained = trained_features(spec);
    const bool by_name = trained && trained->size() == o_.features.size();
    for (std::size_t i = 0; i < o_.features.size(); ++i) {
      const belay::Str& name = o_.features[i];
      const std::size_t column =
          by_name && is_number(name) ? learned_feature(file, (*trained)[i]) : file.find_column("features", name);
      if (columns_.label == column || columns_.id == column || columns_.weight == column)
        fail(Code::kInvalidArgument, "features: \"" + name.string() + "\" is the " +
                                         (columns_.id == column      ? "id"
                                          : columns_.label == column ? "label"
                                                                     : "weight") +
                                         "'s column");
      if (std::count(columns_.features.begin(), columns_.features.end(), column) != 0)
        fail(Code::kInvalidArgument, "features: \"" + name.string() + "\" is there twice");
      columns_.features.push_back(column);
    }
  }

  std::size_t learned_feature(const CsvFile& file, const std::string& name) const {
    const auto column = file.column_of(name);
    if (!column)
      fail(Code::kNotFound, "features: '" + path() + "' has no column \"" + name + "\", which the training had; " +
                                file.held(CsvFile::is_numbered(name)));
    return *column;
  }

  // Takes the features by name, in the training's order.
  void take_learned_features(const CsvFile& file, const belay::InputSpec& spec,
                             const std::vector<std::string>& trained) {
    const auto is_trained = [&](const std::string& name) {
      return std::find(trained.begin(), trained.end(), name) != trained.end();
    };
    std::vector<std::string> missing, extra;
    for (const std::string& name : trained)
      if (const auto column = file.column_of(name))
        columns_.features.push_back(*column);
      else
        missing.push_back(name);
    const std::optional<std::size_t> trained_id = learned_column(file, spec, "id");
    for (std::size_t i = 0; i < file.columns().size(); ++i) {
      const std::string &name = file.names()[i], &column = file.columns()[i];
      if (is_no_feature(i) || trained_id == i || is_trained(name)) continue;
      if (name != column && is_trained(column))
        fail(Code::kInvalidArgument, "path: '" + path() + "' has the training's column " + column +
                                         " more than once; rename the ones that are not meant");
      extra.push_back(name);
    }
    if (o_.extra == "ignore") extra.clear();
    if (missing.empty() && extra.empty()) return;
    const std::string lacks =
        missing.empty()
            ? ""
            : " lacks the training's column" + std::string(missing.size() == 1 ? " " : "s ") + CsvFile::listed(missing);
    const std::string has = extra.empty()
                                ? ""
                                : std::string(missing.empty() ? "" : " and") + " has " + CsvFile::listed(extra) +
                                      ", which the training did not have (extra = \"ignore\" leaves " +
                                      (extra.size() == 1 ? "it" : "them") + " out)";
    const std::string other = missing.empty() ? "" : file.other_reading(CsvFile::is_numbered(missing.front()));
    fail(Code::kNotFound, "path: '" + path() + "'" + lacks + has + (other.empty() ? "" : "; " + other));
  }

  void keep_names(const CsvFile& file, belay::InputSpec& spec) const {
    for (const std::string what : {"label", "id", "weight"}) {
      const std::optional<std::size_t>& column = what == "label" ? columns_.label
                                                 : what == "id"  ? columns_.id
                                                                 : columns_.weight;
      if (const auto trained = spec.learned_words(what))
        spec.keep(what, *trained);
      else if (!spec.has_learned() && column)
        spec.keep(what, std::vector<std::string>{file.names()[*column]});
    }
    std::vector<std::string> features, ignored;
    for (const std::size_t column : ignored_) ignored.push_back(file.names()[column]);
    if (spec.has_learned()) ignored = spec.learned_words("ignored").value_or(std::vector<std::string>());
    if (!ignored.empty()) spec.keep("ignored", ignored);
    if (columns_.typed.empty()) return;
    for (const belay::Column& column : columns_.typed) features.push_back(column.name), column.keep(spec);
    spec.keep("columns", spec.learned_words("columns").value_or(features));
    spec.keep("gaps", gaps_);
  }

  // A prediction has no labels, but keeps the training's facts.
  void keep_label_facts(belay::InputSpec& spec) const {
    const std::vector<std::int64_t> rows =
        spec.has_learned() ? std::vector<std::int64_t>() : rows_of(o_.split == "all" ? "all" : "train");
    belay::keep_class_counts(spec, "label", belay::counts_of_classes(table_.classes, rows, table_.class_names.size()));
    belay::keep_moments(spec, "label", belay::moments_of(table_.targets, rows));
  }

  // Uses the training's scales, or measures them on the file's train part.
  void scale(belay::InputSpec& spec, const std::vector<std::string>& names) {
    auto means = spec.learned_values("standardize.mean"), deviations = spec.learned_values("standardize.deviation");
    Scales scales;
    if (means && deviations && means->size() == table_.width && deviations->size() == table_.width) {
      scales = in_own_order({*means, *deviations}, trained_features(spec), names);
      spec.keep("standardize.mean", *means);
      spec.keep("standardize.deviation", *deviations);
    } else {
      const std::vector<std::int64_t> rows = rows_of(o_.split == "all" ? "all" : "train");
      if (rows.empty())
        fail(Code::kFailedPrecondition, "standardize: no row of '" + path() +
                                            "' is for \"train\", by which the features are scaled; " +
                                            belay::split_fix(o_));
      scales = measure(table_, rows);
      spec.keep("standardize.mean", scales.means);
      spec.keep("standardize.deviation", scales.deviations);
    }
    standardize(table_, scales);
  }

  // The option `features` may name the training's columns in another order.
  static Scales in_own_order(const Scales& trained, const std::optional<std::vector<std::string>>& columns,
                             const std::vector<std::string>& names) {
    if (!columns || *columns == names) return trained;
    Scales own;
    for (const std::string& name : names) {
      const auto at = static_cast<std::size_t>(std::find(columns->begin(), columns->end(), name) - columns->begin());
      own.means.push_back(at < columns->size() ? trained.means[at] : 0);
      own.deviations.push_back(at < columns->size() ? trained.deviations[at] : 1);
    }
    return own;
  }

  // Keeps only these rows.
  void take_rows(const std::vector<std::int64_t>& rows) {
    features_.clear(), classes_.clear(), targets_.clear(), ids_.clear(), weights_.clear(), category_ids_.clear();
    features_.reserve(rows.size() * table_.width);
    for (const std::int64_t row : rows) {
      const auto r = static_cast<std::size_t>(row);
      for (std::size_t i = 0; i < table_.width; ++i)
        features_.push_back(static_cast<float>(table_.features[r * table_.width + i]));
      if (!table_.classes.empty()) classes_.push_back(table_.classes[r]);
      if (!table_.targets.empty()) targets_.push_back(table_.targets[r]);
      if (!table_.ids.empty()) ids_.push_back(std::move(table_.ids[r]));
      if (!table_.weights.empty()) weights_.push_back(table_.weights[r]);
      for (std::size_t i = 0; i < table_.categories; ++i)
        category_ids_.push_back(table_.category_ids[r * table_.categories + i]);
    }
    table_ = {};
  }

  template <class T>
  static void copy_labels(const std::vector<T>& labels, std::uint32_t slot, const std::vector<std::int64_t>& examples,
                          belay::Batch& batch) {
    T* out = batch.tensor(slot, {static_cast<std::int64_t>(examples.size())}).template data<T>();
    for (const std::int64_t example : examples) *out++ = labels[static_cast<std::size_t>(example)];
  }

  void copy_categories(const std::vector<std::int64_t>& examples, belay::Batch& batch) const {
    for (std::size_t i = 0; i < category_slots_.size(); ++i) {
      std::int64_t* out =
          batch.tensor(category_slots_[i], {static_cast<std::int64_t>(examples.size())}).data<std::int64_t>();
      for (const std::int64_t example : examples)
        *out++ = category_ids_[static_cast<std::size_t>(example) * category_slots_.size() + i];
    }
  }

  void copy_ids(const std::vector<std::int64_t>& examples, belay::Batch& batch) {
    batch.tensor(id_slot_, {static_cast<std::int64_t>(examples.size())});
    for (std::size_t i = 0; i < examples.size(); ++i)
      batch.set_string(id_slot_, i, ids_[static_cast<std::size_t>(examples[i])]);
  }

  Options o_;
  std::vector<belay::ColumnOptions> types_;  // of the manifest
  std::vector<std::string> names_;           // of the columns of a file without a header
  belay::Gaps gaps_;
  std::map<std::size_t, belay::ColumnOptions> entries_;  // types_ by column
  std::set<std::size_t> ignored_;                        // columns
  bool is_training_ = false;                             // true: the log states parts and classes
  std::optional<std::size_t> split_column_;              // none: the rows' numbers decide
  std::vector<belay::Part> parts_;                       // of the file's rows
  TableColumns columns_;
  Table table_;            // the whole file, until the rows are chosen
  std::size_t width_ = 0;  // of the feature 'features'
  std::uint32_t features_slot_ = 0, label_slot_ = 0, id_slot_ = 0, weight_slot_ = 0;
  std::vector<std::uint32_t> category_slots_;
  belay::ExampleOrder order_;  // order of the chosen rows
  std::vector<float> features_;
  std::vector<std::int64_t> classes_;
  std::vector<float> targets_, weights_;
  std::vector<std::string> ids_;
  std::vector<std::int64_t> category_ids_;
  belay::DecodePool pool_;
};

}  // namespace
}  // namespace csv_input

BELAY_MODULE("1.0.0", csv_input::Csv)
