// SPDX-License-Identifier: Apache-2.0
// The part of a data set that an input uses: training, evaluation or test. The rows' numbers decide, or values of each
// row: a class, a group or a time.
//
//   struct Options : belay::SplitOptions, belay::BatchOptions { ... };
//   static constexpr auto about = belay::about(..., belay::split_options<Options>(), belay::batch_options<Options>());
//   ...
//   check_split(options_);                                             // in the constructor
//   rows_ = split_examples(rows, options_);
//   order_ = ExampleOrder(static_cast<std::int64_t>(rows_.size()), options_, args);
//   ... rows_[order_.batch()[i]] is a row of the file
//
// Each example is in exactly one part. The options alone decide, never the shard. So two inputs with the same values
// get parts that are disjoint and complete:
//
//   options             evaluation
//   eval_fraction       this share of the examples, chosen by split_seed
//   folds, fold         one of `folds` equal parts, chosen by split_seed; `fold` counts from 0
//   every, at           the examples whose number leaves `at` when it is divided by `every`
//
// `test_fraction` takes a third part away from the training; it is the same in all folds. "all" has every example.
//
//   split_rows     by the number of a row (the options above)
//   split_strata   each class has the same shares, within one row of a class
//   part_of_group  by the hash of the group's value, so its rows stay together in any file and any order
//   split_times    the last rows are the evaluation, and the test is after it; equal times stay together
//
// belay/column_split.h has them for an input with named columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "belay/options.h"
#include "belay/permutation.h"
#include "belay/philox.h"

