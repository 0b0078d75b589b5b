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
  // The parameters of the distribution `name`, for example "truncated_normal". A missing parameter has the default of
  // its operation. INVALID_ARGUMENT: the distribution does not have the parameter.
  struct Parameters {
    std::optional<double> low, high, mean, stddev;
  };
  Initializer(std::string_view name, const Parameters& parameters);

  // Returns the same value for the same seed, name and dims. INVALID_ARGUMENT: the variable is neither float32 nor
  // float64, or the distribution needs two dimensions.
  belay::Tensor value(const belay::VariableInfo& variable, std::uint64_t seed) const;
  // Returns "truncated_normal(0, 0.02)", for the log.
  std::string text() const;

 private:
  // The numbers are a + b * z. Uniform ones are below `high`.
  struct Numbers {
    double a, b, high;
  };
  Numbers numbers_for(const belay::VariableInfo& variable) const;

  std::string name_;
  double a_ = 0, b_ = 1;  // low and high, or mean and standard deviation
  bool scaled_ = false;   // true: the variable's dimensions scale the numbers
  bool uniform_ = false, truncated_ = false;
};

}  // namespace assign_init
