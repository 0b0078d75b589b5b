// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/step_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/tensor.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tensors that are in memory.
class HeldTensors final : public StoredTensors {
 public:
  explicit HeldTensors(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  const std::string& path() const override { return path_; }
  std::vector<TensorInfo> tensors() const override {
    std::vector<TensorInfo> infos;
    for (const auto& [name, tensor] : tensors_) {
      const TensorView view(tensor.view());
      infos.push_back({name, view.dtype(), view.dims()});
    }
    return infos;
  }
  void read(const SaverUse&, const std::vector<NamedTensor>& targets) const override {
    for (const NamedTensor& target : targets) {
      const TensorView from(tensors_.at(target.name).view());
      std::memcpy(target.tensor.data, from.raw().data, from.bytes());
    }
  }

 private:
  const std::string path_ = "memory";
  const std::map<std::string, Tensor> tensors_;
};

Tensor floats(const std::vector<float>& values) { return Tensor({static_cast<std::int64_t>(values.size())}, values); }

StepDifference difference(const std::vector<ListedTensor>& list_a, const std::map<std::string, Tensor>& a,
                          const std::vector<ListedTensor>& list_b, const std::map<std::string, Tensor>& b) {
  const HeldTensors held_a(a), held_b(b);
  const SaverUse none;
  return difference_of_steps({list_a, held_a, none}, {list_b, held_b, none});
}

const std::vector<ListedTensor> kList{{"x:0", "input/x", "QueueDequeue", "batch"},
                                      {"m:0", "", "MatMul", "computed", {"x:0"}},
                                      {"r:0", "", "Relu", "computed", {"m:0"}}};

TEST(StepDifference, TheFirstInThePlansOrderIsDescribed) {
  const float next = std::nextafterf(2.f, 3.f);
  const StepDifference d =
      difference(kList, {{"x:0", floats({1, 2})}, {"m:0", floats({1, 2})}, {"r:0", floats({1, 2})}}, kList,
                 {{"x:0", floats({1, 2})}, {"m:0", floats({1, next})}, {"r:0", floats({1, 3})}});
  ASSERT_TRUE(d.first);
  EXPECT_EQ(d.first->node, "m");
  EXPECT_EQ(d.first->ops_a, "MatMul");
  EXPECT_EQ(d.first->position, "[1]");
  EXPECT_EQ(d.first->a, "2");
  EXPECT_EQ(d.first->b, "2.0000002");
  EXPECT_EQ(d.first->ulps, 1u);
  EXPECT_EQ(d.first->differing, 1u);
  ASSERT_EQ(d.first->inputs.size(), 1u);
  EXPECT_EQ(d.first->inputs[0].name, "input/x");
  EXPECT_EQ(d.first->inputs[0].state, ComparedInput::State::kEqual);
  EXPECT_THAT(d.later, ElementsAre("r:0"));
  EXPECT_EQ(d.compared, 3u);
  EXPECT_EQ(d.equal, 1u);
}

// b computes the product and what follows as one: it keeps no product.
TEST(StepDifference, WhatOnlyOnePlanKeepsIsNamedAndNotCompared) {
  const std::vector<ListedTensor> fused{{"x:0", "input/x", "QueueDequeue", "batch"},
                                        {"m:0", "", "MatMul", "beside", {"x:0"}},
                                        {"r:0", "", "MatMul + Relu", "computed", {"x:0"}}};
  const StepDifference d = difference(kList, {{"x:0", floats({1})}, {"m:0", floats({1})}, {"r:0", floats({1})}}, fused,
                                      {{"x:0", floats({1})}, {"r:0", floats({2})}});
  ASSERT_TRUE(d.first);
  EXPECT_EQ(d.first->node, "r");
  EXPECT_EQ(d.first->ops_a, "Relu");
  EXPECT_EQ(d.first->ops_b, "MatMul + Relu");
  ASSERT_EQ(d.one_sided.size(), 1u);
  EXPECT_EQ(d.one_sided[0].name, "m:0");
  EXPECT_TRUE(d.one_sided[0].of_a);
  std::map<std::string, ComparedInput::State> inputs;
  for (const ComparedInput& in : d.first->inputs) inputs[in.name] = in.state;
  EXPECT_EQ(inputs.at("m:0"), ComparedInput::State::kOnOneSide);
  EXPECT_EQ(inputs.at("input/x"), ComparedInput::State::kEqual);
  EXPECT_EQ(d.compared, 2u);
}

TEST(StepDifference, OtherFormsDifferWithoutValues) {
  const StepDifference d = difference(kList, {{"x:0", floats({1, 2})}}, kList, {{"x:0", floats({1})}});
  ASSERT_TRUE(d.first);
  EXPECT_EQ(d.first->form_a, "float32 [2]");
  EXPECT_EQ(d.first->form_b, "float32 [1]");
  EXPECT_FALSE(d.first->ulps);
}

TEST(StepDifference, EqualStepsHaveNone) {
  const std::map<std::string, Tensor> values{{"x:0", floats({1})}, {"m:0", floats({std::nanf("")})}};
  const StepDifference d = difference(kList, values, kList, values);
  EXPECT_FALSE(d.first);
  EXPECT_EQ(d.equal, 2u);
  EXPECT_THAT(d.one_sided, IsEmpty());
}

std::optional<std::uint64_t> ulps(float a, float b) {
  const Tensor x = floats({a}), y = floats({b});
  return ulps_between(TensorView(x.view()), TensorView(y.view()), 0);
}

TEST(StepDifference, UnitsInTheLastPlaceCountTheNumbersBetween) {
  EXPECT_EQ(ulps(1.f, 1.f), 0u);
  EXPECT_EQ(ulps(0.f, -0.f), 0u);
  EXPECT_EQ(ulps(-1.f, std::nextafterf(-1.f, 0.f)), 1u);
  EXPECT_EQ(ulps(std::nextafterf(0.f, 1.f), std::nextafterf(0.f, -1.f)), 2u);
  EXPECT_EQ(ulps(1.f, 2.f), 1u << 23);
  EXPECT_EQ(ulps(1.f, std::nanf("")), std::nullopt);
  const Tensor x(1.0), y(std::nextafter(1.0, 2.0)), i(std::int64_t{1}), j(std::int64_t{2});
  EXPECT_EQ(ulps_between(TensorView(x.view()), TensorView(y.view()), 0), 1u);
  EXPECT_EQ(ulps_between(TensorView(i.view()), TensorView(j.view()), 0), std::nullopt);
}

}  // namespace
}  // namespace belay::runtime
