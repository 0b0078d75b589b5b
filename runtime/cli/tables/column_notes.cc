// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/column_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "belay/detail/parse_options.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kFewRows = 20;  // fewer rows are not enough to judge a column
constexpr std::size_t kShownWords = 10, kShownCell = 40;

std::string shown_cell(std::string_view cell) {
  return double_quoted(std::string(cell.substr(0, kShownCell)) + (cell.size() > kShownCell ? "..." : ""));
}

std::string rows_text(std::int64_t rows) { return count_text(static_cast<std::uint64_t>(rows), "row"); }

// A cell in lower case, with one blank between words and none around them.
std::string plain_spelling(std::string_view cell) {
  std::string plain;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    const bool inside = i != 0 && i + 1 != cell.size();  // "A-" is no "A"
    const bool blank = c == ' ' || c == '\t' || (inside && (c == '_' || c == '-'));
    if (blank && (plain.empty() || plain.back() == ' ')) continue;
    plain += blank ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

// Returns true for "20150106": a number here, and more often a date of 1900 to 2099 than a count.
bool is_compact_date(std::string_view cell) {
  constexpr std::size_t kDigits = 8;
  Moment moment;
  const std::string_view century = cell.substr(0, 2);
  return cell.size() == kDigits && (century == "19" || century == "20") && parse_date({"%Y%m%d"}, cell, moment);
}

// Returns true for words that often mean a missing value.
bool may_be_gap(std::string_view cell) {
  const std::string plain = plain_spelling(cell);
  for (const char* word :
       {"", ".", "na", "n/a", "#n/a", "#na", "nan", "none", "null", "nil", "missing", "unknown", "?"})
    if (plain == word) return true;
  return false;
}

}  // namespace

void ColumnNotes::add(std::string_view cell, std::string_view label, const csv::Block& block, std::size_t row,
                      std::size_t column) {
  ++rows_;
  guess_.add(cell);
  if (is_gap(gaps_, cell)) {
    missing_.add(cell, block, row, column);
    return;
  }
  values_.add(cell, block, row, column);
  double number = 0;
  Moment moment;
  const bool is_number = read_number(cell, number) == nullptr;
  if (is_number) {
    add_number(number, cell);
    if (has_leading_zero(cell)) leading_zeros_.add(cell, block, row, column);
  } else if (parse_date({}, cell, moment)) {
    ++iso_dates_;
    first_date_ = std::min(first_date_, moment), last_date_ = std::max(last_date_, moment);
  } else {
    add_word(cell, block, row, column);
  }
  count(cell, label, is_number);
}

void ColumnNotes::count(std::string_view cell, std::string_view label, bool is_number) {
  auto& counts = is_number ? number_counts_ : word_counts_;
  auto known = counts.find(cell);
  if (known == counts.end() && counts.size() < kCounted) known = counts.emplace(cell, 0).first;
  if (known != counts.end()) ++known->second;
  equal_ += cell == label ? 1 : 0;
  if (!decides_ || label.empty() || known == counts.end()) return;
  const auto [first, added] = labels_.emplace(known->first, label);
  decides_ = added || first->second == label;
}

void ColumnNotes::add_number(double value, std::string_view cell) {
  ++numbers_;
  compact_dates_ += is_compact_date(cell) ? 1 : 0;
  least_ = std::min(least_, value), largest_ = std::max(largest_, value);
  whole_ = whole_ && value >= 0 && value == std::floor(value) && cell.find_first_not_of("0123456789.") == cell.npos;
  ascends_ = ascends_ && value > last_;
  last_ = value;
}

void ColumnNotes::add_word(std::string_view cell, const csv::Block& block, std::size_t row, std::size_t column) {
  words_.add(cell, block, row, column);
  misread_.add(cell, [&] { return block.place(row, column); });
  if (csv::first_not_utf8(cell) != cell.npos) not_utf8_.add(cell, block, row, column);
  each_other_date(cell, [&](std::size_t i) { ++formats_[i]; });
}

