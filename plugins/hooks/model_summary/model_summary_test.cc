// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_model_summary;

namespace model_summary_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const belay_module& module() { return module_under_test(belay_module_model_summary); }

class ModelSummary : public ::testing::Test {
 protected:
  HookDriver& started(const OptionValues& options = {}) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->session().variable("conv/kernel", Tensor(DType::kFloat32, {3, 3, 1, 16}));
    hook_->session().variable("conv/bias", Tensor(DType::kFloat32, {16}));
    hook_->session().variable("out/kernel", Tensor(DType::kFloat64, {1000, 10}));
    constexpr bool kTrained = false;
    hook_->session().variable("adam/conv/kernel", Tensor(DType::kFloat32, {250'000}), kTrained);
    hook_->begin();
    hook_->create_session();
    return *hook_;
  }
  std::string written() const {
    std::ifstream file(folder_.path() + "/model_summary.txt");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

constexpr const char* kTotal =
    "10,160 trainable parameters, 0.0806 MB; 1 MB of other variables (the optimizer's, the step); a checkpoint has "
    "1.08 MB";

TEST_F(ModelSummary, ListsTheVariablesOnce) {
  HookDriver& hook = started();
  const std::vector<std::string> lines{"conv/kernel  [3, 3, 1, 16]  float32     144",
                                       "conv/bias    [16]           float32      16",
                                       "out/kernel   [1000, 10]     float64  10,000", kTotal};
  std::vector<std::string> logged;
  std::string file;
  for (const std::string& line : lines) logged.push_back("info: " + line), file += line + "\n";
  EXPECT_EQ(hook.logged(), logged);
  EXPECT_EQ(written(), file);
  hook.recover();
  EXPECT_EQ(hook.logged().size(), lines.size());
}

TEST_F(ModelSummary, AddsUpLayers) {
  started({{"depth", 1}, {"log", false}});
  EXPECT_THAT(hook_->logged(), IsEmpty());
  EXPECT_EQ(written(),
            std::string("conv  2 variables  float32     160\nout   [1000, 10]   float64  10,000\n") + kTotal + "\n");
}

TEST_F(ModelSummary, WithoutAFile) {
  started({{"output_file", std::string()}});
  EXPECT_EQ(written(), "");
  EXPECT_EQ(error_of([&] {
              started({{"output_file", std::string("../x")}});
            }),
            "INVALID_ARGUMENT: 'output_file' is '../x'; give a name without '/'");
}

}  // namespace model_summary_test
