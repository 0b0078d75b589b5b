// SPDX-License-Identifier: Apache-2.0
// Facts about a label that an input measures on the training's examples and a model uses: how often each class occurs,
// or mean and deviation of numbers. Call one of these functions in Input::spec for each label.
//
//   keep_class_counts(spec, "label", counts_of_classes(classes, rows, names.size()));
//   keep_moments(spec, "label", moments_of(targets, rows));
//
// The host keeps the facts with the model, and every mode of the model gets them as DeclaredLabel::class_counts, mean
// and deviation. An input of a trained model keeps the training's facts and measures nothing.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "belay/input.h"

namespace belay {
inline namespace v0 {

// Mean and standard deviation of numbers, divided by their number.
struct LabelMoments {
  double mean = 0, deviation = 0;
};

// Returns the number of each class among `rows`. Labels outside [0, n) are not counted.
inline std::vector<double> counts_of_classes(const std::vector<std::int64_t>& labels,
                                             const std::vector<std::int64_t>& rows, std::size_t n) {
  std::vector<double> counts(n);
  for (const std::int64_t row : rows) {
    const std::int64_t label = labels[static_cast<std::size_t>(row)];
    if (label >= 0 && static_cast<std::size_t>(label) < n) counts[static_cast<std::size_t>(label)] += 1;
  }
  return counts;
}

// Returns the moments of the labels of `rows`. The deviation of equal numbers is 1, so that a division keeps them.
inline LabelMoments moments_of(const std::vector<float>& labels, const std::vector<std::int64_t>& rows) {
  LabelMoments m;
  const auto n = static_cast<double>(rows.size());
  for (const std::int64_t row : rows) m.mean += static_cast<double>(labels[static_cast<std::size_t>(row)]) / n;
  double squares = 0;
  for (const std::int64_t row : rows) {
    const double d = static_cast<double>(labels[static_cast<std::size_t>(row)]) - m.mean;
    squares += d * d;
  }
  m.deviation = squares > 0 ? std::sqrt(squares / n) : 1;
  return m;
}

// Keeps the counts as "LABEL.counts".
inline void keep_class_counts(InputSpec& spec, const std::string& label, const std::vector<double>& counts) {
  const std::string name = label + ".counts";
  if (const auto trained = spec.learned_values(name))
    spec.keep(name, *trained);
  else if (!spec.has_learned() && !counts.empty())
    spec.keep(name, counts);
}

// Keeps the moments as "LABEL.mean" and "LABEL.deviation".
inline void keep_moments(InputSpec& spec, const std::string& label, const LabelMoments& moments) {
  const std::string mean = label + ".mean", deviation = label + ".deviation";
  const auto trained_mean = spec.learned_values(mean), trained_deviation = spec.learned_values(deviation);
  if (trained_mean && trained_deviation)
    spec.keep(mean, *trained_mean), spec.keep(deviation, *trained_deviation);
  else if (!spec.has_learned() && moments.deviation > 0)
    spec.keep(mean, std::vector<double>{moments.mean}), spec.keep(deviation, std::vector<double>{moments.deviation});
}

}  // namespace v0
}  // namespace belay
