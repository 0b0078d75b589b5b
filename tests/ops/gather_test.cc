// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/ops/embedding.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Build gather_along(std::int64_t axis) {
  return [=](const Inputs& in) { return ops::gather(in[0], in[1], axis); };
}
using Indices = std::vector<std::int32_t>;

struct GatherCase {
  Dims params, indices;
  std::int64_t axis;
  double entries;
};
const GatherCase kGatherCases[] = {{{5, 3}, {7}, 0, 5},        {{4}, {2, 3}, 0, 4},     {{3, 4, 2}, {3}, 1, 4},
                                   {{3, 2, 5}, {2, 2}, -1, 5}, {{3, 4, 2}, {5}, -3, 3}, {{5, 3}, {0}, 0, 5},
                                   {{5, 0}, {4}, 0, 5},        {{1, 1}, {1}, 0, 1},     {{33, 17}, {130}, 0, 33},
                                   {{6, 3}, {}, 0, 6}};

TEST(Gather, GradientsAgreeWithFiniteDifferences) {
  for (const GatherCase& c : kGatherCases) {
    SCOPED_TRACE(dims_text(c.params) + " by " + dims_text(c.indices));
    for (const DType dtype : {DType::kInt32, DType::kInt64})
      check_gradients(gather_along(c.axis), {{c.params}, {c.indices, 0, c.entries, {}, dtype}});
  }
}

Build gather_gradient(std::int64_t axis) {
  return [=](const Inputs& in) {
    return in[0].graph().node("GatherGrad").in(in[0]).in(in[1]).in(in[2]).attr("axis", axis).output();
  };
}

TEST(Gather, GradientsOfTheGradientAgreeWithFiniteDifferences) {
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    check_gradients(gather_gradient(0), {{{7, 3}}, {{7}, 0, 5, {}, dtype}, {{5, 3}}});
    check_gradients(gather_gradient(-2), {{{3, 2, 3, 2}}, {{2, 3}, 0, 4, {}, dtype}, {{3, 4, 2}}});
  }
}

TEST(Gather, Float32AgreesWithFloat64) {
  for (const GatherCase& c : kGatherCases) {
    SCOPED_TRACE(dims_text(c.params) + " by " + dims_text(c.indices));
    check_float32(gather_along(c.axis), {{c.params}, {c.indices, 0, c.entries, {}, DType::kInt32}});
  }
  check_float32(gather_along(0), {{{65, 128}}, {{16, 64}, 0, 65, {}, DType::kInt64}}, 1e-4);
}

TEST(Gather, PicksSlices) {
  const Tensor params({3, 2}, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run_op<std::int64_t>(gather_along(0), {params, Tensor({3}, Indices{2, 0, 2})}),
            (std::vector<std::int64_t>{5, 6, 1, 2, 5, 6}));
  EXPECT_EQ(run_op<std::int64_t>(gather_along(1), {params, Tensor({1, 1}, Indices{1})}),
            (std::vector<std::int64_t>{2, 4, 6}));
}

TEST(Gather, GradientOfAnIndexThatComesTwiceIsTheSumInItsOrderAtAnyNumberOfThreads) {
  const std::int64_t picks = 4000, width = 160;
  std::vector<float> dy(static_cast<std::size_t>(picks * width));
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = 1.0f / static_cast<float>(i % 977 + 1);
  Indices at(picks);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int32_t>(i * i % 7);
  const Build grad = gather_gradient(0);
  const std::vector<Tensor> inputs = {Tensor({picks, width}, dy), Tensor({picks}, at),
                                      Tensor({7, width}, std::vector<float>(7 * width))};
  const std::vector<float> alone = run_op<float>(grad, inputs, 1);
  EXPECT_EQ(run_op<float>(grad, inputs, 2), alone);
  EXPECT_EQ(run_op<float>(grad, inputs, 3), alone);
}

TEST(Gather, BadInputIsNamed) {
  EXPECT_EQ(build_error(gather_along(0), {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {4}}}),
            "INVALID_ARGUMENT: node 'Gather' (Gather): input 1 (float32 [4]) must be int32 or int64");
  EXPECT_EQ(build_error(gather_along(0), {{DType::kFloat32, {}}, {DType::kInt32, {4}}}),
            "INVALID_ARGUMENT: node 'Gather' (Gather): input 0 (float32 []) must have at least one dimension");
  EXPECT_EQ(build_error(gather_along(0), {{DType::kString, {3}}, {DType::kInt32, {4}}}),
            "INVALID_ARGUMENT: node 'Gather' (Gather): input 0 (string [3]) must be numbers or booleans");
  EXPECT_EQ(build_error(gather_along(2), {{DType::kFloat32, {2, 3}}, {DType::kInt32, {4}}}),
            "INVALID_ARGUMENT: node 'Gather' (Gather): axis 2 is not in [-2, 2)");
  for (const std::int32_t bad : {3, -1})
    EXPECT_EQ(
        run_error(gather_along(0), {Tensor({3, 1}, {1.f, 2.f, 3.f}), Tensor({2}, Indices{0, bad})}),
        "INVALID_ARGUMENT: node 'Gather' (Gather): index " + std::to_string(bad) + " at position 1 is not in [0, 3)");
}

