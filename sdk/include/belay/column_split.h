// SPDX-License-Identifier: Apache-2.0
// The part of a table's rows that an input uses, by a column: classes, groups, times or the part's own word.
//
//   struct Options : belay::ColumnSplitOptions, belay::BatchOptions { ... };
//   static constexpr auto about = belay::about(..., belay::column_split_options<Options>(), ...);
//   ...
//   ColumnSplit split(options_, gaps);                                 // it refuses options that contradict each other
//   for (std::string_view cell : cells) if (auto fault = split.add(cell); !fault.empty()) ...
//   parts_ = split.finish();                                           // if splits_by_column(options_)
//   rows_ = rows_of_part(parts_, options_.split);
//
//   split_by     split_column                        evaluation
//   "rows"       none                                as in belay/example_split.h
//   "stratify"   a column; the input has a default   its share of each class
//   "groups"     a column whose values are groups    its share of the groups; a group is in one part
//   "time"       dates (ISO 8601 or formats), or     the last rows
//                numbers
//   "column"     a column of words                   the rows with a word of eval_values
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "belay/columns.h"
#include "belay/example_split.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {

// The words of a column that names the part.
inline constexpr Str kTrainValues[] = {"train", "training"};
inline constexpr Str kEvalValues[] = {"eval", "evaluation", "validation", "valid", "val", "dev"};
inline constexpr Str kTestValues[] = {"test"};

// The options of an input with named columns. Its Options derive from it, and its `about` names them with
// column_split_options.
struct ColumnSplitOptions : SplitOptions {
  Str split_by = "rows";
  Str split_column;
  List<Str> train_values = kTrainValues;
  List<Str> eval_values = kEvalValues;
  List<Str> test_values = kTestValues;
};

// The declarations of these options and of those in SplitOptions.
template <class O>
constexpr auto column_split_options() {
  constexpr Str O::*split_by = &O::split_by, O::*split_column = &O::split_column;
  constexpr List<Str> O::*train = &O::train_values, O::*eval = &O::eval_values, O::*test = &O::test_values;
  return std::tuple_cat(
      split_options<O>("part of the rows to use; each row is in one of train, eval and test",
                       "share of the rows that belongs to eval"),
      std::make_tuple(
          option("split_by", split_by,
                 "rows: by the row's number; stratify: the same shares of each class; groups: all rows of a group in "
                 "one part; time: the last rows are eval; column: 'split_column' has the part")
              .choices("rows", "stratify", "groups", "time", "column")
              .learned(),
          option("split_column", split_column,
                 "column of the classes, groups, times or parts; stratify: the label if not set")
              .learned(),
          option("train_values", train, "words of 'split_column' for train, with split_by = \"column\"")
              .or_single()
              .learned(),
          option("eval_values", eval, "words of 'split_column' for eval").or_single().learned(),
          option("test_values", test, "words of 'split_column' for test").or_single().learned()));
}

// True if cells of a column decide, not the rows' numbers.
inline bool splits_by_column(const ColumnSplitOptions& o) { return o.split_by != "rows"; }

// Refuses options that contradict each other, also those of SplitOptions. INVALID_ARGUMENT names them and the fix.
inline void check_split(const ColumnSplitOptions& o) {
  const std::string by = "split_by = \"" + o.split_by.string() + "\"";
  check_split(static_cast<const SplitOptions&>(o));
  if (!splits_by_column(o)) {
    if (!o.split_column.empty())
      fail(Code::kInvalidArgument, "[B3020] 'split_column' is \"" + o.split_column.string() + "\", and " + by +
                                       " uses no column; set 'split_by' to stratify, groups, time or column");
    return;
  }
  if (o.split_column.empty() && o.split_by != "stratify")
    fail(Code::kInvalidArgument, "[B3020] " + by + " needs a column; set 'split_column'");
  if (o.every != 0) fail(Code::kInvalidArgument, "[B3020] 'every' counts rows, and " + by + " does not; leave one out");
  if (o.folds != 0 && (o.split_by == "time" || o.split_by == "column"))
    fail(Code::kInvalidArgument, "[B3020] 'folds' are chosen by the seed, and " + by + " is not; leave one out");
  if (o.test_fraction != 0 && o.split_by == "column")
    fail(Code::kInvalidArgument, "[B3020] " + by + " has its test part by 'test_values'; leave 'test_fraction' out");
}

