// SPDX-License-Identifier: Apache-2.0
#include "csv_balance.h"

#include <belay/tensor_text.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace csv_input {
namespace {

std::string percent_text(std::int64_t part, std::size_t whole) {
  return belay::rounded_text(100 * static_cast<double>(part) / static_cast<double>(whole), 3) + " %";
}

}  // namespace

std::string balance_text(const std::vector<std::int64_t>& labels, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  std::vector<std::int64_t> count(names.size());
  for (const std::int64_t label : labels)
    if (label >= 0 && static_cast<std::size_t>(label) < count.size()) ++count[static_cast<std::size_t>(label)];
  if (labels.empty() || count.size() < 2) return "";
  const auto least = static_cast<double>(*std::min_element(count.begin(), count.end()));
  if (2 * least * static_cast<double>(count.size()) >= static_cast<double>(labels.size())) return "";
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
  std::string text = "label: ";
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_shown = order.size() <= kShown || i + 1 < kShown || i + 1 == order.size();
    if (is_shown)
      text += (i == 0 ? "" : ", ") + percent_text(count[order[i]], labels.size()) + " \"" + names[order[i]] + "\"";
    else if (i + 1 == kShown)
      text += ", ...";
  }
  return text + " of " + std::to_string(labels.size()) + " rows";
}

}  // namespace csv_input
