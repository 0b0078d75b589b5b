// SPDX-License-Identifier: Apache-2.0
#include <belay/finite_values.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace {

template <class T>
void expect_found_at_each_place() {
  using Limits = std::numeric_limits<T>;
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<T> values(n, -Limits::max());
    EXPECT_EQ(belay::first_not_finite(values.data(), n), n);
    for (const T bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<T> damaged = values;
        damaged[at] = bad;
        damaged[n - 1] = bad;
        EXPECT_EQ(belay::first_not_finite(damaged.data(), n), at) << n;
      }
    }
  }
}

TEST(FiniteValues, TheFirstValueThatIsNotFiniteIsFound) {
  expect_found_at_each_place<float>();
  expect_found_at_each_place<double>();
}

}  // namespace