// Returns the change that brings a row into the part `split`, for a message.
inline std::string split_fix(const ColumnSplitOptions& o) {
  if (o.split_by == "column") return "change '" + o.split.string() + "_values'";
  const std::string fix = split_fix(static_cast<const SplitOptions&>(o));
  return o.split_by == "groups" ? fix + " or 'split_seed'" : fix;
}

// Chooses the part of each row from its cell. Add all rows of the table in order.
class ColumnSplit {
 public:
  // `formats` are those of parse_date. The options must outlive it.
  explicit ColumnSplit(const ColumnSplitOptions& options, Gaps gaps = {}, std::vector<std::string> formats = {})
      : o_(options), gaps_(std::move(gaps)), formats_(std::move(formats)) {
    check_split(o_);
  }

  // Adds the next row. Returns the fault of its cell, as `is "old", ...`; empty: there is none.
  std::string add(std::string_view cell) {
    if (o_.split_by == "stratify") {
      strata_.emplace_back(cell);
      return "";
    }
    if (is_gap(gaps_, cell)) return std::string("is a gap, so the row is in no part; fill it in, or remove the row");
    if (o_.split_by == "groups") {
      parts_.push_back(part_of_group(cell, o_));
      return "";
    }
    return o_.split_by == "time" ? add_time(cell) : add_word(cell);
  }

  // Returns the part of each row.
  std::vector<Part> finish() const {
    if (o_.split_by == "stratify") return split_strata(strata_, o_);
    return o_.split_by == "time" ? split_times(times_, o_) : parts_;
  }

 private:
  // The first row decides if the column has numbers or dates.
  std::string add_time(std::string_view cell) {
    double time = 0;
    const bool is_number = formats_.empty() && read_number(cell, time) == nullptr;
    if (times_.empty()) numbers_ = is_number;
    if (!numbers_) {
      Moment moment;
      if (!parse_date(formats_, cell, moment))
        return fault(cell, !times_.empty()    ? "not a date as in the first row"
                           : formats_.empty() ? "neither a number nor a date of ISO 8601; an entry { type = \"date\", "
                                                "formats = [...] } in 'columns' reads other dates"
                                              : "not a date of the column's 'formats'");
      time = static_cast<double>(24 * moment.days() + moment.hour);
    } else if (!is_number) {
      return fault(cell, "not a number as in the first row");
    }
    times_.push_back(time);
    return "";
  }

  std::string add_word(std::string_view cell) {
    const auto has = [&](const List<Str>& words) { return std::find(words.begin(), words.end(), cell) != words.end(); };
    const int matches = has(o_.train_values) + has(o_.eval_values) + has(o_.test_values);
    if (matches != 1)
      return fault(cell, std::string(matches == 0 ? "in none" : "in more than one") +
                             " of 'train_values', 'eval_values' and 'test_values'; each word belongs into one of them");
    parts_.push_back(has(o_.eval_values) ? Part::kEval : has(o_.test_values) ? Part::kTest : Part::kTrain);
    return "";
  }

  static std::string fault(std::string_view cell, const std::string& why) {
    return "is \"" + std::string(cell.substr(0, 60)) + "\", " + why;
  }

  const ColumnSplitOptions& o_;
  Gaps gaps_;
  std::vector<std::string> formats_;
  std::vector<std::string> strata_;
  std::vector<double> times_;
  std::vector<Part> parts_;
  bool numbers_ = false;  // times_ are numbers, not dates
};

}  // namespace v0
}  // namespace belay
