// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_warm_start;

namespace warm_start_test {

using namespace belay::testing;
using belay::Tensor;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_warm_start); }

const char kPath[] = "runs/a/model.ckpt-100";

// Makes a model of two layers, and a checkpoint with one of them.
std::unique_ptr<InitFnDriver> driver(const OptionValues& options) {
  auto init = std::make_unique<InitFnDriver>(module(), options);
  init->variable("dense/w", Tensor({2}, {0.f, 0.f}));
  init->variable("dense/b", Tensor(0.f));
  init->variable("head/w", Tensor({2}, {0.f, 0.f}));
  init->variable("global_step", Tensor(std::int64_t{0}), false);
  init->checkpoints().add(kPath, {{"dense/w", Tensor({2}, {1.f, 2.f})},
                                  {"dense/b", Tensor(3.f)},
                                  {"old_head/w", Tensor({2}, {4.f, 5.f})},
                                  {"wide", Tensor({3}, {6.f, 7.f, 8.f})},
                                  {"global_step", Tensor(std::int64_t{100})}});
  return init;
}

std::string error_of_run(const OptionValues& options) {
  const auto init = driver(options);
  return error_of([&] { init->run(); });
}

TEST(WarmStart, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] { InitFnDriver init(module()); }), "INVALID_ARGUMENT: 'from' is required");
  EXPECT_THAT(error_of([] {
                InitFnDriver init(module(), {{"from", kPath}, {"vars", Texts{"dense/.*", "("}}});
              }),
              ::testing::StartsWith("INVALID_ARGUMENT: 'vars' has \"(\", which is no regular expression: "));
  EXPECT_EQ(error_of([] {
              InitFnDriver init(module(), {{"from", kPath}, {"names.head/w", 3}});
            }),
            "INVALID_ARGUMENT: 'names.head/w' must be a string: a name in the checkpoint");
  EXPECT_EQ(error_of([] {
              InitFnDriver init(module(), {{"from", kPath}, {"vars", Texts{"(?!head).*"}}});
            }),
            "INVALID_ARGUMENT: 'vars' has \"(?!head).*\", which is no regular expression: invalid perl operator: (?!");
}

