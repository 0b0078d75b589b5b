// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/copy.h"

#include <gtest/gtest.h>

#include <numeric>

namespace belay::runtime::testing {
namespace {

// Copies 0, 1, 2 ... from one order of dimensions into another and back.
template <class T>
void check_there_and_back(const Dims& dims, const std::vector<std::size_t>& perm, int threads) {
  const std::vector<std::int64_t> strides = dense_strides(dims);
  Dims other;
  std::vector<std::int64_t> from;
  for (const std::size_t p : perm) other.push_back(dims[p]), from.push_back(strides[p]);
  std::vector<T> x(static_cast<std::size_t>(count_of(dims))), y(x.size()), z(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 + 1);
  StridedCopy(sizeof(T), other, from, dense_strides(other)).run(x.data(), y.data(), threads);
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
    for (std::size_t d = other.size(); d-- > 0; rest /= other[d]) at += rest % other[d] * from[d];
    ASSERT_EQ(y[i], x[static_cast<std::size_t>(at)]) << i;
  }
  StridedCopy(sizeof(T), other, dense_strides(other), from).run(y.data(), z.data(), threads);
  EXPECT_EQ(z, x);
}

TEST(StridedCopy, CopiesAllOrdersOfDimensions) {
  const std::vector<Dims> shapes = {{1, 1, 1}, {2, 3, 4}, {17, 1, 33}, {0, 3, 2}, {40, 50, 60}};
  const std::vector<std::vector<std::size_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const Dims& dims : shapes)
    for (const auto& perm : orders)
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(dims_text(dims) + " with " + std::to_string(threads) + " threads");
        check_there_and_back<std::uint8_t>(dims, perm, threads);
        check_there_and_back<float>(dims, perm, threads);
        check_there_and_back<double>(dims, perm, threads);
      }
}

}  // namespace
}  // namespace belay::runtime::testing
