// SPDX-License-Identifier: Apache-2.0
// The part of a data set that an input uses: the options `split`, `eval_fraction` and `split_seed`.
//
//   struct Options : belay::SplitOptions, belay::BatchOptions { ... };
//   static constexpr auto about = belay::about(..., belay::split_options<Options>(), belay::batch_options<Options>());
//   ...
//   rows_ = split_examples(rows, options_);
//   order_ = ExampleOrder(static_cast<std::int64_t>(rows_.size()), options_, args);
//   ... rows_[order_.batch()[i]] is a row of the file
//
// "eval" gets `eval_fraction` of the examples, rounded; "train" gets the others; "all" gets every one. Only seed and
// fraction decide. So two inputs with the same values get parts that are disjoint and complete.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "belay/options.h"
#include "belay/permutation.h"

namespace belay {
inline namespace v0 {

// The options of an input that trains on one part of its data and evaluates on the other. Its Options derive from it,
// and its `about` names them with split_options.
struct SplitOptions {
  Str split = "all";
  double eval_fraction = 0.2;
  std::int64_t split_seed = 0;
};

// The declarations of split, eval_fraction and split_seed, for the `about` of an input whose Options O derive from
// SplitOptions. Set the helps if its examples have another name, such as rows.
template <class O>
constexpr auto split_options(
    std::string_view split_help = "part of the examples to use; each is in either train or eval",
    std::string_view fraction_help = "share of the examples that belongs to eval") {
  constexpr Str O::*split = &O::split;
  constexpr double O::*eval_fraction = &O::eval_fraction;
  constexpr std::int64_t O::*split_seed = &O::split_seed;
  return std::make_tuple(option("split", split, split_help).choices("all", "train", "eval"),
                         option("eval_fraction", eval_fraction, fraction_help).range(0, 1),
                         option("split_seed", split_seed,
                                "seed that chooses the examples of each part; train and eval need the same one"));
}

// Returns the numbers of the examples in [0, examples), ascending; empty if a part gets none. `split` is "all", "train"
// or "eval"; another string counts as "train" (the option has choices). eval_fraction is in [0, 1]. One more example
// changes the whole choice. It takes O(examples) time and memory.
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
inline std::vector<std::int64_t> split_examples(std::int64_t examples, const SplitOptions& options) {
  return split_examples(examples, options.split, options.eval_fraction, options.split_seed);
}

}  // namespace v0
}  // namespace belay
