// SPDX-License-Identifier: Apache-2.0
#include "csv_table.h"

#include <belay/deviation.h>
#include <belay/error.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>

#include "bad_cells.h"

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

// The cells of a row, and where it is.
struct Row {
  const belay::csv::Block& block;
  std::size_t number = 0;  // in the block
  const std::vector<std::string_view>& cells;
  std::string place(std::size_t column) const { return block.place(number, column); }
  std::int64_t in_file() const { return block.first_row() + static_cast<std::int64_t>(number); }
};

// A whole number above 2^24 may have no float32, as ids and times in seconds have. Up to 2^53 a double has it.
bool changes_as_float32(double x) {
  constexpr double kWhole = 1 << 24, kMostWhole = 9007199254740992;
  if (!(std::fabs(x) > kWhole)) return false;
  return std::fabs(x) <= kMostWhole && std::fabs(x - static_cast<double>(static_cast<float>(x))) >= 0.5;
}

// The least row that was noted for each feature, and the number of notes. Several threads note rows.
class FirstRows {
 public:
  explicit FirstRows(std::size_t features) : rows_(features), counts_(features) {
    for (auto& row : rows_) row.store(OddNumbers::kNone, std::memory_order_relaxed);
  }
  void note(std::size_t feature, std::int64_t row) noexcept {
    counts_[feature].fetch_add(1, std::memory_order_relaxed);
    std::int64_t first = rows_[feature].load(std::memory_order_relaxed);
    while (row < first && !rows_[feature].compare_exchange_weak(first, row, std::memory_order_relaxed)) continue;
  }
  std::vector<std::int64_t> take() const { return {rows_.begin(), rows_.end()}; }
  std::vector<std::int64_t> counts() const { return {counts_.begin(), counts_.end()}; }

 private:
  std::vector<std::atomic<std::int64_t>> rows_, counts_;
};

class RowParser {
 public:
  RowParser(const CsvFile& file, const TableColumns& columns)
      : file_(file),
        columns_(columns),
        numbers_(columns.typed.empty() ? columns.features : std::vector<std::size_t>()),
        changed_(columns.features.size()),
        leading_zeros_(columns.features.size()),
        new_words_(columns.features.size()),
        new_gaps_(columns.features.size()) {
    for (const belay::Column& column : columns.typed)
      keeps_number_.push_back(column.type == "number" && column.limits.empty() && column.scale == "none");
    if (columns.label && columns.label_type == LabelType::kFloat) numbers_.push_back(*columns.label);
    if (columns.weight) numbers_.push_back(*columns.weight);
    std::sort(numbers_.begin(), numbers_.end());
  }

  // `notes`: the odd numbers of this row count.
  void parse_features(const Row& row, float* out, bool notes) {
    const Scales& scales = columns_.scales;
    for (std::size_t i = 0; i < columns_.features.size(); ++i) {
      const double x = number(row, columns_.features[i]);
      if (notes) note(row, i, x, scales.means.empty());
      out[i] = static_cast<float>(scales.means.empty() ? x : (x - scales.means[i]) / scales.deviations[i]);
    }
  }

  // The same of typed columns. `ids` gets those of the categories.
  void parse_typed(const Row& row, float* out, std::int64_t* ids, bool notes) {
    thread_local std::vector<double> values;
    for (std::size_t i = 0; i < columns_.typed.size(); ++i) {
      const belay::Column& column = columns_.typed[i];
      values.resize(column.width());
      const std::string_view cell = row.cells[columns_.features[i]];
      const char* fault = column.has_ids() ? column.id_of(cell, *ids++) : column.write(cell, values.data());
      if (fault != nullptr)
        fail(Code::kDataLoss,
             "[B3038] " + row.place(columns_.features[i]) + ": " + wrong_typed(columns_.features[i], cell, fault));
      if (notes && column.type == "number") note(row, i, values[0], keeps_number_[i]);
      if (notes && columns_.notes_new) note_new(row, i, column, cell);
      for (const double value : values) *out++ = static_cast<float>(value);
    }
  }

  double number(const Row& row, std::size_t column) const {
    double value = 0;
    const std::string wrong = parse_number(row.cells, column, value);
    if (!wrong.empty()) fail(Code::kDataLoss, "[B3038] " + row.place(column) + ": " + wrong);
    return value;
  }

  float weight(const Row& row) const { return static_cast<float>(number(row, *columns_.weight)); }

  OddNumbers odd_numbers() const { return {changed_.take(), leading_zeros_.take()}; }
  std::vector<NewCells> new_cells() const {
    if (!columns_.notes_new) return {};
    const auto words = new_words_.counts(), gaps = new_gaps_.counts();
    const auto first_words = new_words_.take(), first_gaps = new_gaps_.take();
    std::vector<NewCells> all;
    for (std::size_t i = 0; i < columns_.typed.size(); ++i)
      all.push_back({words[i], gaps[i], first_words[i], first_gaps[i]});
    return all;
  }

