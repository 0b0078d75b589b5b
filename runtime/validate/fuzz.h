// SPDX-License-Identifier: Apache-2.0
// The cases of `belay validate --fuzz`: a plugin gets what nobody gives it on purpose, and may refuse it, with an error
// that says why. It must not crash, hang, let an exception escape, write to standard output or change the process.
//
// A case is a function of the seed and its number, so one that was found is made again with both. What it does is noted
// step by step before it does it, so that a case that ends its process is known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "belay/philox.h"
#include "belay/tensor.h"
#include "runtime/validate/check.h"

namespace belay::runtime {

// Where a case takes its values from.
class FuzzCase {
 public:
  using Note = std::function<void(const std::string&)>;

  // `note` is called with each step of the case: "load_state with 'steps' = -1".
  FuzzCase(std::uint64_t seed, std::uint64_t number, Note note) : random_(seed, number), note_(std::move(note)) {}

  void note(const std::string& what) const { note_(what); }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(values.size()))];
  }

  // Usual and unusual ones: 0, the limits of types, NaN, infinities, the smallest, numbers in between.
  double number();
  std::int64_t integer();
  // Empty, long, no UTF-8, with zeros, with what formats, paths and terminals obey.
  std::string text();
  // Elements that are all alike, or one that is unlike the others, or all different.
  Tensor tensor(DType dtype, const Dims& dims);
  // With up to four dimensions, empty ones among them, and not more than a million elements.
  Dims dims();
  // Cut, longer, empty, with other bits, or something else altogether.
  std::string damaged(std::string bytes);

 private:
  PhiloxSequence random_;
  Note note_;
};

// Any of its options with a value of any kind, which the note forbids or not; it is only created with them.
belay::testing::OptionValues hostile_options(const Subject& subject, FuzzCase& fuzz);
// Any of its options with another value that its note allows, small enough to be driven with. A file that an option
// names may be a damaged copy of it, which lies in the current folder.
Subject with_odd_options(const Subject& subject, FuzzCase& fuzz);

// One case. Throws CheckFailed where the plugin's refusal says nothing; other exceptions than Error and CheckSkipped
// came through its boundary.
void run_fuzz_case(const Subject& subject, FuzzCase& fuzz);

// What run_fuzz_case chooses from; each drives a plugin of its kind.
void fuzz_hook(const Subject& subject, FuzzCase& fuzz);
void fuzz_saver(const Subject& subject, FuzzCase& fuzz);
void fuzz_input(const Subject& subject, FuzzCase& fuzz);
void fuzz_op(const Subject& subject, FuzzCase& fuzz);
void fuzz_model(const Subject& subject, FuzzCase& fuzz);
void fuzz_optimizer(const Subject& subject, FuzzCase& fuzz);
void fuzz_schedule(const Subject& subject, FuzzCase& fuzz);

}  // namespace belay::runtime
