// SPDX-License-Identifier: Apache-2.0
// Which examples of a data set an input uses: the options `split`, `eval_fraction` and `split_seed`.
//
//   rows_ = split_examples(rows, options.split, options.eval_fraction, options.split_seed);
//   order_ = ExampleOrder({static_cast<std::int64_t>(rows_.size()), batch_size, shuffle, epochs}, args);
//   ... rows_[order_.batch()[i]] is a row of the file
//
// "eval" gets `eval_fraction` of the examples, rounded; "train" the others; "all" every one. Seed and fraction alone
// choose them, so that two inputs with the same ones get parts that are disjoint and complete.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "belay/permutation.h"

namespace belay {
inline namespace v0 {

// The numbers of the examples in [0, examples), ascending; empty where a part gets none. `split` is "all", "train" or
// "eval" (another string counts as "train"; the option has choices), eval_fraction in [0, 1]. Adding an example changes
// the whole choice. O(examples) in time and memory.
inline std::vector<std::int64_t> split_examples(std::int64_t examples, std::string_view split, double eval_fraction,
                                                std::int64_t seed) {
  std::vector<std::int64_t> chosen;
  if (split == "all") {
    for (std::int64_t i = 0; i < examples; ++i) chosen.push_back(i);
    return chosen;
  }
  const auto eval = static_cast<std::int64_t>(std::llround(eval_fraction * static_cast<double>(examples)));
  Permutation order(static_cast<std::uint64_t>(seed), examples);
  order.use_epoch(0);
  const bool wants_eval = split == "eval";
  for (std::int64_t i = wants_eval ? 0 : eval; i < (wants_eval ? eval : examples); ++i) chosen.push_back(order[i]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace v0
}  // namespace belay
