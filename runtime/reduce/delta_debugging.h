// SPDX-License-Identifier: Apache-2.0
// Finds elements of a list that something needs to happen: a part of the list from which no element can be left out.
//
//   const std::vector<Hook> needed = needed_elements<Hook>(hooks, [&](const auto& kept) { return fails_with(kept); });
//
// It is the algorithm ddmin of A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
// Transactions on Software Engineering 28(2), 2002. It leaves out chunks of the list, large ones first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace belay::runtime {

// `happens` is true for the whole list, and is not called for it. The order stays.
template <class T>
std::vector<T> needed_elements(std::vector<T> all, const std::function<bool(const std::vector<T>&)>& happens) {
  if (all.empty() || happens({})) return {};
  std::size_t chunks = 2;
  while (all.size() > 1) {
    chunks = std::min(chunks, all.size());
    bool smaller = false;
    for (std::size_t c = 0; c < chunks && !smaller; ++c) {
      const auto begin = static_cast<std::ptrdiff_t>(c * all.size() / chunks);
      const auto end = static_cast<std::ptrdiff_t>((c + 1) * all.size() / chunks);
      std::vector<T> rest(all.begin(), all.begin() + begin);
      rest.insert(rest.end(), all.begin() + end, all.end());
      if (rest.empty() || !happens(rest)) continue;
      all = std::move(rest);
      chunks = std::max<std::size_t>(chunks - 1, 2);
      smaller = true;
    }
    if (smaller) continue;
    if (chunks == all.size()) break;
    chunks *= 2;
  }
  return all;
}

}  // namespace belay::runtime