TEST(WarmStart, T_166_NeitherALongNameNorALongPatternTakesMoreStack) {
  constexpr std::size_t kLong = 1 << 20;
  const std::string name(kLong, 'n'), path = kPath;  // of equal names the last one counts
  const auto init = driver({{"from", path}, {"vars", Texts{"(n|m)*$", std::string(100'000, 'n')}}});
  init->variable(name, Tensor(0.f));
  init->checkpoints().add(path, {{name, Tensor(7.f)}});
  init->run();
  EXPECT_EQ(init->session().assigned(), Texts{name});
}

// This is the example of belay/testing/init_fn_driver.h, word for word.
TEST(WarmStart, T_138_TheExampleOfTheDriverRuns) {
  InitFnDriver init(module(), {{"from", "runs/a/model.ckpt-100"}});
  init.variable("dense/w", Tensor({2}, {0.f, 0.f}));
  init.checkpoints().add("runs/a/model.ckpt-100", {{"dense/w", Tensor({2}, {1.f, 2.f})}});
  init.run();
  EXPECT_EQ(init.text_of("dense/w"), "[1, 2]");
}

TEST(WarmStart, TakesAllTrainableVariablesThatTheCheckpointHas) {
  const auto init = driver({{"from", kPath}});
  init->run();
  EXPECT_EQ(init->text_of("dense/w"), "[1, 2]");
  EXPECT_EQ(init->text_of("dense/b"), "3");
  EXPECT_EQ(init->text_of("head/w"), "[0, 0]");
  EXPECT_EQ(init->text_of("global_step"), "0");
  EXPECT_EQ(init->session().assigned(), (Texts{"dense/w", "dense/b"}));
  EXPECT_EQ(init->logged(), (Texts{"info: warm start from 'runs/a/model.ckpt-100': 2 variables: dense/w, dense/b",
                                   "warning: not in 'runs/a/model.ckpt-100', so they keep their initial values: head/w",
                                   "info: not taken from 'runs/a/model.ckpt-100': global_step, old_head/w, wide"}));
}

TEST(WarmStart, ADirectoryStandsForItsNewestCheckpoint) {
  const auto init = driver({{"from", "runs/a"}, {"vars", Texts{"dense/b"}}});
  init->checkpoints().add("runs/a/model.ckpt-200", {{"dense/b", Tensor(9.f)}});
  init->run();
  EXPECT_EQ(init->text_of("dense/b"), "9");
  EXPECT_EQ(init->logged(), Texts{"info: warm start from 'runs/a': 1 variable: dense/b"});
}

TEST(WarmStart, PatternsChooseAmongAllVariables) {
  const auto init = driver({{"from", kPath}, {"vars", Texts{"dense/w", "global_step"}}});
  init->run();
  EXPECT_EQ(init->session().assigned(), (Texts{"dense/w", "global_step"}));
  EXPECT_EQ(init->text_of("global_step"), "100");
}

TEST(WarmStart, PatternsMatchFromTheStartOfTheName) {
  const auto init = driver({{"from", kPath}, {"vars", Texts{"den"}}});
  init->run();
  EXPECT_EQ(init->session().assigned(), (Texts{"dense/w", "dense/b"}));
  EXPECT_EQ(
      error_of_run({{"from", kPath}, {"vars", Texts{"w", "dense"}}}),
      "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': \"w\" in 'vars' matches no variable; there are: "
      "dense/w, dense/b, head/w, global_step");
}

TEST(WarmStart, NamesMapToOtherNames) {
  const auto init = driver({{"from", kPath}, {"names.head/w", "old_head/w"}});
  init->run();
  EXPECT_EQ(init->text_of("head/w"), "[4, 5]");
  EXPECT_EQ(init->logged()[0],
            "info: warm start from 'runs/a/model.ckpt-100': 3 variables: dense/w, dense/b, head/w (from old_head/w)");
}

TEST(WarmStart, OneTensorMayServeTwoVariables) {
  const auto init = driver({{"from", kPath}, {"names.head/w", "dense/w"}});
  init->run();
  EXPECT_EQ(init->text_of("head/w"), "[1, 2]");
  EXPECT_EQ(init->text_of("dense/w"), "[1, 2]");
}

TEST(WarmStart, AMappedNameMustBeInTheCheckpoint) {
  EXPECT_EQ(
      error_of_run({{"from", kPath}, {"names.head/w", "old_heat/w"}}),
      "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': 'names' maps 'head/w' to the tensor 'old_heat/w', "
      "which the checkpoint has not (did you mean \"old_head/w\"?)");
}

TEST(WarmStart, AMapEntryThatIsNotUsedIsAnErrorAfterAllElse) {
  const auto init = driver({{"from", kPath}, {"names.heat/w", "old_head/w"}});
  EXPECT_EQ(
      error_of([&] { init->run(); }),
      "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': 'names' has 'heat/w', which is no chosen variable "
      "(did you mean \"head/w\"?); these are: dense/w, dense/b, head/w");
  EXPECT_EQ(init->session().assigned(), (Texts{"dense/w", "dense/b"}));
}

TEST(WarmStart, AMapEntryForAVariableThatWasNotChosenIsNotUsed) {
  EXPECT_EQ(
      error_of_run({{"from", kPath}, {"vars", Texts{"dense"}}, {"names.head/w", "old_head/w"}}),
      "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': 'names' has 'head/w', which is no chosen variable; "
      "these are: dense/w, dense/b");
}

TEST(WarmStart, ShapesAndTypesMustAgree) {
  EXPECT_EQ(
      error_of_run({{"from", kPath}, {"names.head/w", "wide"}}),
      "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': variable 'head/w' is float32 [2], tensor 'wide' of "
      "the checkpoint is float32 [3]");
  EXPECT_EQ(error_of_run({{"from", kPath}, {"names.dense/b", "global_step"}}),
            "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': variable 'dense/b' is float32 [], tensor "
            "'global_step' of the checkpoint is int64 []");
}

TEST(WarmStart, AllMistakesAreToldAtOnce) {
  EXPECT_EQ(
      error_of_run({{"from", kPath}, {"vars", Texts{"dense", "x"}}, {"names.dense/b", "wide"}, {"names.y", "z"}}),
      "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': variable 'dense/b' is float32 [], tensor 'wide' of "
      "the checkpoint is float32 [3]; \"x\" in 'vars' matches no variable; there are: dense/w, dense/b, head/w, "
      "global_step; 'names' has 'y', which is no chosen variable; these are: dense/w, dense/b");
}

TEST(WarmStart, NothingToTakeIsAnError) {
  const auto foreign = driver({{"from", "runs/b"}});
  foreign->checkpoints().add("runs/b/model.ckpt-1", {{"x", Tensor(1.f)}, {"y", Tensor(2.f)}});
  EXPECT_EQ(error_of([&] { foreign->run(); }),
            "INVALID_ARGUMENT: warm start from 'runs/b': no variable was found in it; it has: x, y");

  InitFnDriver none(module(), {{"from", kPath}});
  none.variable("global_step", Tensor(std::int64_t{0}), false);
  none.checkpoints().add(kPath, {{"w", Tensor(1.f)}});
  EXPECT_EQ(error_of([&] { none.run(); }),
            "INVALID_ARGUMENT: warm start from 'runs/a/model.ckpt-100': the graph has no trainable variable");
}

TEST(WarmStart, AMissingOrDamagedCheckpointIsAnError) {
  EXPECT_EQ(error_of_run({{"from", "runs/c"}}), "NOT_FOUND: no checkpoint at 'runs/c'");
  const auto damaged = driver({{"from", "runs/d"}});
  damaged->checkpoints().add_damaged("runs/d", belay::Error(belay::Code::kDataLoss, "runs/d/index: checksum differs"));
  EXPECT_EQ(error_of([&] { damaged->run(); }), "DATA_LOSS: runs/d/index: checksum differs");
}

TEST(WarmStart, LongListsAreCut) {
  InitFnDriver init(module(), {{"from", "runs/e"}});
  std::map<std::string, Tensor> tensors;
  for (int i = 100; i < 130; ++i) {
    init.variable("w" + std::to_string(i), Tensor(0.f));
    tensors.emplace("w" + std::to_string(i), Tensor(static_cast<float>(i)));
  }
  init.checkpoints().add("runs/e", tensors);
  init.run();
  EXPECT_EQ(init.logged(),
            Texts{"info: warm start from 'runs/e': 30 variables: w100, w101, w102, w103, w104, w105, w106, w107, w108, "
                  "w109, w110, w111, w112, w113, w114, w115, w116, w117, w118, w119, and 10 more"});
}

}  // namespace warm_start_test