  // Fails with all faults of the file's cells. This is slow.
  void fail_with_all() const {
    Faults faults;
    faults.names_in_first_row = file_.rows() > 1;
    file_.each_block([&](const belay::csv::Block& block) {
      for (std::size_t i = 0; i < block.rows(); ++i) add_faults(block, i, faults);
      return true;
    });
    const BadCells& bad = faults.cells;
    if (faults.rows_of_count.size() == 1 && faults.rows_of_count.begin()->second == file_.rows())
      file_.fail_by_header(faults.rows_of_count.begin()->first);
    const bool all_columns =
        columns_.typed.empty() && std::all_of(numbers_.begin(), numbers_.end(),
                                              [&](std::size_t column) { return bad.count(group_of(column)) != 0; });
    if (bad.any() && faults.names_in_first_row && all_columns) file_.fail_by_first_row();
    bad.fail_if_any(bad.has_many() && !columns_.notes_new ? good_features(bad) : "");
  }

 private:
  // `is_kept`: the feature is x itself, and not a scaled number.
  void note(const Row& row, std::size_t feature, double x, bool is_kept) {
    const std::string_view cell = row.cells[columns_.features[feature]];
    double number = 0;  // a gap has none: x is the column's median
    if (is_kept && changes_as_float32(x) && belay::read_number(cell, number) == nullptr)
      changed_.note(feature, row.in_file());
    if (belay::has_leading_zero(cell)) leading_zeros_.note(feature, row.in_file());
  }

  void note_new(const Row& row, std::size_t feature, const belay::Column& column, std::string_view cell) {
    if (column.is_unknown(cell)) new_words_.note(feature, row.in_file());
    if (belay::is_gap(column.gaps, cell)) new_gaps_.note(feature, row.in_file());
  }

  struct Faults {
    BadCells cells;
    std::map<std::size_t, std::int64_t> rows_of_count;  // the rows with a wrong number of fields, by this number
    bool names_in_first_row = false;                    // its words are the only faults
  };

  void add_faults(const belay::csv::Block& block, std::size_t i, Faults& faults) const {
    belay::csv::Fields record;
    const std::vector<std::string_view>& cells = record.views;
    if (const auto fault = block.take_fields(i, record)) {
      if (fault->fields != 0) ++faults.rows_of_count[fault->fields];
      faults.cells.add("rows", [&] { return *fault; });
      faults.names_in_first_row = false;
      return;
    }
    const bool first = block.first_row() == 0 && i == 0;
    double value = 0;
    for (const std::size_t column : numbers_)
      if (const std::string wrong = parse_number(cells, column, value); !wrong.empty()) {
        faults.cells.add(group_of(column), [&] { return BadCell{"B3038", block.place(i, column), wrong}; });
        faults.names_in_first_row = faults.names_in_first_row && first && is_word(cells[column]);
      }
    for (std::size_t at = 0; at < columns_.typed.size(); ++at) {
      const std::size_t column = columns_.features[at];
      if (const char* fault = typed_fault(columns_.typed[at], cells[column]))
        faults.cells.add(group_of(column), [&] {
          return BadCell{"B3038", block.place(i, column), wrong_typed(column, cells[column], fault)};
        });
    }
  }

  static const char* typed_fault(const belay::Column& column, std::string_view cell) {
    std::vector<double> out(column.width());
    std::int64_t id = 0;
    return column.has_ids() ? column.id_of(cell, id) : column.write(cell, out.data());
  }

  // Returns the fault of the field; empty: there is none.
  std::string parse_number(const std::vector<std::string_view>& fields, std::size_t column, double& value) const {
    const char* fault = belay::read_number(fields[column], value);
    if (fault == nullptr && columns_.weight == column && value < 0) fault = "a weight below 0";
    if (fault == nullptr) return "";
    if (fields[column].starts_with(belay::csv::kByteOrderMark))
      fault = "not a number, since it begins with a byte order mark, as in files that were joined";
    return wrong_field(column, fields[column], fault);
  }

  // Returns the fault, which names the comma or the sign of a cell that is no number because of it.
  static std::string with_mark(std::string_view text, const char* fault) {
    const char* mark = std::string_view(fault) == "not a number" ? belay::mark_in_number(text) : nullptr;
    if (mark == nullptr) return fault;
    const std::string since = std::string("not a number, since it has ") + mark;
    return std::string_view(mark) == "a comma" ? since + ", where a decimal point is needed" : since;
  }