namespace belay {
inline namespace v0 {

// The options of an input that trains on one part of its data and evaluates on the other. Its Options derive from it,
// and its `about` names them with split_options.
struct SplitOptions {
  Str split = "all";
  double eval_fraction = 0.2;
  std::int64_t split_seed = 0;
  double test_fraction = 0;
  std::int64_t folds = 0, fold = 0;  // folds 0: eval_fraction decides
  std::int64_t every = 0, at = 0;    // every 0: not used
};

// The declarations of these options, for the `about` of an input whose Options O derive from SplitOptions. Set the
// helps if its examples have another name, such as rows. Other inputs of the model inherit all but `split`.
template <class O>
constexpr auto split_options(
    std::string_view split_help = "part of the examples to use; each is in one of train, eval and test",
    std::string_view fraction_help = "share of the examples that belongs to eval") {
  constexpr Str O::*split = &O::split;
  constexpr double O::*eval_fraction = &O::eval_fraction, O::*test_fraction = &O::test_fraction;
  constexpr std::int64_t O::*split_seed = &O::split_seed, O::*folds = &O::folds, O::*fold = &O::fold;
  constexpr std::int64_t O::*every = &O::every, O::*at = &O::at;
  return std::make_tuple(
      option("split", split, split_help).choices("all", "train", "eval", "test"),
      option("eval_fraction", eval_fraction, fraction_help).range(0, 1).learned(),
      option("split_seed", split_seed, "seed that chooses the examples of each part; train and eval need the same one")
          .learned(),
      option("test_fraction", test_fraction, "share that belongs to test, and neither to train nor to eval")
          .range(0, 1)
          .learned(),
      option("folds", folds, "number of equal parts, one of which is eval in place of 'eval_fraction'; 0 means none")
          .range(0, 1000)
          .learned(),
      option("fold", fold, "number of the fold that is eval, from 0").min(0).learned(),
      option("every", every, "if set, each such example is eval, such as 5 for each fifth one, in place of a choice")
          .min(0)
          .learned(),
      option("at", at, "number from 0 of the first example that 'every' chooses").min(0).learned());
}

// A part of the examples.
enum class Part : unsigned char { kTrain, kEval, kTest };

// Refuses options that contradict each other. INVALID_ARGUMENT names them and the fix.
inline void check_split(const SplitOptions& o) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const auto refuse = [](const std::string& text) { fail(Code::kInvalidArgument, "[B3020] " + text); };
  if (o.folds == 1) refuse("'folds' is 1, must be 2 or more, or 0 for none");
  if (o.folds == 0 && o.fold != 0) refuse("'fold' is " + number(o.fold) + ", and there are no folds; set 'folds'");
  if (o.folds != 0 && o.fold >= o.folds)
    refuse("'fold' is " + number(o.fold) + ", and 'folds' is " + number(o.folds) + "; folds count from 0 to " +
           number(o.folds - 1));
  if (o.every == 1) refuse("'every' is 1, which makes each example eval; set 2 or more, or split = \"all\"");
  if (o.every == 0 && o.at != 0) refuse("'at' is " + number(o.at) + ", and 'every' is not set; set 'every'");
  if (o.every != 0 && o.at >= o.every)
    refuse("'at' is " + number(o.at) + ", must be below 'every', which is " + number(o.every));
  if (o.every != 0 && o.folds != 0) refuse("'every' and 'folds' both choose the examples of eval; leave one out");
  if (o.every != 0 && o.test_fraction != 0) refuse("'every' has no test part; leave 'test_fraction' out");
  if (o.folds == 0 && o.eval_fraction + o.test_fraction > 1)
    refuse("'eval_fraction' and 'test_fraction' are more than 1 together; lower one of them");
  if (o.folds != 0 && o.test_fraction >= 1) refuse("'test_fraction' is 1, so the folds are empty; lower it");
}

// Returns the change that brings an example into the part `split`, for a message.
inline std::string split_fix(const SplitOptions& o) {
  if (o.every != 0) return o.split == "test" ? "'every' has no test part" : "change 'every' or 'at'";
  if (o.split == "test") return o.test_fraction == 0 ? "set 'test_fraction'" : "raise 'test_fraction'";
  return o.folds != 0 ? "lower 'folds'" : "change 'eval_fraction'";
}

namespace detail {

// The shares that the examples are divided into, in this order: eval, train and test, or each fold and test.
struct Shares {
  explicit Shares(const SplitOptions& options) : o(options) {
    if (o.folds == 0)
      share = {o.eval_fraction, 1 - o.eval_fraction - o.test_fraction, o.test_fraction};
    else
      share.assign(static_cast<std::size_t>(o.folds), (1 - o.test_fraction) / static_cast<double>(o.folds));
    if (o.folds != 0) share.push_back(o.test_fraction);
  }
  Part part(std::size_t i) const {
    if (i + 1 == share.size()) return Part::kTest;
    return i == static_cast<std::size_t>(o.folds == 0 ? 0 : o.fold) ? Part::kEval : Part::kTrain;
  }
  const SplitOptions& o;
  std::vector<double> share;
};

// Returns the index after the last of `size` examples that share i and those before it get.
inline std::int64_t end_of_share(const Shares& shares, std::size_t i, std::int64_t size) {
  const SplitOptions& o = shares.o;
  const auto rounded = [&](double share) { return std::llround(share * static_cast<double>(size)); };
  const std::int64_t eval = o.folds == 0 ? rounded(o.eval_fraction) : 0;
  const std::int64_t rest = size - std::min<std::int64_t>(rounded(o.test_fraction), size - eval);
  if (i + 1 == shares.share.size()) return size;
  if (o.folds == 0) return i == 0 ? eval : rest;
  return static_cast<std::int64_t>(static_cast<double>(rest) * static_cast<double>(i + 1) /
                                   static_cast<double>(o.folds));
}

// Divides `size` rows of one class. Each share gets its exact number of rows, rounded up or down. `owed` has what the
// classes before lost by rounding, so the sums over all classes are right, too.
inline std::vector<std::int64_t> divide_stratum(const Shares& shares, std::int64_t size, std::vector<double>& owed) {
  std::vector<std::int64_t> count;
  std::vector<std::size_t> open;  // shares that may be rounded up
  std::int64_t left = size;
  for (std::size_t i = 0; i < shares.share.size(); ++i) {
    const double exact = shares.share[i] * static_cast<double>(size), whole = std::floor(exact + 1e-9);
    count.push_back(static_cast<std::int64_t>(whole));
    left -= count[i];
    owed[i] += exact - whole;
    if (exact - whole > 1e-9) open.push_back(i);
  }
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return owed[a] > owed[b] + 1e-9; });
  for (std::size_t i = 0; i < open.size() && left > 0; ++i, --left) ++count[open[i]], owed[open[i]] -= 1;
  return count;
}

// Returns the cut between two times that is nearest to `wanted` and leaves equal times together. `times` ascends.
inline std::int64_t cut_between(const std::vector<double>& times, std::int64_t wanted) {
  const auto size = static_cast<std::int64_t>(times.size());
  if (wanted <= 0 || wanted >= size) return wanted;
  const double time = times[static_cast<std::size_t>(wanted)];
  const std::int64_t low = std::lower_bound(times.begin(), times.end(), time) - times.begin();
  const std::int64_t high = std::upper_bound(times.begin(), times.end(), time) - times.begin();
  if (low == 0) return high;
  return high == size || wanted - low <= high - wanted ? low : high;
}

}  // namespace detail

// Returns the part of each row in [0, rows), by its number. One more row changes the whole choice, except with `every`.
inline std::vector<Part> split_rows(std::int64_t rows, const SplitOptions& o) {
  std::vector<Part> parts(static_cast<std::size_t>(rows), Part::kTrain);
  if (o.every != 0) {
    for (std::int64_t row = o.at; row < rows; ++row)
      if (row % o.every == o.at) parts[static_cast<std::size_t>(row)] = Part::kEval;
    return parts;
  }
  const detail::Shares shares(o);
  Permutation order(static_cast<std::uint64_t>(o.split_seed), rows);
  order.use_epoch(0);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < shares.share.size(); ++i)
    for (const std::int64_t end = detail::end_of_share(shares, i, rows); at < end; ++at)
      parts[static_cast<std::size_t>(order[at])] = shares.part(i);
  return parts;
}