ColumnNotes::Counts ColumnNotes::by_frequency() const {
  Counts all(number_counts_.begin(), number_counts_.end());
  all.insert(all.end(), word_counts_.begin(), word_counts_.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

ColumnProfile ColumnNotes::finish(const std::string& label) const {
  ColumnProfile column;
  column.name = name_, column.type = guess_.type();
  column.rows = rows_, column.gaps = missing_.rows;
  column.different = static_cast<std::int64_t>(different()), column.many = is_full();
  column.whole = whole_ && numbers_ == rows_ - missing_.rows;
  column.words = by_frequency();
  note_dates(column);
  note_values(column);
  note_misread(column);
  note_leading_zeros(column, label == name_);
  note_unused(column);
  note_characters(column);
  note_words(column);
  note_spellings(column);
  if (!label.empty() && label != name_) note_label(column, label);
  if (label == name_ && missing_.rows != 0)
    column.odd.push_back("it is the label, and " + rows_text(missing_.rows) + (missing_.rows == 1 ? " has" : " have") +
                         " none, such as " + missing_.place + "; a training refuses these rows: repair or remove them");
  constexpr std::int64_t kFewOfAWord = 5;
  for (auto word = column.words.rbegin(); word != column.words.rend() && word->second < kFewOfAWord; ++word)
    if (column.rare.size() < 5 && !column.many) column.rare.push_back(*word);
  column.words.resize(std::min(column.words.size(), kShownWords));
  column.values = values(column);
  return column;
}

std::string ColumnNotes::values(const ColumnProfile& column) const {
  if (column.type == "number")
    return belay::detail::number_text(least_) + " to " + belay::detail::number_text(largest_);
  if (column.type == "date" && iso_dates_ > 0)
    return first_date_.text().substr(0, 10) + " to " + last_date_.text().substr(0, 10);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(column.words.size(), 4); ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", shown_cell(column.words[i].first), column.words[i].second);
  return text;
}

void ColumnNotes::note_values(ColumnProfile& column) const {
  const std::int64_t cells = rows_ - missing_.rows;
  if (cells == 0) column.odd.emplace_back("all cells are gaps, so it is not used");
  if (cells > 0 && missing_.rows * 10 > rows_ * 9)
    column.odd.push_back("only " + rows_text(cells) + (cells == 1 ? " has no gap" : " have no gap"));
  column.constant = different() == 1 && missing_.rows == 0 && rows_ > 1;
  if (column.constant) column.odd.push_back("it is constant: each cell is " + shown_cell(values_.first));
  const bool numbered = column.whole && ascends_ && largest_ - least_ < 2.0 * static_cast<double>(cells);
  column.id = column.type != "date" && cells >= kFewRows && (column.different == cells || column.many) &&
              (numbered || (words_.rows == cells && column.type == "ignore"));
  if (column.id)
    column.odd.push_back("it is like an id: each row has another cell, such as " + shown_cell(values_.first) + " (" +
                         values_.place + "); type = \"id\" or \"ignore\" keeps it from the model");
}

void ColumnNotes::note_misread(ColumnProfile& column) const {
  column.misread = misread_.numbers_text(rows_ - missing_.rows);
  if (column.type == "number") column.misread = misread_.some_numbers_text();
  if (!column.misread.empty()) column.odd.push_back(column.misread);
}

void ColumnNotes::note_leading_zeros(ColumnProfile& column, bool is_label) const {
  if (is_label) {
    if (column.type != "number" || column.many) return;
    for (const auto& [cell, rows] : column.words)
      if (column.leading_zero.empty() && cell.size() > 1 && cell[0] == '0' && cell[1] != '.')
        column.leading_zero = cell;
    if (!column.leading_zero.empty())
      column.odd.push_back("it has leading zeros, as in " + shown_cell(column.leading_zero) +
                           ", which the number of a class loses; 'classes' with the labels keeps them");
    return;
  }
  if (column.type != "number" || column.id || leading_zeros_.rows == 0) return;
  column.leading_zero = leading_zeros_.first;
  column.odd.push_back(rows_text(leading_zeros_.rows) + (leading_zeros_.rows == 1 ? " has" : " have") +
                       " leading zeros, such as " + shown_cell(leading_zeros_.first) + " (" + leading_zeros_.place +
                       "), which a number loses; type = \"category\" keeps codes as they are");
}

void ColumnNotes::note_unused(ColumnProfile& column) const {
  if (column.type != "ignore" || column.id || missing_.rows == rows_) return;
  column.odd.push_back("it is not used, since most rows have another cell, such as " + shown_cell(values_.first) +
                       " (" + values_.place + "); type = \"category\" or \"text\" in 'columns' uses it");
}

void ColumnNotes::note_characters(ColumnProfile& column) const {
  const std::string fix = "; convert the file: iconv -f LATIN1 -t UTF-8 FILE > NEW";
  if (csv::first_not_utf8(name_) != std::string::npos) column.odd.push_back("its name is no UTF-8" + fix);
  if (not_utf8_.rows != 0)
    column.odd.push_back(rows_text(not_utf8_.rows) + (not_utf8_.rows == 1 ? " is" : " are") + " no UTF-8, such as " +
                         shown_cell(not_utf8_.first) + " (" + not_utf8_.place + ")" + fix);
}

// Finds dates that are not of ISO 8601.
void ColumnNotes::note_dates(ColumnProfile& column) const {
  if (compact_dates_ >= kFewRows && compact_dates_ == rows_ - missing_.rows) {
    column.type = "date", column.formats = {"%Y%m%d"};
    column.odd.push_back("its numbers are dates such as " + values_.first + " (" + values_.place +
                         "); type = \"date\" with formats = [\"%Y%m%d\"] reads them");
    return;
  }
  std::int64_t most = 0;
  std::string format;
  for (const auto& [i, rows] : formats_)
    if (rows > most) most = rows, format = other_dates()[i];
  for (const auto& [i, rows] : formats_)
    if (rows == most && other_dates()[i] != format) column.other_formats.push_back(other_dates()[i]);
  if (most == 0 || 2 * (most + iso_dates_) < rows_ - missing_.rows) return;
  column.type = "date";
  column.formats = {format};
  if (iso_dates_ > 0) column.formats.emplace_back("%Y-%m-%d");
  std::string list, others;
  for (const std::string& one : column.formats) list += (list.empty() ? "" : ", ") + double_quoted(one);
  for (const std::string& one : column.other_formats)
    others += ", and so does " + double_quoted(one) + ", as another day";
  column.odd.push_back(
      (iso_dates_ > 0 ? "it has dates of ISO 8601 and dates such as " : "its cells are dates such as ") +
      shown_cell(words_.first) + " (" + words_.place + "); type = \"date\" with formats = [" + list + "] reads them" +
      others);
}

void ColumnNotes::note_words(ColumnProfile& column) const {
  constexpr std::size_t kMost = 20;
  std::int64_t strange = 0;
  double number = 0;
  Moment moment;
  for (const auto& [word, rows] : column.words) {
    const bool fits = column.type == "number" ? read_number(word, number) == nullptr
                                              : column.type != "date" || parse_date(column.formats, word, moment);
    if (!fits && column.type == "number" && mark_in_number(word) != nullptr) continue;
    if (!fits) strange += rows;
    if (!fits && column.strangers.size() == kMost) column.more_strangers = true;
    if (!fits && column.strangers.size() < kMost) column.strangers.push_back(word);
    if (fits && may_be_gap(word) && column.type != "number")
      column.odd.push_back(shown_cell(word) + " in " + rows_text(rows) +
                           " may mean a gap; add it to 'gaps' if it does");
  }
  if (strange == 0) return;
  column.odd.push_back(rows_text(strange) + (strange == 1 ? " has no " : " have no ") + column.type + ", such as " +
                       shown_cell(column.strangers[0]) +
                       (words_.first == column.strangers[0] ? " (" + words_.place + ")" : "") +
                       "; repair the cell, or add the word to 'gaps'");
}

void ColumnNotes::note_spellings(ColumnProfile& column) const {
  if (column.type != "category" || column.many) return;
  std::map<std::string, Counts> groups;
  for (const auto& entry : column.words) groups[plain_spelling(entry.first)].push_back(entry);
  std::size_t shown = 0;
  for (const auto& [plain, group] : groups) {
    if (group.size() < 2 || shown++ == 3) continue;
    std::string text;
    for (const auto& [word, rows] : group)
      text += (text.empty() ? "" : " and ") + shown_cell(word) + " (" + rows_text(rows) + ")";
    column.odd.push_back(fmt::format("one word is spelt in {} ways: {}", group.size(), text));
  }
}

void ColumnNotes::note_label(ColumnProfile& column, const std::string& label) const {
  const std::int64_t cells = rows_ - missing_.rows;
  if (cells < kFewRows || different() < 2) return;
  if (equal_ == cells)
    column.odd.push_back("it is equal to the label \"" + label + "\"; leave it out, or the model only copies it");
  else if (decides_ && !column.many && 2 * column.different <= cells && !labels_.empty())
    column.odd.push_back("each of its values has one value of the label \"" + label +
                         "\"; if it is known only after the label, leave it out");
}

}  // namespace belay::runtime