  std::string wrong_typed(std::size_t column, std::string_view text, const char* fault) const {
    std::string formats;
    for (std::size_t i = 0; i < columns_.typed.size(); ++i)
      if (columns_.features[i] == column)
        for (const std::string& format : columns_.typed[i].formats)
          formats += (formats.empty() ? " (\"" : ", \"") + format + "\"";
    return "column \"" + file_.columns()[column] + "\" is " + (text.empty() ? "empty" : shown(text)) + ", " +
           with_mark(text, fault) + formats + (formats.empty() ? "" : ")") + "; repair the row" +
           (columns_.notes_new ? "; the model's training decided the column's type"
                               : ", or change the column's entry in 'columns'");
  }

  std::string wrong_field(std::size_t column, std::string_view text, const char* what) const {
    const std::string is = text.empty() ? "empty, not a number" : shown(text) + ", " + with_mark(text, what);
    const bool is_feature = columns_.label != column && columns_.weight != column;
    const std::string fix =
        !is_feature ? "repair the row"
        : belay::is_gap(columns_.gaps, text)
            ? "repair the row, or train with type = \"number\" for it in 'columns', which fills gaps"
            : "repair the row, or leave the column out of 'features'";
    return "column \"" + file_.columns()[column] + "\" is " + is + "; " + fix;
  }

  static bool is_word(std::string_view text) {
    double value = 0;
    return !text.empty() && belay::parse_number(text, value) == std::errc::invalid_argument;
  }
  static std::string group_of(std::size_t column) { return "column " + std::to_string(column); }

  // Returns "features = ["a", "b"] takes ...", ready to be pasted. Empty: no column is good, or a name does not fit
  // into a string.
  std::string good_features(const BadCells& bad) const {
    std::string names;
    for (const std::size_t column : columns_.features) {
      if (bad.count(group_of(column)) != 0) continue;
      const std::string& name = file_.columns()[column];
      if (name.find_first_of("\"\\\n\r") != std::string::npos) return "";
      names += (names.empty() ? "\"" : ", \"") + name + '"';
    }
    const std::string what = columns_.typed.empty() ? "that hold numbers alone" : "without such cells";
    return names.empty() ? "" : "the columns " + what + ": features = [" + names + "]";
  }

  const CsvFile& file_;
  const TableColumns& columns_;
  std::vector<std::size_t> numbers_;  // the columns that must hold numbers
  std::vector<bool> keeps_number_;    // by typed column: a number that is not scaled
  FirstRows changed_, leading_zeros_, new_words_, new_gaps_;
};

// Returns a table with room for the rows.
Table sized_table(std::size_t rows, const TableColumns& columns) {
  Table table;
  for (const belay::Column& column : columns.typed)
    table.width += column.width(), table.categories += column.has_ids() ? 1 : 0;
  if (columns.typed.empty()) table.width = columns.features.size();
  table.features.resize(rows * table.width);
  table.classes.resize(columns.label && columns.label_type == LabelType::kClass ? rows : 0);
  table.targets.resize(columns.label && columns.label_type == LabelType::kFloat ? rows : 0);
  table.ids.resize(columns.id ? rows : 0);
  table.weights.resize(columns.weight ? rows : 0);
  table.category_ids.resize(rows * table.categories);
  return table;
}

// Parses the file block by block into a table.
class TableReader {
 public:
  TableReader(const CsvFile& file, const TableColumns& columns, const std::vector<std::int64_t>* kept)
      : columns_(columns),
        kept_(kept),
        parser_(file, columns),
        names_{columns.classes, columns.learned, columns.gaps},
        labels_(names_),
        table_(sized_table(kept == nullptr ? static_cast<std::size_t>(file.rows()) : kept->size(), columns)) {}

  // False: a label is no class.
  bool read(const CsvFile& file, belay::DecodePool& pool) {
    bool good = true;
    file.each_block([&](const belay::csv::Block& block) {
      place_rows(block);
      if (has_classes()) texts_.resize(std::max(texts_.size(), block.rows()));
      if (has_targets()) targets_.resize(std::max(targets_.size(), block.rows()));
      pool.for_each_row(static_cast<std::int64_t>(block.rows()), [&](std::int64_t row) { parse(block, row); });
      if (has_targets()) take_targets(block);
      return good = !has_classes() || number(block.rows());
    });
    return good;
  }

  Table take() {
    if (has_classes()) table_.class_names = labels_.class_names();
    if (has_classes() && columns_.classes.empty())
      table_.lone_classes = labels_.lone(), table_.numbered_labels = labels_.numbered();
    table_.odd_numbers = parser_.odd_numbers();
    table_.new_cells = parser_.new_cells();
    return std::move(table_);
  }

  const RowParser& parser() const { return parser_; }
  const LabelNames& names() const { return names_; }

 private:
  bool has_classes() const { return columns_.label && columns_.label_type == LabelType::kClass; }
  bool has_targets() const { return columns_.label && columns_.label_type == LabelType::kFloat; }