TEST(Gather, BadInputOfTheGradientIsNamed) {
  const Spec dy{DType::kFloat32, {4, 3}}, at{DType::kInt32, {4}}, params{DType::kFloat32, {5, 3}};
  const std::string node = "INVALID_ARGUMENT: node 'GatherGrad' (GatherGrad): ";
  EXPECT_EQ(build_error(gather_gradient(0), {dy, at, params}), "no error");
  EXPECT_EQ(build_error(gather_gradient(1), {dy, at, params}),
            node + "input 0 (float32 [4, 3]) is not what input 1 (int32 [4]) picks from input 2 (float32 [5, 3])");
  EXPECT_EQ(build_error(gather_gradient(0), {dy, {DType::kInt32, {3}}, params}),
            node + "input 0 (float32 [4, 3]) is not what input 1 (int32 [3]) picks from input 2 (float32 [5, 3])");
  EXPECT_EQ(build_error(gather_gradient(-3), {dy, at, params}), node + "axis -3 is not in [-2, 2)");
  EXPECT_EQ(build_error(gather_gradient(0), {dy, at, {DType::kFloat32, {}}}),
            node + "input 2 (float32 []) must have at least one dimension");
  EXPECT_EQ(build_error(gather_gradient(0), {dy, {DType::kUInt8, {4}}, params}),
            node + "input 1 (uint8 [4]) must be int32 or int64");
  EXPECT_EQ(build_error(gather_gradient(0), {dy, at, {DType::kFloat64, {5, 3}}}),
            node + "input 0 (float32 [4, 3]) and input 2 (float64 [5, 3]) must have the same dtype");
  EXPECT_EQ(build_error(gather_gradient(0), {{DType::kInt32, {4}}, at, {DType::kInt32, {5}}}),
            node + "input 0 (int32 [4]) must be float32 or float64");
  const Tensor two({2}, {1.f, 2.f}), three({3}, {1.f, 2.f, 3.f});
  for (const std::int32_t bad : {3, -1})
    EXPECT_EQ(run_error(gather_gradient(0), {two, Tensor({2}, Indices{0, bad}), three}),
              node + "index " + std::to_string(bad) + " at position 1 is not in [0, 3)");
  EXPECT_EQ(run_error(gather_gradient(0), {three, Tensor({2}, Indices{0, 1}), three}),
            node + "input 0 (float32 [3]) is not what input 1 (int32 [2]) picks from input 2 (float32 [3])");
}

// Each dtype of numbers, with both of indices, by a team of two that shares the columns.
TEST_F(SessionTest, ScatterAddTakesAllNumbers) {
  constexpr std::size_t kEntries = 7, kWidth = 160, kPicks = 500;
  std::vector<std::pair<Output, Tensor>> feeds;
  std::vector<Output> added;
  std::vector<std::vector<double>> expected;
  const auto add = [&]<class T, class Index>(T, Index) {
    std::vector<T> start(kEntries * kWidth), slices(kPicks * kWidth);
    std::vector<Index> at(kPicks);
    for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<T>(i % 11);
    for (std::size_t i = 0; i < slices.size(); ++i) slices[i] = static_cast<T>(i % 13);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<Index>(i * i % kEntries);
    const Output v = ops::variable(g, "v", Tensor({kEntries, kWidth}, start));
    const Output indices = ops::placeholder(g, dtype_of<Index>, {-1}), x = ops::placeholder(g, dtype_of<T>, {-1, -1});
    added.push_back(ops::scatter_add(v, indices, x));
    feeds.emplace_back(indices, Tensor({kPicks}, at));
    feeds.emplace_back(x, Tensor({kPicks, kWidth}, slices));
    for (std::size_t i = 0; i < slices.size(); ++i) {
      T& sum = start[static_cast<std::size_t>(at[i / kWidth]) * kWidth + i % kWidth];
      sum = static_cast<T>(sum + slices[i]);
    }
    expected.emplace_back(start.begin(), start.end());
  };
  const auto add_both = [&]<class T>(T number) {
    add(number, std::int32_t{});
    add(number, std::int64_t{});
  };
  add_both(float{}), add_both(double{}), add_both(std::int32_t{}), add_both(std::int64_t{}), add_both(std::uint8_t{});
  DirectSessionOptions options;
  options.threads = 2;
  open(options);
  initialize();
  std::vector<belay_feed> fed;
  for (const auto& [placeholder, value] : feeds) fed.push_back({placeholder.raw(), value.view()});
  FetchSet fetches(std::vector<FetchRef>(added.begin(), added.end()));
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = fed;
  request.full_team = true;
  const belay::runtime::Run run = session().run(request);
  for (std::size_t i = 0; i < added.size(); ++i) {
    SCOPED_TRACE(added[i].text());
    const TensorView sums(run.result(fetches, i));
    ASSERT_EQ(sums.size(), expected[i].size());
    for (std::size_t e = 0; e < sums.size(); ++e) ASSERT_EQ(sums.number(e), expected[i][e]) << e;
  }
}

