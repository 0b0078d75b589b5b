// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of inputs: their errors, the laws of every input, and the folders of files outside the project.
#pragma once

#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace input_test {

inline std::string error_at_open(const belay_module& module, const belay::testing::OptionValues& options) {
  return belay::testing::error_of([&] { belay::testing::InputDriver(module, options).open(); });
}

// Returns the error of the first batch, after opening.
inline std::string error_at_next(const belay_module& module, const belay::testing::OptionValues& options) {
  belay::testing::InputDriver input(module, options);
  input.open();
  return belay::testing::error_of([&] { input.next(); });
}

// Returns the first element of each example of the component `name`, in the order of one epoch of a shard.
template <class T>
std::vector<T> first_elements(const belay_module& module, const char* name, const belay::testing::OptionValues& options,
                              std::int64_t shard = 0, std::int64_t shards = 1) {
  belay::testing::InputDriver input(module, options.with({"epochs", 1}));
  input.open(shard, shards);
  std::vector<T> all;
  for (const belay::testing::InputBatch& batch : input.all_batches()) {
    const auto values = batch.values<T>(name);
    const std::size_t width = values.size() / static_cast<std::size_t>(batch.rows());
    for (std::size_t at = 0; at < values.size(); at += width) all.push_back(values[at]);
  }
  return all;
}

// Checks that four shards together have every example once. `read` takes options, shard and number of shards, and
// returns the examples of one epoch.
template <class Read>
void expect_shards_disjoint_and_complete(const Read& read, const belay::testing::OptionValues& options,
                                         std::size_t examples) {
  const auto whole = read(options, 0, 1);
  std::multiset<typename decltype(whole)::value_type> together, all(whole.begin(), whole.end());
  for (int shard = 0; shard < 4; ++shard)
    for (const auto& example : read(options, shard, 4)) together.insert(example);
  EXPECT_EQ(together, all);
  EXPECT_EQ(together.size(), examples);
}

// Checks that "train" and "eval" together have every example of "all" once. A quarter of the examples is for "eval". It
// does the same with a fold and a test part.
template <class Read>
void expect_split_disjoint_and_complete(const Read& read, const belay::testing::OptionValues& options) {
  const belay::testing::OptionValues quarter = options.with({"eval_fraction", 0.25});
  const auto whole = read(options, 0, 1), train = read(quarter.with({"split", "train"}), 0, 1),
             eval = read(quarter.with({"split", "eval"}), 0, 1);
  std::multiset<typename decltype(whole)::value_type> together(train.begin(), train.end()),
      all(whole.begin(), whole.end());
  together.insert(eval.begin(), eval.end());
  EXPECT_EQ(together, all);
  EXPECT_EQ(eval.size() * 4, whole.size());
  const belay::testing::OptionValues fold = quarter.with({"folds", 2}).with({"fold", 1}).with({"test_fraction", 0.5});
  together.clear();
  for (const char* split : {"train", "eval", "test"})
    for (const auto& example : read(fold.with({"split", split}), 0, 1)) together.insert(example);
  EXPECT_EQ(together, all);
}

// Checks an open input: started again, resumed at any position, and read again after its end. It looks at this number
// of batches.
inline void expect_laws_of_an_input(belay::testing::InputDriver& input, std::size_t batches = 200,
                                    std::size_t resumed_batches = 200) {
  EXPECT_EQ(input.difference_after_restart(batches), "");
  EXPECT_EQ(input.difference_after_resume(resumed_batches), "");
  EXPECT_EQ(input.difference_after_end(batches), "");
}

// Returns the folder in the environment variable, else `shared` beside the sources.
inline std::string folder_of(const char* variable, const char* shared) {
  const char* given = std::getenv(variable);
  return given != nullptr && *given != 0 ? given : std::string(BELAY_SOURCE_DIR) + "/../" + shared;
}
inline std::string data_folder() { return folder_of("BELAY_DATA_DIR", "shared/data"); }
inline std::string samples_folder() { return folder_of("BELAY_SAMPLES_DIR", "shared/samples"); }

}  // namespace input_test

// These skip the test with a message if the file is absent: a file of a data set, or a sample of another program.
#define BELAY_NEEDS_DATA(path)        \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << "NOT TESTED: there is no '" << (path) << "'; set BELAY_DATA_DIR to the folder of the data sets"
#define BELAY_NEEDS_SAMPLES(path)     \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << "NOT TESTED: there is no '" << (path) << "'; set BELAY_SAMPLES_DIR to the folder of the samples"
