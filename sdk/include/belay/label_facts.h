// SPDX-License-Identifier: Apache-2.0
// Facts about a label that an input measures on the training's examples: how often each class occurs, or mean and
// deviation of numbers, for a model; the range of whole numbers, for the host. Call one of these functions in
// Input::spec for each label.
//
//   keep_class_counts(spec, "label", counts_of_classes(classes, rows, names.size()));
//   keep_moments(spec, "label", moments_of(targets, rows));
//   keep_label_range(spec, "label", range);                   if the number of classes is not known
//
// The host keeps the facts with the model, and every mode of the model gets them in its DeclaredLabel. An input of a
// trained model keeps the training's facts and measures nothing.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "belay/deviation.h"
#include "belay/input.h"

namespace belay {
inline namespace v0 {

// Returns the number of each class among `rows`. Labels outside [0, n) are not counted. Empty: there are no labels.
inline std::vector<double> counts_of_classes(const std::vector<std::int64_t>& labels,
                                             const std::vector<std::int64_t>& rows, std::size_t n) {
  if (labels.empty()) return {};
  std::vector<double> counts(n);
  for (const std::int64_t row : rows) {
    const std::int64_t label = labels[static_cast<std::size_t>(row)];
    if (label >= 0 && static_cast<std::size_t>(label) < n) counts[static_cast<std::size_t>(label)] += 1;
  }
  return counts;
}

namespace detail {
// Appends mean and standard deviation (belay/deviation.h) of f(label).
template <class F>
void add_moments(const std::vector<float>& labels, const std::vector<std::int64_t>& rows, const F& f,
                 std::vector<double>& moments) {
  const auto n = static_cast<double>(rows.size());
  const auto value = [&](std::int64_t row) { return f(static_cast<double>(labels[static_cast<std::size_t>(row)])); };
  double sum = 0, squares = 0;
  for (const std::int64_t row : rows) sum += value(row);
  const double mean = sum / n;
  for (const std::int64_t row : rows) squares += (value(row) - mean) * (value(row) - mean);
  moments.push_back(mean);
  moments.push_back(deviation_or_1(squares, n, mean));
}
}  // namespace detail

// Returns mean and deviation of the labels y of `rows`, then those of sign(y) ln(1 + |y|). Empty: there are no rows.
inline std::vector<double> moments_of(const std::vector<float>& labels, const std::vector<std::int64_t>& rows) {
  std::vector<double> moments;
  if (labels.empty() || rows.empty()) return moments;
  detail::add_moments(
      labels, rows, [](double y) { return y; }, moments);
  detail::add_moments(
      labels, rows, [](double y) { return std::copysign(std::log1p(std::fabs(y)), y); }, moments);
  return moments;
}

// The least and the largest of whole numbers, each with its first row.
class LabelRange {
 public:
  void add(std::int64_t label, std::int64_t row) {
    const auto number = static_cast<double>(label), at = static_cast<double>(row);
    if (values_.empty()) values_ = {number, at, number, at};
    if (number < values_[0]) values_[0] = number, values_[1] = at;
    if (number > values_[2]) values_[2] = number, values_[3] = at;
  }
  // Returns least, its row, largest, its row. Empty: there are no labels.
  const std::vector<double>& values() const noexcept { return values_; }

 private:
  std::vector<double> values_;
};

// Keeps what the training measured: the training's own values if there is one, else `measured` unless it is empty.
inline void keep_label_fact(InputSpec& spec, const std::string& name, const std::vector<double>& measured) {
  if (const auto trained = spec.learned_values(name))
    spec.keep(name, *trained);
  else if (!spec.has_learned() && !measured.empty())
    spec.keep(name, measured);
}
// Keep the facts of a label as "LABEL.counts", "LABEL.moments" and "LABEL.range". Before the first step the host
// refuses a model that has no class for a label of the range.
inline void keep_class_counts(InputSpec& spec, const std::string& label, const std::vector<double>& counts) {
  keep_label_fact(spec, label + ".counts", counts);
}
inline void keep_moments(InputSpec& spec, const std::string& label, const std::vector<double>& moments) {
  keep_label_fact(spec, label + ".moments", moments);
}
inline void keep_label_range(InputSpec& spec, const std::string& label, const LabelRange& range) {
  keep_label_fact(spec, label + ".range", range.values());
}

}  // namespace v0
}  // namespace belay
