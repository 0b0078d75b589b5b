// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_sample_dump;

namespace sample_dump_test {

using namespace belay::testing;
using belay::Tensor;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_sample_dump); }

class SampleDump : public ::testing::Test {
 protected:
  HookDriver& started(const OptionValues& options, const StoredState* state = nullptr, std::int64_t step = 0) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->global_step(step);
    hook_->tensor<float>("loss");
    hook_->tensor<float>("scores", {-1, 2});
    hook_->tensor<std::int64_t>("label", {-1});
    hook_->tensor<float>("images", {-1, 4, 4, 1});
    hook_->graph().op("ImageSummary", belay::DType::kString, belay::Dims{});
    hook_->begin();
    if (state != nullptr) hook_->load_state(*state);
    hook_->create_session();
    hook_->session().set_value("loss", 0.5f);
    hook_->session().set_value("scores",
                               Tensor({3, 2}, {1.f, 2.f, 3.f, std::numeric_limits<float>::infinity(), 5.f, 6.f}));
    hook_->session().set_value("label", Tensor({3}, std::vector<std::int64_t>{7, 8, 9}));
    return *hook_;
  }
  std::string written() const {
    std::ifstream file(folder_.path() + "/samples.jsonl");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(SampleDump, WritesTheFirstRowsOfTheBatch) {
  started({{"tensors", Texts{"loss", "scores", "label"}}, {"rows", 2}, {"every_n_steps", 2}});
  hook_->step();
  hook_->step();
  EXPECT_EQ(written(),
            "{\"global_step\":1,\"row\":0,\"loss\":0.5,\"scores\":[1.0,2.0],\"label\":7}\n"
            "{\"global_step\":1,\"row\":1,\"loss\":0.5,\"scores\":[3.0,\"Infinity\"],\"label\":8}\n");
}

TEST_F(SampleDump, OrTheWholeOfEachBatch) {
  started({{"tensors", Texts{"label"}}, {"rows", 0}, {"every_n_steps", 1}});
  hook_->step();
  hook_->step();
  const std::string text = written();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
}

TEST_F(SampleDump, ImagesGoIntoTheEventFile) {
  HookDriver& hook = started({{"images", Texts{"images"}}, {"every_n_steps", 2}});
  hook.session().set_value("sample_dump/images", Tensor(std::string_view("png")));
  for (int i = 0; i < 3; ++i) hook.step();
  ASSERT_EQ(hook.events().summaries().size(), 2u);
  EXPECT_EQ(hook.events().summaries()[1].step, 3);
  EXPECT_EQ(written(), "");
}

TEST_F(SampleDump, AResumedRunCutsOffWhatComesAgain) {
  const OptionValues options{{"tensors", Texts{"label"}}, {"rows", 1}, {"every_n_steps", 2}};
  HookDriver& before = started(options);
  for (int i = 0; i < 4; ++i) before.step();
  const StoredState state = before.save_state();
  for (int i = 0; i < 4; ++i) before.step();
  const std::string whole = written();
  HookDriver& after = started(options, &state, 4);
  EXPECT_EQ(written(), whole.substr(0, whole.find("{\"global_step\":5")));
  for (int i = 0; i < 4; ++i) after.step();
  EXPECT_EQ(written(), whole);
}

TEST_F(SampleDump, T_155_ASessionAnewOverTheSameVariablesKeepsAllLines) {
  const OptionValues options{{"tensors", Texts{"label"}}, {"rows", 2}, {"every_n_steps", 1}};
  HookDriver& before = started(options);
  for (int i = 0; i < 2; ++i) before.step();
  const StoredState state = before.save_state();
  HookDriver& after = started(options, &state, 2);
  after.step();
  const std::string three = written();
  after.recover();
  EXPECT_EQ(written(), three);
  after.set_global_step(2);
  after.recover();
  after.step();
  EXPECT_EQ(written(), three);
}

TEST_F(SampleDump, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([&] { started({}); }), "INVALID_ARGUMENT: nothing to write: name 'tensors', 'images' or both");
  EXPECT_EQ(error_of([&] {
              started({{"tensors", Texts{"loss"}}, {"output_file", std::string("a/b")}});
            }),
            "INVALID_ARGUMENT: 'output_file' is 'a/b'; give a name without '/'");
}

TEST_F(SampleDump, BetweenTwoBatchesItAllocatesNothing) {
  HookDriver& hook = started({{"tensors", Texts{"label"}}});
  hook.step();
  hook.step();
  hook.probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook.step().probed, 0u);
}

}  // namespace sample_dump_test