// Returns the part of each row, so that each part has its share of every class, within one row. strata[row] is the
// class. The names decide the rounding, not the order in the file. The only row of a class is for the training, unless
// there are folds, which evaluate each row once.
inline std::vector<Part> split_strata(const std::vector<std::string>& strata, const SplitOptions& o) {
  const auto rows = static_cast<std::int64_t>(strata.size());
  const detail::Shares shares(o);
  Permutation order(static_cast<std::uint64_t>(o.split_seed), rows);
  order.use_epoch(0);
  std::map<std::string_view, std::vector<std::int64_t>> members;
  for (std::int64_t i = 0; i < rows; ++i) members[strata[static_cast<std::size_t>(order[i])]].push_back(order[i]);
  std::vector<Part> parts(strata.size(), Part::kTrain);
  std::vector<double> owed(shares.share.size(), 0);
  for (const auto& [name, numbers] : members) {
    if (numbers.size() == 1 && o.folds == 0) continue;
    const std::vector<std::int64_t> count =
        detail::divide_stratum(shares, static_cast<std::int64_t>(numbers.size()), owed);
    std::size_t at = 0;
    for (std::size_t i = 0; i < count.size(); ++i)
      for (std::int64_t n = 0; n < count[i]; ++n) parts[static_cast<std::size_t>(numbers[at++])] = shares.part(i);
  }
  return parts;
}

// Returns the part of all rows of a group, by the hash of its value and the seed. A part gets its share of the groups,
// and not exactly of the rows.
inline Part part_of_group(std::string_view group, const SplitOptions& o) {
  const std::uint64_t hash = mix_key(static_cast<std::uint64_t>(o.split_seed), stream_id(group));
  const double at = uniform_double(static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(hash));
  const double rest = 1 - o.test_fraction;
  if (at >= rest) return Part::kTest;
  if (o.folds == 0) return at < o.eval_fraction ? Part::kEval : Part::kTrain;
  const auto fold = static_cast<std::int64_t>(at / rest * static_cast<double>(o.folds));
  return std::min(fold, o.folds - 1) == o.fold ? Part::kEval : Part::kTrain;
}

// Returns the part of each row by its time: the training comes first, then the evaluation, then the test. A cut is
// between two times, the nearest to the fractions. Folds have no meaning here.
inline std::vector<Part> split_times(const std::vector<double>& times, const SplitOptions& o) {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  const auto rows = static_cast<std::int64_t>(times.size());
  const std::int64_t test = std::llround(o.test_fraction * static_cast<double>(rows));
  const std::int64_t eval =
      std::min<std::int64_t>(std::llround(o.eval_fraction * static_cast<double>(rows)), rows - test);
  const std::int64_t eval_begin = detail::cut_between(sorted, rows - test - eval);
  const std::int64_t test_begin = std::max(eval_begin, detail::cut_between(sorted, rows - test));
  std::vector<Part> parts;
  for (const double time : times) {
    const std::int64_t before = std::lower_bound(sorted.begin(), sorted.end(), time) - sorted.begin();
    parts.push_back(before < eval_begin ? Part::kTrain : before < test_begin ? Part::kEval : Part::kTest);
  }
  return parts;
}

// Returns the numbers of the rows of a part, ascending; empty if it has none. `split` is "all", "train", "eval" or
// "test"; another string counts as "train" (the option has choices).
inline std::vector<std::int64_t> rows_of_part(const std::vector<Part>& parts, std::string_view split) {
  const Part wanted = split == "eval" ? Part::kEval : split == "test" ? Part::kTest : Part::kTrain;
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < parts.size(); ++row)
    if (split == "all" || parts[row] == wanted) rows.push_back(static_cast<std::int64_t>(row));
  return rows;
}

// Returns "800 train, 200 eval" for a message; the test part is named if it has rows.
inline std::string parts_text(const std::vector<Part>& parts) {
  const auto count = [&](Part part) { return std::count(parts.begin(), parts.end(), part); };
  const auto test = count(Part::kTest);
  return std::to_string(count(Part::kTrain)) + " train, " + std::to_string(count(Part::kEval)) + " eval" +
         (test == 0 ? "" : ", " + std::to_string(test) + " test");
}

// Returns the numbers of the examples in [0, examples) that belong to the part `split` of the options. It takes
// O(examples) time and memory.
inline std::vector<std::int64_t> split_examples(std::int64_t examples, const SplitOptions& options) {
  if (options.split != "all") return rows_of_part(split_rows(examples, options), options.split);
  return rows_of_part(std::vector<Part>(static_cast<std::size_t>(examples)), "all");
}
inline std::vector<std::int64_t> split_examples(std::int64_t examples, std::string_view split, double eval_fraction,
                                                std::int64_t seed) {
  return split_examples(examples, SplitOptions{Str(split), eval_fraction, seed});
}

}  // namespace v0
}  // namespace belay
