// SPDX-License-Identifier: Apache-2.0
// Reads rows of a CSV file, or of several: numbers, words, dates and text, and a label.
//
// The files are read and parsed when the input is asked for its columns, since the rows name the classes. They are read
// in blocks, and only the numbers of the split's rows stay in memory. A training keeps the names of its columns and
// classes and the name of its label's column. It also keeps the scales of `standardize`, and all that columns with
// types fitted (belay/columns.h).
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
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "csv_balance.h"
#include "csv_choice.h"
#include "csv_columns.h"
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
          "(min_count, max_size), each with gaps, or id, weight or ignore; types that are not set are guessed if a "
          "column has words or gaps; or a list: names of the columns if there is no header, in place of column_0, "
          "column_1 and so on")
          .or_list(),
      belay::option("gaps", &Options::gaps, "cells that mean a missing value, in columns with types and in the label"),
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
           "[B3020] split_by = \"stratify\" needs classes, and the label is a number; set 'split_column'");
    const std::string_view delimiter = o.delimiter;
    if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r")
      fail(Code::kInvalidArgument,
           "[B3020] 'delimiter' is \"" + o.delimiter.string() + "\", must be one character such as , ; | or a tab");
  }

  void spec(belay::InputSpec& spec) override {
    const std::vector<std::string> files = belay::csv::files_of(texts(o_.path));
    const CsvFile file({files[0], o_.header, o_.delimiter.view()[0], o_.skip_lines, names_,
                        std::vector<std::string>(files.begin() + 1, files.end())});
    file_rows_ = file.rows();
    if (!file.not_utf8().empty())
      host().warning(file.not_utf8() +
                     ": this is no UTF-8; the cells are read as they are, and are other words than in a file of UTF-8; "
                     "convert the file (iconv -f LATIN1 -t UTF-8)");
    is_training_ = spec.use() == belay::InputUse::kTraining;
    if (const std::string name = belay::name_like_value(file.columns()); is_training_ && o_.header && !name.empty())
      host().warning(files[0] + ": the header has numbers as names of columns, such as \"" + name +
                     "\"; if it is the first row of the data, set header = false");
    ChosenColumns chosen = choose_columns(file, spec, choice_options(), types_);
    columns_ = std::move(chosen.table), columns_.gaps = spec.learned_words("gaps").value_or(gaps_),
    entries_ = std::move(chosen.entries), ignored_ = std::move(chosen.ignored);
    choose_parts(file, spec, chosen.split);
    columns_.notes_new = spec.has_learned() && !is_training_;
    read_table(file, spec);
    rows_ = {};
    check_weights(file);
    warn_of_lone_words(file);
    warn_of_numbers_as_classes(file);
    warn_of_changed_labels(file);
    warn_of_odd_numbers(file);
    warn_of_new_cells(file);
    say_rows_and_classes(spec.use(), file);
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
    keep_label_facts(file, spec);
    parts_ = {};
    if (o_.standardize && columns_.typed.empty()) keep_scales(spec);
  }

  void open(const belay::OpenArgs& args) override {
    if (row_count_ == 0)
      fail(Code::kFailedPrecondition, "[B3027] split: '" + path() + "' has " + std::to_string(file_rows_) +
                                          " rows and none of them is for \"" + o_.split.string() + "\"; " +
                                          belay::split_fix(o_));
    const std::string text = balance_text(table_.classes, table_.class_names);
    if (is_training_ && !text.empty()) host().info(text);
    order_ = belay::ExampleOrder(row_count_, o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto n = static_cast<std::int64_t>(examples.size());
    if (width_ != 0) {
      float* features = batch.tensor(features_slot_, {n, static_cast<std::int64_t>(width_)}).data<float>();
      for (const std::int64_t example : examples)
        features = copy_row(table_.features.data() + static_cast<std::size_t>(example) * width_, width_, features);
    }
    copy_categories(examples, batch);
    if (columns_.label && has_classes()) copy_labels(table_.classes, label_slot_, examples, batch);
    if (columns_.label && !has_classes()) copy_labels(table_.targets, label_slot_, examples, batch);
    if (columns_.weight) copy_labels(table_.weights, weight_slot_, examples, batch);
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

  // Returns the end of the copy. Most rows are short, and a call of memcpy takes longer than their copy.
  static float* copy_row(const float* row, std::size_t width, float* to) {
    if (width > 64) return std::copy_n(row, width, to);
    for (; width >= 4; width -= 4, row += 4, to += 4) std::memcpy(to, row, 4 * sizeof(float));
    for (; width != 0; --width) *to++ = *row++;
    return to;
  }

  // Returns the first file, for messages.
  std::string path() const { return o_.path[0].string(); }

  ChoiceOptions choice_options() const {
    return {path(),
            o_.label.string(),
            o_.id.string(),
            o_.label_type == "class" ? LabelType::kClass : LabelType::kFloat,
            texts(o_.classes),
            texts(o_.features),
            o_.extra == "ignore",
            o_};
  }

  bool has_classes() const { return columns_.label_type == LabelType::kClass; }

  // Chooses the part of each row, and the rows to keep. Other inputs of the model read the training's dates, and have
  // its gaps.
  void choose_parts(const CsvFile& file, belay::InputSpec& spec, std::optional<std::size_t> column) {
    SplitColumn by{column, spec.learned_words("gaps").value_or(gaps_)};
    belay::Gaps own_gaps;
    if (const auto entry = entries_.find(column.value_or(file.names().size())); entry != entries_.end()) {
      by.formats = entry->second.formats, own_gaps = entry->second.gaps;
    }
    own_gaps = spec.learned_words("split_column.gaps").value_or(own_gaps);
    if (!own_gaps.empty()) by.gaps = own_gaps, spec.keep("split_column.gaps", own_gaps);
    by.formats = spec.learned_words("split_column.formats").value_or(by.formats);
    if (!by.formats.empty()) spec.keep("split_column.formats", by.formats);
    parts_.assign(static_cast<std::size_t>(file_rows_), belay::Part::kTrain);
    row_count_ = file_rows_;
    if (o_.split == "all") return;
    parts_ = split_table(file, o_, by);
    rows_ = belay::rows_of_part(parts_, o_.split);
    row_count_ = static_cast<std::int64_t>(rows_.size());
    const std::string text = split_text(file, o_, by, parts_);
    if (!text.empty() && is_training_) host().info(text);
  }

  // Returns the rows by which the training fits. `what` begins the error if there are none, and `done` ends it.
  std::vector<std::int64_t> train_rows(const std::string& what, const std::string& done) const {
    std::vector<std::int64_t> rows = belay::rows_of_part(parts_, "train");
    if (rows.empty())
      fail(Code::kFailedPrecondition, "[B3027] " + what + ": no row of '" + path() +
                                          "' is for \"train\", by which the " + done + "; " + belay::split_fix(o_));
    return rows;
  }

  const std::vector<std::int64_t>* kept() const { return o_.split == "all" ? nullptr : &rows_; }

  // A word that only one of many rows has is more often a misspelling than a class.
  void warn_of_lone_words(const CsvFile& file) const {
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < std::min(table_.lone_classes.size(), kShown); ++i) {
      const auto& [number, row] = table_.lone_classes[i];
      host().warning(file.place(row, *columns_.label) + ": label \"" +
                     table_.class_names[static_cast<std::size_t>(number)] + "\" is in this row alone, and is class " +
                     std::to_string(number) +
                     "; if that is a mistake, repair the row, or list the labels in 'classes'");
    }
  }

  // Classes that are numbers of another kind were meant as numbers, unless 'classes' lists them.
  void warn_of_numbers_as_classes(const CsvFile& file) const {
    if (!is_training_ || !columns_.classes.empty() || table_.classes.empty()) return;
    const std::string text =
        numbers_as_classes(file, *columns_.label, table_.classes, table_.class_names, table_.numbered_labels);
    if (!text.empty()) host().warning("label \"" + file.names()[*columns_.label] + "\": " + text);
  }

  // A large whole number may become another one as float32.
  void warn_of_changed_labels(const CsvFile& file) const {
    if (!table_.changed_label) return;
    const auto digits = [](double number) { return belay::rounded_text(number, 17); };
    const ChangedLabel& first = *table_.changed_label;
    host().warning(file.place(first.row, *columns_.label) + ": label \"" + file.names()[*columns_.label] + "\" is " +
                   digits(first.is) + ", and becomes " + digits(first.becomes) + " as float32; " +
                   std::to_string(table_.changed_labels) +
                   (table_.changed_labels == 1 ? " row is so" : " rows are so") +
                   "; subtract a constant, or take a larger unit");
  }

  // Names the features whose numbers are not those of the file, or may be codes. A column that has a type was decided.
  void warn_of_odd_numbers(const CsvFile& file) const {
    if (!is_training_) return;
    const auto warn = [&](const std::vector<std::int64_t>& rows, bool with_type, const auto& text) {
      std::vector<std::size_t> found;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] != OddNumbers::kNone && (with_type || !has_type(columns_.features[i]))) found.push_back(i);
      if (found.empty()) return;
      const std::size_t column = columns_.features[found[0]];
      const std::int64_t row = rows[found[0]];
      std::vector<std::string> others;
      for (std::size_t i = 1; i < found.size(); ++i) others.push_back(file.names()[columns_.features[found[i]]]);
      host().warning(file.place(row, column) + ": feature \"" + file.names()[column] + "\" is " +
                     text(file.fields(row)[column]) +
                     (others.empty() ? "" : "; other such columns: " + CsvFile::listed(others)));
    };
    warn(table_.odd_numbers.changed, true, [](const std::string& cell) {
      double number = 0;
      belay::read_number(cell, number);
      return cell + ", and becomes " + belay::rounded_text(static_cast<double>(static_cast<float>(number)), 17) +
             " as float32; set standardize = true, or scale = \"standard\" in the column's entry in 'columns', which "
             "keeps the differences";
    });
    warn(table_.odd_numbers.leading_zeros, false, [](const std::string& cell) {
      return "\"" + cell +
             "\", and becomes a number without its leading zeros; if it is a code, give it type = \"category\" in "
             "'columns', or else type = \"number\"";
    });
  }

  void warn_of_new_cells(const CsvFile& file) const {
    for (const NewCellsNote& note : new_cells_notes(file, columns_, table_.new_cells, row_count_))
      note.are_many ? host().warning(note.text) : host().info(note.text);
  }

  // Explains numbers of rows and of classes that a reader of the results could misunderstand.
  void say_rows_and_classes(belay::InputUse use, const CsvFile& file) const {
    if (use == belay::InputUse::kPrediction && o_.split != "all" && !columns_.id)
      host().info("the rows are those of split = \"" + o_.split.string() +
                  "\", so a prediction's index is no row of the file; 'id' names a column that predictions repeat");
    const std::vector<std::string>& names = table_.class_names;
    const bool are_numbers = names == std::vector<std::string>{"0", "1"};
    if (is_training_ && columns_.label && has_classes() && names.size() == 2 && !are_numbers)
      host().info("label \"" + file.names()[*columns_.label] + "\": class 0 is \"" + names[0] + "\" and class 1 is \"" +
                  names[1] +
                  "\"; F1, AUC and threshold of a model are about class 1, unless its positive_class is another");
  }

  bool has_type(std::size_t column) const {
    const auto entry = entries_.find(column);
    return entry != entries_.end() && !entry->second.type.empty();
  }

  // A loss divides by the sum of the weights.
  void check_weights(const CsvFile& file) const {
    if (!columns_.weight || table_.weights.empty()) return;
    if (std::any_of(table_.weights.begin(), table_.weights.end(), [](float weight) { return weight > 0; })) return;
    fail(Code::kInvalidArgument, "[B3054] columns: all weights of \"" + file.names()[*columns_.weight] + "\" in '" +
                                     path() + "' are 0 in the " + std::to_string(table_.weights.size()) +
                                     " rows of split = \"" + o_.split.string() +
                                     "\"; give rows that count a weight above 0, or the column another type");
  }

  std::vector<std::string> feature_names(const CsvFile& file) const {
    std::vector<std::string> names;
    for (const belay::Column& column : columns_.typed)
      for (std::string& name : column.names()) names.push_back(std::move(name));
    for (const std::size_t column : columns_.features)
      if (columns_.typed.empty()) names.push_back(file.names()[column]);
    std::set<std::string> seen;
    for (const std::string& name : names)
      if (!seen.insert(name).second)
        fail(Code::kInvalidArgument, "[B3042] columns: two features of '" + path() + "' are called \"" + name +
                                         "\": a column, and a word, a gap or a part of another one; rename the column");
    return names;
  }

  // Reads the rows, with types if they are known or needed.
  void read_table(const CsvFile& file, const belay::InputSpec& spec) {
    if (spec.learned_words("columns")) {
      learn_types(file, spec);
    } else if (spec.has_learned() && !types_.empty()) {
      fail(Code::kInvalidArgument,
           "[B3043] columns: the training of the model had no types, since it read numbers; leave the table out, or "
           "train anew with it");
    } else if (!types_.empty()) {
      fit_types(file);
    } else if (!spec.has_learned()) {
      try {
        if (o_.standardize) columns_.scales = measured(file, spec);
        table_ = parse_table(file, columns_, pool_, kept(), false);
        return;
      } catch (const belay::Error& e) {
        if (e.code() != Code::kDataLoss) throw;
      }
      fit_types(file);
    } else if (o_.standardize) {
      columns_.scales = measured(file, spec);
    }
    table_ = parse_table(file, columns_, pool_, kept());
  }

  void learn_types(const CsvFile& file, const belay::InputSpec& spec) {
    gaps_ = spec.learned_words("gaps").value_or(gaps_);
    for (const std::size_t column : columns_.features) {
      auto typed = belay::Column::learned(spec, file.names()[column], gaps_);
      if (!typed)
        fail(Code::kNotFound, "[B3043] features: the training had no column \"" + file.names()[column] +
                                  "\"; leave it out of 'features'");
      columns_.typed.push_back(std::move(*typed));
    }
  }

  // Fits the columns on the train part of the file. It guesses the types that have no entry. If these are all numbers
  // and there is no entry, it does nothing.
  void fit_types(const CsvFile& file) {
    const std::vector<std::int64_t> rows = train_rows("columns", "columns are fitted");
    std::vector<belay::ColumnOptions> all;
    for (const std::size_t column : columns_.features) {
      const auto entry = entries_.find(column);
      all.push_back(entry == entries_.end() ? belay::ColumnOptions() : entry->second);
      all.back().name = file.names()[column];
    }
    const GuessedTypes guessed = guess_types(file, columns_.features, rows, gaps_, all);
    if (!guessed.any && types_.empty() && !has_gaps(file)) return;
    if (!guessed.said.empty() && is_training_)
      host().info("columns: types by the rows of the training: " + guessed.said);
    warn_of_misread(guessed);
    drop_ignored(all);
    for (belay::ColumnOptions& column : all)
      if (column.type == "number" && column.scale.empty() && column.buckets.empty() && column.bucket_count == 0)
        column.scale = o_.standardize ? "standard" : "none";
    std::vector<std::string> only_gaps;
    columns_.typed = fit_columns(file, columns_.features, rows, gaps_, all, only_gaps);
    if (!only_gaps.empty() && is_training_)
      host().warning("columns: " + CsvFile::listed(only_gaps) +
                     (only_gaps.size() == 1 ? " has only gaps" : " have only gaps") + " in the " +
                     std::to_string(rows.size()) +
                     " rows of the training, so there is no median and no word to learn; set type = \"ignore\", or "
                     "look at the file and at 'gaps'");
  }

  // Looks at the rows of all parts.
  bool has_gaps(const CsvFile& file) const {
    bool found = false;
    belay::csv::Fields cells;
    file.each_block([&](const belay::csv::Block& block) {
      for (std::size_t i = 0; i < block.rows() && !found; ++i)
        found = !block.take_fields(i, cells) &&
                std::any_of(columns_.features.begin(), columns_.features.end(),
                            [&](std::size_t column) { return belay::is_gap(gaps_, cells.views[column]); });
      return !found;
    });
    return found;
  }

  void warn_of_misread(const GuessedTypes& guessed) {
    if (guessed.misread.empty() || !is_training_) return;
    const std::vector<std::string> others(guessed.misread.begin() + 1, guessed.misread.end());
    host().warning("columns: " + guessed.misread_text +
                   (others.empty() ? "" : "; also read as words: " + CsvFile::listed(others)));
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
    if (used.empty())
      fail(Code::kInvalidArgument, "[B3052] columns: '" + path() +
                                       "' has no column that is a feature, since each is ignored; give one of them a "
                                       "type in 'columns'");
    columns_.features = features, all = used;
  }

  static std::string feature_of_category(const std::string& column) {
    std::string name = "category.";
    for (const char c : column)
      name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ? c : '_';
    return name;
  }

  // Each category that delivers ids is a separate feature, with the words as names of its values. Columns whose names
  // would give one feature, such as "a b" and "a.b", get numbers in the order of their names. So the order of the
  // columns does not matter.
  void declare_categories(belay::InputSpec& spec) {
    category_slots_.clear();
    std::map<std::string, std::set<std::string>> columns_of;  // by feature
    for (const belay::Column& column : columns_.typed)
      if (column.has_ids()) columns_of[feature_of_category(column.name)].insert(column.name);
    for (const belay::Column& column : columns_.typed) {
      if (!column.has_ids()) continue;
      std::string name = feature_of_category(column.name);
      const std::set<std::string>& columns = columns_of[name];
      const auto number = std::distance(columns.begin(), columns.find(column.name)) + 1;
      if (number > 1) name += "_" + std::to_string(number);
      category_slots_.push_back(spec.feature(name, belay::DType::kInt64, {-1}));
      const std::vector<std::string> words = column.words_by_id();
      if (words.empty())
        spec.set_classes(category_slots_.back(), column.ids());
      else
        spec.set_class_names(category_slots_.back(), words);
    }
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

  // A prediction has no labels, but keeps the training's facts. If there was no training, the file's train part has
  // them. Then an input of another part reads its labels again.
  void keep_label_facts(const CsvFile& file, belay::InputSpec& spec) {
    Table read;
    const bool reads = !spec.has_learned() && columns_.label && o_.split != "all" && o_.split != "train";
    if (reads) {
      TableColumns label{{}, columns_.label, columns_.label_type, columns_.classes, columns_.learned};
      label.gaps = columns_.gaps;
      const std::vector<std::int64_t> train = belay::rows_of_part(parts_, "train");
      read = parse_table(file, label, pool_, &train);
    }
    const Table& table = reads ? read : table_;
    std::vector<std::int64_t> rows(spec.has_learned() ? 0 : std::max(table.classes.size(), table.targets.size()));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    belay::keep_class_counts(spec, "label", belay::counts_of_classes(table.classes, rows, table.class_names.size()));
    belay::keep_moments(spec, "label", belay::moments_of(table.targets, rows));
  }

  // Returns the training's scales, or those of the file's train part.
  Scales measured(const CsvFile& file, const belay::InputSpec& spec) {
    auto means = spec.learned_values("standardize.mean"), deviations = spec.learned_values("standardize.deviation");
    const std::size_t width = columns_.features.size();
    if (means && deviations && means->size() == width && deviations->size() == width) {
      learned_scales_ = Scales{std::move(*means), std::move(*deviations)};
      return in_own_order(learned_scales_, trained_features(spec), feature_names(file));
    }
    return learned_scales_ = measure(file, columns_.features, train_rows("standardize", "features are scaled"));
  }

  void keep_scales(belay::InputSpec& spec) const {
    spec.keep("standardize.mean", learned_scales_.means);
    spec.keep("standardize.deviation", learned_scales_.deviations);
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
        *out++ = table_.category_ids[static_cast<std::size_t>(example) * category_slots_.size() + i];
    }
  }

  void copy_ids(const std::vector<std::int64_t>& examples, belay::Batch& batch) {
    batch.tensor(id_slot_, {static_cast<std::int64_t>(examples.size())});
    for (std::size_t i = 0; i < examples.size(); ++i)
      batch.set_string(id_slot_, i, table_.ids[static_cast<std::size_t>(examples[i])]);
  }

  Options o_;
  std::vector<belay::ColumnOptions> types_;  // of the manifest
  std::vector<std::string> names_;           // of the columns of a file without a header
  belay::Gaps gaps_;
  std::map<std::size_t, belay::ColumnOptions> entries_;  // types_ by column
  std::set<std::size_t> ignored_;                        // columns
  bool is_training_ = false;                             // true: the log states parts and classes
  std::int64_t file_rows_ = 0, row_count_ = 0;           // the second: of the split
  std::vector<belay::Part> parts_;                       // of the file's rows
  std::vector<std::int64_t> rows_;                       // of the split, unless it is "all"
  TableColumns columns_;
  Scales learned_scales_;  // in the training's order of the columns
  Table table_;            // the rows of the split
  std::size_t width_ = 0;  // of the feature 'features'
  std::uint32_t features_slot_ = 0, label_slot_ = 0, id_slot_ = 0, weight_slot_ = 0;
  std::vector<std::uint32_t> category_slots_;
  belay::ExampleOrder order_;  // order of the chosen rows
  belay::DecodePool pool_;
};

}  // namespace
}  // namespace csv_input

BELAY_MODULE("1.0.0", csv_input::Csv)
