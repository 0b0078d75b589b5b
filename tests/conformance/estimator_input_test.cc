// SPDX-License-Identifier: Apache-2.0
// Inputs of an Estimator from tensors.
#include "tests/estimator/estimator_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

class TensorInputs : public EstimatorTest {};

TEST_F(TensorInputs, SPEC_09_RowsComeInOrderAndTheLastBatchIsSmaller) {
  Estimator estimator(
      [](const ModelArgs& m) {
        return EstimatorSpec(m, {.predictions = {{"x", m.feature()}}});
      },
      options());
  std::vector<std::int64_t> batches;
  std::vector<float> rows;
  EstimatorPredictions predictions =
      estimator.predict(tensor_input({{"x", Tensor({3}, {1.0f, 2.0f, 3.0f})}}, {}, {.batch_size = 2, .epochs = 2}),
                        {.yield_single_examples = false});
  for (const PredictedRow& p : predictions) {
    batches.push_back(p["x"].dim(0));
    rows.insert(rows.end(), p["x"].data<float>(), p["x"].data<float>() + p["x"].size());
  }
  EXPECT_THAT(batches, ElementsAre(2, 2, 2));
  EXPECT_THAT(rows, ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST_F(TensorInputs, SPEC_09_TensorsOfOtherLengthsAreRefused) {
  const Tensor three({3}, {1.0f, 2.0f, 3.0f}), two({2}, {1.0f, 2.0f});
  EXPECT_EQ(error_of([&] {
              tensor_input({{"x", three}}, {{"y", two}});
            }),
            "INVALID_ARGUMENT: [B5053] tensor_input: 'y' [2] has not as many rows as 'x' [3]");
  EXPECT_EQ(error_of([&] { tensor_input({}); }), "INVALID_ARGUMENT: [B5053] tensor_input: there is no feature");
  EXPECT_EQ(error_of([&] {
              tensor_input({{"x", Tensor(1.0f)}});
            }),
            "INVALID_ARGUMENT: [B5053] tensor_input: 'x' is a scalar, without rows");
  EXPECT_EQ(error_of([&] {
              tensor_input({{"x", two}}, {}, {.batch_size = 0});
            }),
            "INVALID_ARGUMENT: [B5053] tensor_input: batch_size and epochs must be at least 1");
}

}  // namespace
}  // namespace belay::runtime::testing
