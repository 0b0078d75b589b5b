// SPDX-License-Identifier: Apache-2.0
#include "csv_choice.h"

#include <belay/error.h>

#include <algorithm>
#include <utility>

#include "csv_split.h"

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

// Returns the name of the training's label, id or weight. None: it had none.
std::optional<std::string> learned_name(const belay::InputSpec& spec, std::string_view kept) {
  const auto words = spec.learned_words(kept);
  if (!words) return std::nullopt;
  if (words->size() != 1)
    fail(Code::kDataLoss, "[B3051] " + std::string(kept) +
                              ": the name that the training kept is damaged; restore another checkpoint "
                              "of the model");
  return words->front();
}

// Returns the column with that name. None: the name is not known, or the file lacks it.
std::optional<std::size_t> learned_column(const CsvFile& file, const belay::InputSpec& spec, std::string_view kept) {
  const auto name = learned_name(spec, kept);
  return name ? file.column_of(*name) : std::nullopt;
}

bool is_number(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

class ColumnChoice {
 public:
  ColumnChoice(const CsvFile& file, const belay::InputSpec& spec, const ChoiceOptions& options)
      : file_(file), spec_(spec), o_(options) {}

  ChosenColumns choose(const std::vector<belay::ColumnOptions>& types) {
    columns_.label_type = o_.label_type;
    columns_.classes = o_.classes;
    columns_.label = label_column();
    columns_.id = id_column();
    place_types(types);
    place_split();
    if (columns_.id && columns_.id == columns_.label)
      fail(Code::kInvalidArgument,
           "[B3042] id: \"" + o_.id + "\" is the label's column; if the file has no label, set label = \"\"");
    if (const auto classes = spec_.learned_class_names("label"); classes && columns_.classes.empty()) {
      columns_.classes = *classes;
      columns_.learned = true;
    }
    if (!o_.features.empty())
      take_features();
    else if (const auto trained = trained_features(spec_))
      take_learned_features(*trained);
    else
      for (std::size_t i = 0; i < file_.columns().size(); ++i)
        if (!is_no_feature(i)) columns_.features.push_back(i);
    if (columns_.features.empty())
      fail(Code::kInvalidArgument, "[B3052] features: '" + o_.path + "' has no column besides the label" +
                                       (columns_.id ? " and the id" : "") +
                                       "; give a file with at least one more, or another 'delimiter'");
    // The model needs no label for a prediction, and the column may have other content.
    if (spec_.use() == belay::InputUse::kPrediction && spec_.has_learned())
      columns_.label.reset(), columns_.weight.reset();
    return {std::move(columns_), std::move(entries_), std::move(ignored_), split_};
  }

 private:
  // A number in the option counts columns, but another file may have them in another order. So the training's name
  // comes first.
  std::optional<std::size_t> label_column() const {
    const auto trained = learned_name(spec_, "label");
    const auto column = learned_column(file_, spec_, "label");
    const bool is_name = !is_number(o_.label) && !o_.label.empty();
    if (!trained || (is_name && o_.label != *trained)) {
      if (o_.label.empty()) return std::nullopt;
      if (column && spec_.use() != belay::InputUse::kPrediction)
        fail(Code::kInvalidArgument, "[B3043] label: '" + o_.path + "' has \"" + *trained +
                                         "\", which was the training's label, besides \"" + o_.label +
                                         "\"; leave 'label' out");
      return other_label();
    }
    if (column) return column;
    if (spec_.use() == belay::InputUse::kPrediction || o_.label.empty()) return std::nullopt;
    fail(Code::kNotFound, "[B3043] label: '" + o_.path + "' has no column \"" + *trained +
                              "\", which was the training's label; " + file_.held(CsvFile::is_numbered(*trained)));
  }

  // Returns the column of the option. A feature of the model cannot be the label.
  std::optional<std::size_t> other_label() const {
    const std::size_t column = file_.find_column("label", o_.label);
    const auto trained = trained_features(spec_);
    if (!trained || std::find(trained->begin(), trained->end(), file_.names()[column]) == trained->end()) return column;
    if (spec_.use() == belay::InputUse::kPrediction) return std::nullopt;
    fail(Code::kInvalidArgument, "[B3043] label: \"" + o_.label + "\" is the column " + file_.names()[column] +
                                     ", which is a feature of the training; name the label's column");
  }

  std::optional<std::size_t> id_column() const {
    const auto trained = learned_name(spec_, "id");
    const auto column = learned_column(file_, spec_, "id");
    if (o_.id.empty()) return spec_.use() == belay::InputUse::kPrediction ? column : std::nullopt;
    if (!trained || !is_number(o_.id)) return file_.find_column("id", o_.id);
    if (column) return column;
    fail(Code::kNotFound, "[B3043] id: '" + o_.path + "' has no column \"" + *trained +
                              "\", which was the training's id; name the column, or leave 'id' out; " + file_.held());
  }

  bool is_no_feature(std::size_t column) const {
    return columns_.label == column || columns_.id == column || columns_.weight == column ||
           ignored_.count(column) != 0;
  }

  // Finds the column that decides about the parts. Groups and parts are no features, unless an entry in `columns` or
  // `features` names them. A file for all rows need not have the column.
  void place_split() {
    if (o_.split.split == "all" && spec_.has_learned()) return;
    split_ = find_split_column(file_, o_.split, columns_.label);
    const bool names_parts = o_.split.split_by == "groups" || o_.split.split_by == "column";
    if (split_ && names_parts && !spec_.has_learned() && entries_.count(*split_) == 0) ignored_.insert(*split_);
  }

  // The key "blood.type" = "category" reads as the type of "blood", and is meant for a column "blood.type".
  std::string name_of_entry(const belay::ColumnOptions& entry) const {
    const std::string with_type = entry.name + ".type";
    const bool has_type_alone = entry.keys == std::vector<std::string>{"type"};
    return has_type_alone && !file_.column_of(entry.name) && file_.column_of(with_type) ? with_type : entry.name;
  }

  // Finds the columns that have an entry in `columns`, and those of them that are no features. Other inputs of the
  // model have the training's.
  void place_types(const std::vector<belay::ColumnOptions>& types) {
    if (spec_.has_learned()) {
      columns_.weight = learned_column(file_, spec_, "weight");
      for (const belay::ColumnOptions& entry : types)
        if (entry.type == "id" && !columns_.id) columns_.id = learned_column(file_, spec_, "id");
      for (const std::string& name : spec_.learned_words("ignored").value_or(std::vector<std::string>()))
        if (const auto column = file_.column_of(name)) ignored_.insert(*column);
      return;
    }
    for (const belay::ColumnOptions& entry : types) {
      const std::size_t column = file_.find_column("columns", name_of_entry(entry));
      if (!entries_.emplace(column, entry).second || column == columns_.label)
        fail(Code::kInvalidArgument,
             "[B3042] columns: \"" + entry.name + "\" is " +
                 (column == columns_.label ? "the label's column, which has no type; leave the entry out"
                                           : "there twice, by name and by number; leave one entry out"));
      std::optional<std::size_t>* place = entry.type == "id"       ? &columns_.id
                                          : entry.type == "weight" ? &columns_.weight
                                                                   : nullptr;
      if (place != nullptr && *place && *place != column)
        fail(Code::kInvalidArgument, "[B3042] columns: \"" + entry.name + "\" is a second column of type " +
                                         entry.type + "; give one of them another type, such as ignore");
      if (place != nullptr) *place = column;
      if (entry.type == "ignore") ignored_.insert(column);
    }
  }

  // As in label_column, the training's name comes before a number.
  void take_features() {
    const auto trained = trained_features(spec_);
    const bool by_name = trained && trained->size() == o_.features.size();
    for (std::size_t i = 0; i < o_.features.size(); ++i) {
      const std::string& name = o_.features[i];
      const std::size_t column =
          by_name && is_number(name) ? learned_feature((*trained)[i]) : file_.find_column("features", name);
      if (columns_.label == column || columns_.id == column || columns_.weight == column)
        fail(Code::kInvalidArgument, "[B3042] features: \"" + name + "\" is the " +
                                         (columns_.id == column      ? "id"
                                          : columns_.label == column ? "label"
                                                                     : "weight") +
                                         "'s column; leave it out");
      if (const auto entry = entries_.find(column); entry != entries_.end() && entry->second.type == "ignore")
        fail(Code::kInvalidArgument,
             "[B3042] features: \"" + name + "\" has type = \"ignore\" in 'columns'; leave it out of one of the two");
      if (std::count(columns_.features.begin(), columns_.features.end(), column) != 0)
        fail(Code::kInvalidArgument, "[B3042] features: \"" + name + "\" is there twice; leave one out");
      columns_.features.push_back(column);
    }
  }

  std::size_t learned_feature(const std::string& name) const {
    const auto column = file_.column_of(name);
    if (!column)
      fail(Code::kNotFound, "[B3043] features: '" + o_.path + "' has no column \"" + name +
                                "\", which the training had; " + file_.held(CsvFile::is_numbered(name)));
    return *column;
  }

  // Takes the features by name, in the training's order.
  void take_learned_features(const std::vector<std::string>& trained) {
    const auto is_trained = [&](const std::string& name) {
      return std::find(trained.begin(), trained.end(), name) != trained.end();
    };
    std::vector<std::string> missing, extra;
    for (const std::string& name : trained)
      if (const auto column = file_.column_of(name))
        columns_.features.push_back(*column);
      else
        missing.push_back(name);
    const std::optional<std::size_t> trained_id = learned_column(file_, spec_, "id");
    for (std::size_t i = 0; i < file_.columns().size(); ++i) {
      const std::string &name = file_.names()[i], &column = file_.columns()[i];
      if (is_no_feature(i) || trained_id == i || is_trained(name)) continue;
      if (name != column && is_trained(column))
        fail(Code::kInvalidArgument, "[B3043] path: '" + o_.path + "' has the training's column " + column +
                                         " more than once; rename the ones that are not meant");
      extra.push_back(name);
    }
    if (o_.ignores_extra) extra.clear();
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
    const std::string other = missing.empty() ? "" : file_.other_reading(CsvFile::is_numbered(missing.front()));
    fail(Code::kNotFound, "[B3043] path: '" + o_.path + "'" + lacks + has + (other.empty() ? "" : "; " + other));
  }

  const CsvFile& file_;
  const belay::InputSpec& spec_;
  const ChoiceOptions& o_;
  TableColumns columns_;
  std::map<std::size_t, belay::ColumnOptions> entries_;
  std::set<std::size_t> ignored_;
  std::optional<std::size_t> split_;
};

}  // namespace

std::optional<std::vector<std::string>> trained_features(const belay::InputSpec& spec) {
  auto typed = spec.learned_words("columns");
  return typed ? typed : spec.learned_columns("features");
}

ChosenColumns choose_columns(const CsvFile& file, const belay::InputSpec& spec, const ChoiceOptions& options,
                             const std::vector<belay::ColumnOptions>& types) {
  return ColumnChoice(file, spec, options).choose(types);
}

}  // namespace csv_input