TEST_F(SessionTest, ScatterAddAddsSlicesToAVariable) {
  const Output v = ops::variable(g, "v", Tensor({3, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}));
  const Output at = ops::placeholder(g, DType::kInt32, {-1}, "at");
  const Output slices = ops::placeholder(g, DType::kFloat32, {-1, 2}, "slices");
  const Output added = ops::scatter_add(v, at, slices);
  open();
  initialize();
  const Tensor ids({3}, Indices{2, 0, 2}), x({3, 2}, {10.f, 20.f, 30.f, 40.f, 50.f, 60.f});
  EXPECT_EQ(values<float>(added, {{at, ids}, {slices, x}}), (std::vector<float>{31, 42, 3, 4, 65, 86}));
  EXPECT_EQ(values<float>(v), (std::vector<float>{31, 42, 3, 4, 65, 86}));
  for (const std::int32_t bad : {3, -1}) {
    const Tensor indices({3}, Indices{0, bad, 1});
    EXPECT_EQ(error_of([&] {
                values<float>(added, {{at, indices}, {slices, x}});
              }),
              "INVALID_ARGUMENT: node 'ScatterAdd' (ScatterAdd): index " + std::to_string(bad) +
                  " at position 1 is not in [0, 3)");
  }
  EXPECT_EQ(values<float>(v), (std::vector<float>{31, 42, 3, 4, 65, 86}));  // and nothing was added
}

TEST(ScatterAdd, BadInputIsNamed) {
  const auto add = [](DType dtype, const Dims& dims) {
    return [=](const Inputs& in) {
      const Output v = ops::variable(in[0].graph(), "v", Tensor({3, 2}, std::vector<float>(6)));
      return ops::scatter_add(v, in[0], ops::placeholder(in[0].graph(), dtype, dims));
    };
  };
  EXPECT_EQ(build_error(add(DType::kFloat32, {4, 3}), {{DType::kInt32, {4}}}),
            "INVALID_ARGUMENT: node 'ScatterAdd' (ScatterAdd): input 2 (float32 [4, 3]) must have the shape [4, 2]: a "
            "slice for each index");
  EXPECT_EQ(build_error(add(DType::kFloat64, {4, 2}), {{DType::kInt32, {4}}}),
            "INVALID_ARGUMENT: node 'ScatterAdd' (ScatterAdd): input 0 (float32 [3, 2]) and input 2 (float64 [4, 2]) "
            "must have the same dtype");
  EXPECT_EQ(build_error(add(DType::kFloat32, {4, 2}), {{DType::kUInt8, {4}}}),
            "INVALID_ARGUMENT: node 'ScatterAdd' (ScatterAdd): input 1 (uint8 [4]) must be int32 or int64");
  const auto add_to = [](const Tensor& start) {
    return [=](const Inputs& in) { return ops::scatter_add(ops::variable(in[0].graph(), "v", start), in[0], in[1]); };
  };
  EXPECT_EQ(build_error(add_to(Tensor(1.0f)), {{DType::kInt32, {4}}, {DType::kFloat32, {4}}}),
            "INVALID_ARGUMENT: node 'ScatterAdd' (ScatterAdd): input 0 (float32 []) must have at least one dimension");
  EXPECT_EQ(build_error(add_to(Tensor(DType::kBool, {2})), {{DType::kInt32, {4}}, {DType::kBool, {4}}}),
            "INVALID_ARGUMENT: node 'ScatterAdd' (ScatterAdd): input 0 (bool [2]) must be a number");
}

TEST_F(SessionTest, EmbeddingIsATableOfVectors) {
  const Output ids = ops::placeholder(g, DType::kInt64, {-1, 3}, "ids");
  const Output x = ops::embedding(ids, 10, 4);
  EXPECT_EQ(x.dims(), (Dims{-1, 3, 4}));
  EXPECT_EQ(g.find("embedding/table").dims(), (Dims{10, 4}));
  EXPECT_EQ(error_of([&] { ops::embedding(ids, 0, 4, {.name = "e"}); }),
            "INVALID_ARGUMENT: embedding 'e': entries and width must be at least 1, got 0 and 4");
}

}  // namespace
}  // namespace belay::runtime::testing
