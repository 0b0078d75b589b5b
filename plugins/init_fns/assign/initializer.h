// SPDX-License-Identifier: Apache-2.0
// Random values for a variable: the numbers of belay/ops/random.h, for an operation with the variable's name at step 0.
#pragma once

#include <belay/options.h>
#include <belay/session.h>
#include <belay/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assign_init {

class Initializer {
 public:
  // Of the distribution `name`, "truncated_normal"; what is not given has the default of its operation.
  // INVALID_ARGUMENT for a parameter that the distribution does not have.
  struct Parameters {
    std::optional<double> low, high, mean, stddev;
  };
  Initializer(std::string_view name, const Parameters& parameters);

  // The same for the same seed, name and dims, whatever else runs. INVALID_ARGUMENT for a variable that is neither
  // float32 nor float64, and for one without two dimensions where the distribution needs them.
  belay::Tensor value(const belay::VariableInfo& variable, std::uint64_t seed) const;
  // "truncated_normal(0, 0.02)", for the log.
  std::string text() const;

 private:
  // a + b * z, at most `last`.
  struct Numbers {
    double a, b, high;
  };
  Numbers numbers_for(const belay::VariableInfo& variable) const;

  std::string name_;
  double a_ = 0, b_ = 1;  // low and high, or mean and standard deviation
  bool scaled_ = false;   // by the variable's dimensions
  bool uniform_ = false, truncated_ = false;
};

}  // namespace assign_init