  // Finds the places of the block's rows in the table; -1: it is not kept.
  void place_rows(const belay::csv::Block& block) {
    places_.assign(block.rows(), -1);
    if (kept_ == nullptr) {
      std::iota(places_.begin(), places_.end(), block.first_row());
      return;
    }
    const auto end = block.first_row() + static_cast<std::int64_t>(block.rows());
    for (; next_ < kept_->size() && (*kept_)[next_] < end; ++next_)
      places_[static_cast<std::size_t>((*kept_)[next_] - block.first_row())] = static_cast<std::int64_t>(next_);
  }

  // Called by several threads. A row that is not kept is parsed for its faults.
  void parse(const belay::csv::Block& block, std::int64_t number) {
    thread_local belay::csv::Fields record;
    thread_local Table scratch;
    const auto i = static_cast<std::size_t>(number);
    block.fields(i, record);
    const Row row{block, i, record.views};
    const bool keeps = places_[i] >= 0;
    const auto r = static_cast<std::size_t>(keeps ? places_[i] : 0);
    if (!keeps) scratch.features.resize(table_.width), scratch.category_ids.resize(table_.categories);
    Table& to = keeps ? table_ : scratch;
    float* out = to.features.data() + r * table_.width;
    if (columns_.typed.empty())
      parser_.parse_features(row, out, keeps);
    else
      parser_.parse_typed(row, out, to.category_ids.data() + r * table_.categories, keeps);
    if (has_targets()) targets_[i] = parser_.number(row, *columns_.label);
    const float weight = columns_.weight ? parser_.weight(row) : 0;
    if (has_classes()) texts_[i] = row.cells[*columns_.label];
    if (!keeps) return;
    if (columns_.weight) table_.weights[r] = weight;
    if (columns_.id) table_.ids[r] = row.cells[*columns_.id];
  }

  // Keeps the block's labels as float32.
  void take_targets(const belay::csv::Block& block) {
    for (std::size_t i = 0; i < block.rows(); ++i) {
      if (places_[i] < 0) continue;
      const double target = targets_[i];
      const float kept = table_.targets[static_cast<std::size_t>(places_[i])] = static_cast<float>(target);
      if (!changes_as_float32(target)) continue;
      const std::int64_t row = block.first_row() + static_cast<std::int64_t>(i);
      if (table_.changed_labels++ == 0) table_.changed_label = {row, target, static_cast<double>(kept)};
    }
  }

  bool number(std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      const auto number = labels_.number(texts_[i]);
      if (!number) return false;
      if (places_[i] >= 0) table_.classes[static_cast<std::size_t>(places_[i])] = *number;
    }
    return true;
  }

  const TableColumns& columns_;
  const std::vector<std::int64_t>* kept_;
  RowParser parser_;
  LabelNames names_;
  Labels labels_;
  Table table_;
  std::size_t next_ = 0;              // of kept_
  std::vector<std::int64_t> places_;  // of the block's rows
  std::vector<std::string> texts_;    // the labels of the block's rows
  std::vector<double> targets_;       // the same for numbers
};

}  // namespace

Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool,
                  const std::vector<std::int64_t>* kept, bool all_faults) {
  TableReader reader(file, columns, kept);
  try {
    if (reader.read(file, pool)) return reader.take();
  } catch (const belay::Error& e) {
    if (e.code() == Code::kDataLoss && all_faults) reader.parser().fail_with_all();
    throw;
  }
  if (all_faults) reader.parser().fail_with_all();
  fail_by_labels(file, *columns.label, reader.names());
  fail(Code::kDataLoss, "[B3028] path: a file has changed while it was read; begin again after it is complete");
}

Scales measure(const CsvFile& file, const std::vector<std::size_t>& features, const std::vector<std::int64_t>& rows) {
  const TableColumns columns{features, std::nullopt};
  const RowParser parser(file, columns);
  const auto each_value = [&](const auto& f) {
    file.each_row(rows, [&](const belay::csv::Block& block, std::size_t number, const belay::csv::Fields& cells) {
      const Row row{block, number, cells.views};
      for (std::size_t i = 0; i < features.size(); ++i) f(i, parser.number(row, features[i]));
    });
  };
  const auto n = static_cast<double>(rows.size());
  std::vector<double> sums(features.size()), squares(features.size());
  each_value([&](std::size_t i, double x) { sums[i] += x; });
  for (double& sum : sums) sum /= n;
  each_value([&](std::size_t i, double x) { squares[i] += (x - sums[i]) * (x - sums[i]); });
  for (std::size_t i = 0; i < squares.size(); ++i) squares[i] = belay::deviation_or_1(squares[i], n, sums[i]);
  return {std::move(sums), std::move(squares)};
}

}  // namespace csv_input
