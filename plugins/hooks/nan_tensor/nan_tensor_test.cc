// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_nan_tensor;

namespace nan_tensor_test {

using namespace belay::testing;
using belay::Tensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

const belay_module& module() { return module_under_test(belay_module_nan_tensor); }

std::unique_ptr<HookDriver> started(const OptionValues& options = {}) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("loss");
  hook->global_step(0);
  hook->begin();
  hook->create_session();
  return hook;
}

TEST(NanTensor, WatchesFloatingPointScalars) {
  struct Case {
    const char* name;
    const char* error;
  };
  for (const Case& c :
       {Case{"los", "NOT_FOUND: the graph has no 'los'; did you mean 'loss'?"},
        Case{"count", "INVALID_ARGUMENT: nan_tensor watches a floating-point scalar, 'count:0' (int64 []) is none"},
        Case{"logits",
             "INVALID_ARGUMENT: nan_tensor watches a floating-point scalar, 'logits:0' (float32 [?, 10]) is none"},
        Case{"train", "INVALID_ARGUMENT: nan_tensor watches a floating-point scalar, 'train' (invalid []) is none"}}) {
    HookDriver hook(module(), {{"tensor", c.name}});
    hook.tensor<float>("loss");
    hook.tensor<std::int64_t>("count");
    hook.tensor<float>("logits", {-1, 10});
    hook.graph().operation("train");
    EXPECT_EQ(error_of([&] { hook.begin(); }), c.error);
  }
}

TEST(NanTensor, FetchesOnlyItsTensorEachRun) {
  const auto hook = started();
  hook->begin_again();
  for (int i = 0; i < 3; ++i) {
    const StepResult result = hook->step({{"loss", 1.f}});
    EXPECT_EQ(result.fetched, std::vector<std::string>{"loss"});
    EXPECT_FALSE(result.stop_asked);
  }
  EXPECT_TRUE(hook->logged().empty());
  EXPECT_TRUE(hook->session().raw_runs().empty());
}

TEST(NanTensor, FiniteValuesPass) {
  const auto hook = started();
  for (const float value :
       {0.f, -0.f, -1e38f, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()})
    EXPECT_FALSE(hook->step({{"loss", value}}).stop_asked) << value;
}

TEST(NanTensor, TheRunFailsAsDiverged) {
  struct Case {
    float value;
    const char* error;
  };
  for (const Case& c :
       {Case{kNan,
             "DIVERGED: [B5043] 'loss' is nan at step 2: training has diverged; lower the learning rate or "
             "clip the gradients"},
        Case{kInf,
             "DIVERGED: [B5043] 'loss' is inf at step 2: training has diverged; lower the learning rate or "
             "clip the gradients"},
        Case{-kInf,
             "DIVERGED: [B5043] 'loss' is -inf at step 2: training has diverged; lower the learning rate "
             "or clip the gradients"}}) {
    const auto hook = started();
    hook->step({{"loss", 1.f}});
    EXPECT_EQ(error_of([&] { hook->step({{"loss", c.value}}); }), c.error);
  }
}

TEST(NanTensor, OrItStopsWithoutAnError) {
  const auto hook = started({{"fail_on_nan_loss", false}});
  hook->step({{"loss", 1.f}});
  const StepResult nan = hook->step({{"loss", kNan}});
  EXPECT_EQ(nan.stop_reason, "NaN loss: 'loss' is nan at step 2");
  EXPECT_EQ(
      nan.logged,
      (std::vector<std::string>{"error: [B5043] 'loss' is nan at step 2: training has diverged; the run stops here"}));
  EXPECT_EQ(hook->step({{"loss", kInf}}).stop_reason, "infinite loss: 'loss' is inf at step 3");
}

TEST(NanTensor, ACallerThatGoesOnDoesNotFillTheLog) {
  const auto hook = started({{"fail_on_nan_loss", false}});
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(hook->step({{"loss", kNan}}).stop_asked);
    hook->host().clock.advance(0.25);
  }
  EXPECT_EQ(hook->logged().size(), 3u);  // at 0, 10 and 20 s
}

TEST(NanTensor, InfinityCanBeAllowed) {
  const auto hook = started({{"check_inf", false}});
  EXPECT_FALSE(hook->step({{"loss", kInf}}).stop_asked);
  EXPECT_FALSE(hook->step({{"loss", -kInf}}).stop_asked);
  EXPECT_EQ(error_of([&] {
              hook->step({{"loss", kNan}});
            }),
            "DIVERGED: [B5043] 'loss' is nan at step 3: training has diverged; lower the learning rate or clip the "
            "gradients");
}

TEST(NanTensor, WorksWithoutAGlobalStep) {
  HookDriver hook(module());
  hook.tensor<double>("loss");
  hook.begin();
  hook.create_session();
  EXPECT_EQ(error_of([&] {
              hook.step({{"loss", static_cast<double>(kNan)}});
            }),
            "DIVERGED: [B5043] 'loss' is nan: training has diverged; lower the learning rate or clip the gradients");
}

TEST(NanTensor, WatchesTheNarrowTypes) {
  struct Case {
    belay::DType dtype;
    std::uint16_t finite, bad;
  };
  for (const Case& c : {Case{belay::DType::kBFloat16, 0x3f80, 0x7fc0}, Case{belay::DType::kFloat16, 0x3c00, 0x7e00}}) {
    HookDriver hook(module());
    hook.graph().tensor("loss", c.dtype, belay::Dims{});
    hook.begin();
    hook.create_session();
    Tensor value(c.dtype, {});
    const auto set = [&](std::uint16_t bits) { std::memcpy(value.view().data, &bits, sizeof(bits)); };
    set(c.finite);
    hook.step({{"loss", value}});
    set(c.bad);
    EXPECT_EQ(error_of([&] {
                hook.step({{"loss", value}});
              }),
              "DIVERGED: [B5043] 'loss' is nan: training has diverged; lower the learning rate or clip the gradients");
  }
}

TEST(NanTensor, AShapeKnownOnlyInTheRunIsChecked) {
  HookDriver hook(module());
  hook.graph().tensor("loss", belay::DType::kFloat32, std::nullopt);
  hook.begin();
  hook.create_session();
  EXPECT_FALSE(hook.step({{"loss", 1.f}}).stop_asked);
  EXPECT_EQ(error_of([&] {
              hook.step({{"loss", Tensor({2}, {1.f, 2.f})}});
            }),
            "INVALID_ARGUMENT: nan_tensor watches a scalar, 'loss:0' (float32 [...]) had the shape [2]");
}

TEST(NanTensor, AllocatesNothing) {
  const auto hook = started();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step({{"loss", 1.f}}).probed, 0u);
}

}  // namespace nan_tensor_test
