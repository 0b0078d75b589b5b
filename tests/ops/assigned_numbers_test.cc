// SPDX-License-Identifier: Apache-2.0
// The init function assign draws what an operation with the variable's name draws at step 0.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "belay/ops/random.h"
#include "belay/testing/testing.h"
#include "tests/ops/kernel_check.h"

extern "C" const belay_module belay_module_assign;

namespace belay::runtime::testing {
namespace {

using belay::testing::InitFnDriver;
using belay::testing::OptionValues;

const Dims kDims = {3, 5, 40, 21};  // 12,600 numbers

using Draw = std::function<Output(const Graph&, DType)>;

// Both with the seed 42.
template <class T>
void expect_same(const Draw& draw, OptionValues options, const std::string& initializer) {
  const DType dtype = dtype_of<T>;
  const std::vector<T> expected =
      run_op<T>([&](const Inputs& in) { return draw(in[0].graph(), dtype); }, {Tensor(0.0f)});
  InitFnDriver init(belay_module_assign,
                    options.with({"vars", std::vector<std::string>{"x"}}).with({"initializer", initializer}));
  init.variable("x", Tensor(dtype, kDims));
  init.run();
  const T* assigned = TensorView(init.value("x")).data<const T>();
  EXPECT_EQ(std::vector<T>(assigned, assigned + expected.size()), expected) << initializer;
}

template <class T>
void expect_all_same() {
  expect_same<T>([](const Graph& g, DType t) { return ops::random_uniform(g, kDims, -3, 5, t, "x"); },
                 {{"low", -3.0}, {"high", 5.0}}, "random_uniform");
  expect_same<T>([](const Graph& g, DType t) { return ops::random_normal(g, kDims, 2, 0.5, t, "x"); },
                 {{"mean", 2.0}, {"stddev", 0.5}}, "random_normal");
  expect_same<T>([](const Graph& g, DType t) { return ops::truncated_normal(g, kDims, -1, 3, t, "x"); },
                 {{"mean", -1.0}, {"stddev", 3.0}}, "truncated_normal");
  expect_same<T>([](const Graph& g, DType t) { return ops::glorot_uniform(g, kDims, t, "x"); }, {}, "glorot_uniform");
  expect_same<T>([](const Graph& g, DType t) { return ops::he_normal(g, kDims, t, "x"); }, {}, "he_normal");
}

TEST(AssignedNumbers, AreThoseOfAnOperationOfThatNameInFloat32) { expect_all_same<float>(); }
TEST(AssignedNumbers, AreThoseOfAnOperationOfThatNameInFloat64) { expect_all_same<double>(); }

}  // namespace
}  // namespace belay::runtime::testing
