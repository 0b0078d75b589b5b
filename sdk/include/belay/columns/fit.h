// SPDX-License-Identifier: Apache-2.0
// Fits a column on the cells of the training's rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/columns/cells.h"
#include "belay/columns/column.h"
#include "belay/columns/options.h"
#include "belay/deviation.h"

namespace belay {
inline namespace v0 {

// Fits one column of type number, category, date or text. Give it each cell of the training's rows, then call finish.
// Cells that are wrong are passed over: write reports them.
class ColumnFit {
 public:
  // `gaps` are those of columns without their own gaps.
  ColumnFit(ColumnOptions options, Gaps gaps)
      : o_(std::move(options)), gaps_(o_.gaps.empty() ? std::move(gaps) : o_.gaps) {
    if (o_.type == "date" && o_.parts.empty()) o_.parts = {"year", "month", "weekday", "days"};
  }

  // True if each cell so far is a gap, so that there is nothing to fit.
  bool only_gaps() const { return gap_count_ == rows_; }

  void add(std::string_view cell) {
    ++rows_;
    if (is_gap(gaps_, cell)) {
      ++gap_count_;
    } else if (o_.type == "number") {
      double x = 0;
      if (read_number(cell, x) == nullptr) numbers_.push_back(x);
    } else if (o_.type == "date") {
      Moment m;
      if (parse_date(o_.formats, cell, m)) moments_.push_back(m);
    } else if (o_.type == "category" && o_.hash_buckets == 0) {
      count(std::string(cell));
    } else if (o_.type == "text") {
      std::set<std::string> words;
      detail::each_word(cell, [&](const std::string& word) { words.insert(word); });
      for (const std::string& word : words) count(word);
    }
  }

  Column finish() {
    Column c;
    c.name = o_.name, c.type = o_.type, c.gaps = gaps_, c.has_own_gaps = !o_.gaps.empty();
    c.missing = !o_.missing.empty() ? o_.missing : o_.type == "category" ? "own" : o_.type == "text" ? "" : "median";
    if (o_.type == "number") fit_number(c);
    if (o_.type == "date") fit_date(c);
    if (o_.type == "category" || o_.type == "text") fit_words(c);
    c.prepare();
    return c;
  }

 private:
  void count(const std::string& word) { ++counts_[word]; }

  // Returns the value at `share` of the sorted numbers, between two of them by their distance, as numpy's quantile.
  static double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (place - static_cast<double>(low));
  }

  // Measures offset and divisor of the values, of which `fills` more are `fill`.
  void measure(const std::vector<double>& values, double fill, std::int64_t fills, Column& c) const {
    const auto n = static_cast<double>(values.size()) + static_cast<double>(fills), filled = static_cast<double>(fills);
    double offset = 0, divisor = 1;
    if (n > 0 && c.scale == "standard") {
      double sum = filled * fill, squares = 0;
      for (const double v : values) sum += v;
      offset = sum / n;
      for (const double v : values) squares += (v - offset) * (v - offset);
      squares += filled * (fill - offset) * (fill - offset);
      divisor = deviation_or_1(squares, n, offset);
    } else if (n > 0 && c.scale == "minmax") {
      double low = values.empty() ? fill : values[0], high = low;
      for (const double v : values) low = std::min(low, v), high = std::max(high, v);
      if (fills > 0) low = std::min(low, fill), high = std::max(high, fill);
      offset = low, divisor = high > low ? high - low : 1;
    }
    c.offset.push_back(offset), c.divisor.push_back(divisor);
  }

  void fit_number(Column& c) {
    std::vector<double> sorted = numbers_;
    std::sort(sorted.begin(), sorted.end());
    double fill = o_.fill;
    if (c.missing == "median" && !sorted.empty()) {
      const std::size_t middle = sorted.size() / 2;
      fill = sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    } else if (c.missing == "mean" && !sorted.empty()) {
      double sum = 0;
      for (const double v : numbers_) sum += v;
      fill = sum / static_cast<double>(numbers_.size());
    }
    c.scale = o_.scale.empty() ? "none" : o_.scale;
    if (c.missing != "error") c.fill = {fill};
    c.indicator = o_.indicator;
    c.limits = o_.buckets;
    for (std::int64_t i = 1; i < o_.bucket_count && !sorted.empty(); ++i) {
      const double limit = quantile(sorted, static_cast<double>(i) / static_cast<double>(o_.bucket_count));
      if (c.limits.empty() || limit > c.limits.back()) c.limits.push_back(limit);
    }
    if (c.scale == "standard" || c.scale == "minmax") measure(numbers_, fill, c.fill.empty() ? 0 : gap_count_, c);
  }

  void fit_date(Column& c) {
    c.formats = o_.formats, c.parts = o_.parts, c.indicator = o_.indicator;
    c.scale = o_.scale.empty() ? "standard" : o_.scale;
    c.cycles = o_.cycles.empty() ? "sine" : o_.cycles;
    std::vector<Moment> sorted = moments_;
    std::sort(sorted.begin(), sorted.end());
    if (!sorted.empty()) c.moment = sorted[(sorted.size() - 1) / 2];
    for (const std::string& part : c.parts) {
      std::vector<double> values;
      if (detail::period_of(part) != 0) {
        c.offset.push_back(0), c.divisor.push_back(1);
        continue;
      }
      for (const Moment& m : moments_) values.push_back(static_cast<double>(detail::part_of(m, part)));
      measure(values, static_cast<double>(detail::part_of(c.moment, part)), c.missing == "error" ? 0 : gap_count_, c);
    }
  }

  void fit_words(Column& c) {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const auto& [word, n] : counts_)
      if (n >= o_.min_count) all.emplace_back(-n, word);
    std::sort(all.begin(), all.end());
    const std::int64_t most = o_.max_size != 0 ? o_.max_size : o_.type == "text" ? kTextWords : 0;
    if (most != 0 && all.size() > static_cast<std::size_t>(most)) all.resize(static_cast<std::size_t>(most));
    for (const auto& entry : all) c.words.push_back(entry.second);
    if (o_.hash_buckets != 0) c.hash_buckets = {static_cast<double>(o_.hash_buckets)};
    if (o_.type != "category") return;
    c.has_unknown = all.size() < counts_.size();
    c.has_gaps = gap_count_ != 0;
    c.deliver = o_.deliver.empty() ? "one_hot" : o_.deliver;
  }

  static constexpr std::int64_t kTextWords = 1000;  // of a text without max_size
  ColumnOptions o_;
  Gaps gaps_;
  std::int64_t rows_ = 0, gap_count_ = 0;
  std::vector<double> numbers_;
  std::vector<Moment> moments_;
  std::map<std::string, std::int64_t> counts_;  // rows of each word
};

}  // namespace v0
}  // namespace belay
