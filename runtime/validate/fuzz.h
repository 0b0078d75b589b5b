// SPDX-License-Identifier: Apache-2.0
// The cases of `belay validate --fuzz`. A plugin gets values that no user would choose. It may refuse them with an
// explained error. It must not crash, hang, let an exception escape, write to standard output or change the process.
//
// A case depends only on the seed and its number, so both make it again. Each step is noted before it is made. So a
// case that ends its process is known.
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

// The source of a case's values.
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

  // Return usual and unusual numbers: 0, the limits of types, NaN, infinities, the smallest, numbers in between.
  double number();
  std::int64_t integer();
  // Returns texts: empty, long, no UTF-8, with zeros, with special characters of formats, paths and terminals.
  std::string text();
  // Returns elements: all equal, all different, or equal except for one.
  Tensor tensor(DType dtype, const Dims& dims);
  // Returns up to four dimensions, some of them 0, and at most a million elements.
  Dims dims();
  // Cuts, extends or empties the bytes, changes bits, or replaces all.
  std::string damaged(std::string bytes);

 private:
  PhiloxSequence random_;
  Note note_;
};

// Sets any of its options to a value of any kind, even one that the note forbids. The plugin is only created with them.
belay::testing::OptionValues hostile_options(const Subject& subject, FuzzCase& fuzz);
// Sets any of its options to another value that its note allows, small enough to drive the plugin. A file of an option
// may be a damaged copy in the current folder.
Subject with_odd_options(const Subject& subject, FuzzCase& fuzz);

// Runs one case. CheckFailed: the plugin's refusal explains nothing. Exceptions other than Error and CheckSkipped came
// through its boundary.
void run_fuzz_case(const Subject& subject, FuzzCase& fuzz);

// run_fuzz_case chooses among these. Each drives a plugin of its kind.
void fuzz_hook(const Subject& subject, FuzzCase& fuzz);
void fuzz_saver(const Subject& subject, FuzzCase& fuzz);
void fuzz_input(const Subject& subject, FuzzCase& fuzz);
void fuzz_op(const Subject& subject, FuzzCase& fuzz);
void fuzz_model(const Subject& subject, FuzzCase& fuzz);
void fuzz_optimizer(const Subject& subject, FuzzCase& fuzz);
void fuzz_schedule(const Subject& subject, FuzzCase& fuzz);

}  // namespace belay::runtime
