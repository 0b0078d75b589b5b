// SPDX-License-Identifier: Apache-2.0
// tests/e2e/hooks_that_stop_test.cc tests the checks in a run with the real engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_nan_guard;

namespace nan_guard_test {

using namespace belay::testing;
using belay::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const belay_module& module() { return module_under_test(belay_module_nan_guard); }

class NanGuard : public ::testing::Test {
 protected:
  HookDriver& driver(const OptionValues& options = {}) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->tensor<float>("dense/w");
    hook_->tensor<float>("gradients/w");
    hook_->graph().collect("trainable_variables", "dense/w");
    return *hook_;
  }
  void gradients() {
    hook_->graph().collect("gradients", "gradients/w");
    hook_->graph().collect("gradient_variables", "dense/w");
  }
  HookDriver& started(const OptionValues& options = {}) {
    driver(options);
    gradients();
    hook_->begin();
    hook_->create_session();
    hook_->session().set_value("nan_guard/all", 1.f);
    return *hook_;
  }
  // Adds a checkpoint to the run directory.
  void checkpoint(int step, const Tensor& weight) {
    const std::string path = folder_.path() + "/model.ckpt-" + std::to_string(step);
    std::filesystem::create_directory(path);
    hook_->checkpoints().add(path, {{"dense/w", weight}});
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(NanGuard, ChecksGradientsAndWeightsByTheirNames) {
  HookDriver& hook = started();
  const std::string graph = hook.graph().text();
  EXPECT_THAT(graph, HasSubstr("the norm of the gradient of 'dense/w', before it was applied"));
  EXPECT_THAT(graph, HasSubstr("the norm of 'dense/w', as the step found it"));
  EXPECT_THAT(hook.step().fetched, ElementsAre("nan_guard/all"));
}

TEST_F(NanGuard, OneOfTheTwo) {
  EXPECT_THAT(started({{"weights", false}}).graph().text(), Not(HasSubstr("as the step found it")));
  EXPECT_THAT(started({{"gradients", false}}).graph().text(), Not(HasSubstr("before it was applied")));
  EXPECT_EQ(error_of([&] {
              driver({{"weights", false}, {"gradients", false}});
            }),
            "INVALID_ARGUMENT: nothing to check: leave 'gradients' or 'weights' true");
}

TEST_F(NanGuard, NeedsTheOptimizersGradients) {
  driver();
  EXPECT_THAT(error_of([&] { hook_->begin(); }), HasSubstr("FAILED_PRECONDITION: the graph has no gradients"));
}

TEST_F(NanGuard, EveryNthRun) {
  HookDriver& hook = started({{"every_n_steps", 3}});
  std::vector<bool> checked;
  for (int i = 0; i < 5; ++i) checked.push_back(!hook.step().fetched.empty());
  EXPECT_EQ(checked, (std::vector<bool>{true, false, false, true, false}));
}

TEST_F(NanGuard, NamesTheLastFiniteCheckpoint) {
  HookDriver& hook = started();
  checkpoint(10, Tensor(1.f));
  checkpoint(20, Tensor(2.f));
  checkpoint(100, Tensor(std::numeric_limits<float>::infinity()));
  hook.error(belay::Error(belay::Code::kDiverged, "the gradient"));
  EXPECT_THAT(hook.logged().back(),
              HasSubstr("error: the last checkpoint that is finite is '" + folder_.path() + "/model.ckpt-20'; lower"));
}

TEST_F(NanGuard, AnInfiniteNormMayBeOfFiniteElements) {
  HookDriver& hook = started();
  hook.error(belay::Error(belay::Code::kDiverged, "the norm of the gradient: the tensor has infinite values"));
  EXPECT_THAT(hook.logged(),
              ElementsAre(HasSubstr("a norm is infinite if an element is, or if an element is too large"),
                          HasSubstr("there is no checkpoint")));
}

TEST_F(NanGuard, LooksAtEveryElementOfEveryFloatingPointType) {
  HookDriver& hook = started();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto with_bits = [](belay::DType dtype, std::uint16_t bits) {  // sets the last element of a type of 16 bits
    Tensor tensor(dtype, {19});
    std::memcpy(static_cast<char*>(belay::TensorView(tensor).mutable_data()) + 36, &bits, sizeof bits);
    return tensor;
  };
  checkpoint(10, Tensor({3}, {1.0, 2.0, 3.0}));
  checkpoint(20, Tensor({3}, {1.0, 2.0, kNan}));
  checkpoint(30, with_bits(belay::DType::kBFloat16, 0x7f80));
  checkpoint(40, with_bits(belay::DType::kFloat16, 0xfc00));
  hook.error(belay::Error(belay::Code::kDiverged, "the gradient"));
  EXPECT_THAT(hook.logged().back(), HasSubstr("model.ckpt-10'"));
  checkpoint(50, with_bits(belay::DType::kBFloat16, 0x7f7f));
  hook.error(belay::Error(belay::Code::kDiverged, "the gradient"));
  EXPECT_THAT(hook.logged().back(), HasSubstr("model.ckpt-50'"));
}

TEST_F(NanGuard, SaysThatThereIsNone) {
  HookDriver& hook = started();
  hook.error(belay::Error(belay::Code::kDiverged, "the gradient"));
  EXPECT_EQ(hook.logged().back(), "error: there is no checkpoint to go back to");
}

TEST_F(NanGuard, AnotherErrorIsNotItsOwn) {
  HookDriver& hook = started();
  checkpoint(10, Tensor(1.f));
  hook.error(belay::Error(belay::Code::kUnavailable, "disk"));
  EXPECT_THAT(hook.logged(), IsEmpty());
}

TEST_F(NanGuard, ASecondBeginAddsNothing) {
  driver();
  gradients();
  hook_->begin();
  hook_->begin_again();
}

TEST_F(NanGuard, AllocatesNothing) {
  HookDriver& hook = started();
  hook.probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook.step().probed, 0u);
}

}  // namespace nan_guard_test
