// SPDX-License-Identifier: Apache-2.0
// Finds values of an input that are not finite. A model makes a class even of NaN, so nothing else shows them.
//
//   void spec(belay::InputSpec& spec) override {
//     finite_.set_use(spec.use());
//     ...
//   }
//   bool next(belay::Batch& batch, belay::Position& position) override {
//     const belay::TensorView x = batch.tensor(x_, {rows, 2});
//     ...                                                                                       // fills x
//     finite_.check(host(), "x", x, [&](std::size_t row) { return file_.place(examples[row]); });
//     ...
//   }
//
// In an evaluation or a prediction such a value is INVALID_ARGUMENT. In a training the first one is a warning, because
// a loss that is not finite ends the run with its step. A check reads a batch once, without a branch for each value.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "belay/error.h"
#include "belay/host.h"
#include "belay/input.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// The first of n values that is NaN or infinite, or n.
template <class T>
std::size_t first_not_finite(const T* values, std::size_t n) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  int any = 0;
  for (std::size_t i = 0; i < n; ++i) any |= static_cast<int>(!(std::fabs(values[i]) <= kMost));
  if (any == 0) return n;
  std::size_t at = 0;
  while (std::fabs(values[at]) <= kMost) ++at;
  return at;
}

class FiniteValues {
 public:
  // Call it in spec: sets the use of the batches.
  void set_use(InputUse use) noexcept { use_ = use; }

  // Checks a filled tensor of a batch; those of other types than float32 and float64 have only finite values. `place`
  // returns file and record of a row of the batch: "'x.npy' row 7".
  template <class Place>
  void check(const Host& host, std::string_view name, const TensorView& values, const Place& place) {
    const std::size_t n = values.size();
    std::size_t at = n;
    if (values.dtype() == DType::kFloat32) at = first_not_finite(values.data<const float>(), n);
    if (values.dtype() == DType::kFloat64) at = first_not_finite(values.data<const double>(), n);
    if (at == n || (use_ == InputUse::kTraining && warned_)) return;
    const std::size_t width = n / static_cast<std::size_t>(values.dim(0));
    const double value = values.number(at);
    const std::string text = place(at / width) + " has " +
                             (std::isnan(value) ? "nan"
                              : value > 0       ? "inf"
                                                : "-inf") +
                             " in element " + std::to_string(at % width) + " of \"" + std::string(name) + "\"";
    if (use_ != InputUse::kTraining) fail(Code::kInvalidArgument, text + "; repair it, or leave the example out");
    warned_ = true;
    host.warning(text + "; the training continues with it, and no evaluation or prediction would");
  }

 private:
  InputUse use_ = InputUse::kTraining;
  bool warned_ = false;
};

}  // namespace v0
}  // namespace belay
