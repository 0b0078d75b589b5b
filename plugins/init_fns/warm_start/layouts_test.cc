// SPDX-License-Identifier: Apache-2.0
// Tests scopes, transposed and converted tensors, `except` and `strict`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_warm_start;

namespace layouts_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

OptionValues both(OptionValues all, const OptionValues& more) {
  for (const belay::OptionValue& value : more.all()) all = all.with(value);
  return all;
}

const belay_module& warm_start_module() { return module_under_test(belay_module_warm_start); }

const char kOther[] = "runs/other/model.ckpt-9";
const std::string kStart = "INVALID_ARGUMENT: warm start from '" + std::string(kOther) + "': ";

Tensor zeros(const belay::Dims& dims) { return Tensor(DType::kFloat32, dims); }

// Makes variables of a model with an encoder, and another program's checkpoint.
std::unique_ptr<InitFnDriver> scoped(const OptionValues& options) {
  auto init = std::make_unique<InitFnDriver>(warm_start_module(), both({{"from", kOther}}, options));
  for (const char* name : {"encoder/w", "encoder/layer/w", "encoder_1/w", "head/w"}) init->variable(name, zeros({2}));
  init->checkpoints().add(kOther, {{"bert/w", Tensor({2}, {1.f, 2.f})},
                                   {"bert/layer/w", Tensor({2}, {3.f, 4.f})},
                                   {"bert_1/w", Tensor({2}, {5.f, 6.f})},
                                   {"w", Tensor({2}, {7.f, 8.f})},
                                   {"layer/w", Tensor({2}, {9.f, 10.f})}});
  return init;
}

OptionValues scope(const std::string& from, const std::string& to) {
  return {{"scopes.0.from", from}, {"scopes.0.to", to}};
}

std::string error_with(const OptionValues& options) {
  return error_of([&] { scoped(options)->run(); });
}

TEST(WarmStartScopes, VariablesBelowOneScopeAreTakenFromAnother) {
  const auto init = scoped(scope("bert/", "encoder/"));
  init->run();
  EXPECT_EQ(init->text_of("encoder/w"), "[1, 2]");
  EXPECT_EQ(init->text_of("encoder/layer/w"), "[3, 4]");
  EXPECT_EQ(init->logged()[0],
            "info: warm start from 'runs/other/model.ckpt-9': 2 variables: encoder/w (from bert/w), "
            "encoder/layer/w (from bert/layer/w)");
}

TEST(WarmStartScopes, CKU_06_AScopeDoesNotTakeInNamesThatOnlyBeginAlike) {
  const auto init = scoped(scope("bert/", "encoder/"));
  init->run();
  EXPECT_EQ(init->session().assigned(), (Names{"encoder/w", "encoder/layer/w"}));
  EXPECT_EQ(init->text_of("encoder_1/w"), "[0, 0]");
}

TEST(WarmStartScopes, CKU_07_TheRootOfTheCheckpointGoesBelowAScopeAndARootToARootIsEverything) {
  const auto below = scoped(scope("/", "encoder/"));
  below->run();
  EXPECT_EQ(below->text_of("encoder/w"), "[7, 8]");
  EXPECT_EQ(below->text_of("encoder/layer/w"), "[9, 10]");
  EXPECT_EQ(below->session().assigned(), (Names{"encoder/w", "encoder/layer/w"}));

  InitFnDriver all(warm_start_module(), both({{"from", kOther}}, scope("/", "/")));
  all.variable("w", zeros({2}));
  all.variable("bert/layer/w", zeros({2}));
  all.checkpoints().add(kOther, {{"w", Tensor({2}, {7.f, 8.f})}, {"bert/layer/w", Tensor({2}, {3.f, 4.f})}});
  all.run();
  EXPECT_EQ(all.text_of("w"), "[7, 8]");
  EXPECT_EQ(all.text_of("bert/layer/w"), "[3, 4]");
}

TEST(WarmStartScopes, CKU_09_WhatIsMappedInVainIsAnErrorWithItsName) {
  EXPECT_EQ(error_of([] {
              InitFnDriver init(warm_start_module(), {{"from", "runs/c"}});
              init.run();
            }),
            "NOT_FOUND: no checkpoint at 'runs/c'");
  EXPECT_EQ(error_with({{"names.head/w", "bert/v"}}),
            kStart +
                "'names' maps 'head/w' to the tensor 'bert/v', which the checkpoint has not (did you mean "
                "\"bert/w\"?)");
  EXPECT_THAT(error_with({{"names.haed/w", "bert/w"}}),
              HasSubstr("'names' has 'haed/w', which is no chosen variable (did you mean \"head/w\"?)"));
  InitFnDriver misfit(warm_start_module(), both({{"from", kOther}}, scope("bert/", "encoder/")));
  misfit.variable("encoder/w", zeros({3}));
  misfit.checkpoints().add(kOther, {{"bert/w", Tensor({2}, {1.f, 2.f})}});
  EXPECT_EQ(error_of([&] { misfit.run(); }),
            kStart + "variable 'encoder/w' is float32 [3], tensor 'bert/w' of the checkpoint is float32 [2]");
  // A member of the scope is missing.
  EXPECT_EQ(error_with(scope("bert_1/", "encoder/")),
            kStart +
                "'scopes.0' maps 'encoder/layer/w' to the tensor 'bert_1/layer/w', which the checkpoint has not "
                "(did you mean \"bert/layer/w\"?)");
  EXPECT_EQ(error_with(scope("bert", "encoder/")),
            "INVALID_ARGUMENT: 'scopes.0': 'from' is \"bert\"; a scope ends in '/': \"bert/\"");
  EXPECT_EQ(error_with(scope("bert/", "encoder")),
            "INVALID_ARGUMENT: 'scopes.0': 'to' is \"encoder\"; a scope ends in '/': \"encoder/\"");
}

TEST(WarmStartScopes, TheLongestScopeCounts) {
  const auto init =
      scoped(both(scope("bert/", "encoder/"), {{"scopes.1.from", "/"}, {"scopes.1.to", "encoder/layer/"}}));
  init->run();
  EXPECT_EQ(init->text_of("encoder/w"), "[1, 2]");
  EXPECT_EQ(init->text_of("encoder/layer/w"), "[7, 8]");
}

TEST(WarmStartScopes, ANameComesBeforeTheScopesAndTakesInWhatNoScopeHas) {
  const auto init =
      scoped(both(scope("bert/", "encoder/"), {{"names.head/w", "w"}, {"names.encoder/layer/w", "bert_1/w"}}));
  init->run();
  EXPECT_EQ(init->text_of("encoder/layer/w"), "[5, 6]");
  EXPECT_EQ(init->text_of("head/w"), "[7, 8]");
  EXPECT_EQ(init->text_of("encoder/w"), "[1, 2]");
}

TEST(WarmStartScopes, OneThatIsNotUsedOrGivenTwiceIsAnError) {
  EXPECT_THAT(error_with(both(scope("bert/", "encoder/"), {{"scopes.1.from", "bert/"}, {"scopes.1.to", "decoder/"}})),
              HasSubstr("'scopes.1': no chosen variable lies below to = \"decoder/\"; there are: encoder/w, "
                        "encoder/layer/w"));
  EXPECT_EQ(error_with(both(scope("bert/", "encoder/"), {{"scopes.1.from", "/"}, {"scopes.1.to", "encoder/"}})),
            "INVALID_ARGUMENT: 'scopes.1' and 'scopes.0' have the same 'to', \"encoder/\"; take one of them out");
}

TEST(WarmStartExcept, LeavesVariablesOut) {
  const auto init = scoped(both({{"except", Names{".*_1", "head"}}}, scope("bert/", "encoder/")));
  init->run();
  EXPECT_EQ(init->session().assigned(), (Names{"encoder/w", "encoder/layer/w"}));
  EXPECT_THAT(error_with({{"except", Names{"haed"}}, {"names.head/w", "w"}}),
              HasSubstr("\"haed\" in 'except' matches no variable; there are: encoder/w"));
  EXPECT_EQ(error_with({{"except", Names{".*"}}}), kStart + "'except' leaves no variable");
}

// Restores our matrix [2, 3] from the tensor `stored`, and returns its text.
std::string transposed_text(const Tensor& stored, const OptionValues& options, const belay::Dims& dims = {2, 3}) {
  InitFnDriver init(warm_start_module(), both({{"from", kOther}}, options));
  init.variable("w", zeros(dims));
  init.checkpoints().add(kOther, {{"w", stored}});
  init.run();
  EXPECT_THAT(init.logged()[0], HasSubstr("w (transposed)"));
  return init.text_of("w");
}

TEST(WarmStartTranspose, AMatrixIsTurnedRoundWhereItIsSaidTo) {
  EXPECT_EQ(transposed_text(Tensor({3, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), {{"transpose.0.vars", "w"}}),
            "[[1, 3, 5], [2, 4, 6]]");
}

TEST(WarmStartTranspose, AxesAreThoseOfNumpy) {
  // The values are numpy.arange(6.).reshape(1, 2, 3, 1).transpose(2, 3, 1, 0).ravel(): out, in, height, width become
  // height, width, in, out.
  EXPECT_EQ(
      transposed_text(Tensor({1, 2, 3, 1}, {0.f, 1.f, 2.f, 3.f, 4.f, 5.f}),
                      {{"transpose.0.vars", Names{"w"}}, {"transpose.0.axes", std::vector<std::int64_t>{2, 3, 1, 0}}},
                      {3, 1, 2, 1}),
      "[[[[0], [3]]], [[[1], [4]]], [[[2], [5]]]]");
}

TEST(WarmStartTranspose, WithoutItNothingIsTurnedAndTheErrorSaysHow) {
  InitFnDriver init(warm_start_module(), {{"from", kOther}});
  init.variable("dense/w", zeros({2, 3}));
  init.checkpoints().add(kOther, {{"dense/w", Tensor({3, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})}});
  EXPECT_EQ(error_of([&] { init.run(); }),
            kStart +
                "variable 'dense/w' is float32 [2, 3], tensor 'dense/w' of the checkpoint is float32 [3, 2]; if it "
                "lies as [out, in], as PyTorch's linear layers do, add transpose = [{ vars = \"dense/w\" }]");
  EXPECT_TRUE(init.session().assigned().empty());
}

TEST(WarmStartTranspose, AxesMustFitTheTensorAndTheResultTheVariable) {
  const auto error = [](const OptionValues& options) {
    return error_of([&] {
      InitFnDriver init(warm_start_module(), both({{"from", kOther}}, options));
      init.variable("w", zeros({2, 3}));
      init.checkpoints().add(kOther, {{"w", zeros({2, 3})}});
      init.run();
    });
  };
  EXPECT_EQ(error({{"transpose.0.vars", "w"}}),
            kStart +
                "variable 'w' is float32 [2, 3], tensor 'w' of the checkpoint is float32 [2, 3], which 'transpose' "
                "turns round");
  EXPECT_EQ(error({{"transpose.0.vars", "w"}, {"transpose.0.axes", std::vector<std::int64_t>{0, 2}}}),
            "INVALID_ARGUMENT: 'transpose.0': axes = [0, 2] is no permutation of 0 to 1; a matrix has [1, 0]");
  EXPECT_THAT(
      error({{"transpose.0.vars", "w"}, {"transpose.0.axes", std::vector<std::int64_t>{2, 1, 0}}}),
      HasSubstr("'transpose.0' takes 3 dimensions, the tensor for variable 'w' has 2; give 'axes' for these, or "
                "narrower 'vars'"));
}

// Returns the bits of 1.5 and -0.25.
Tensor halves(DType dtype) {
  Tensor t(dtype, {2});
  const std::uint16_t bf16[] = {0x3fc0, 0xbe80}, f16[] = {0x3e00, 0xb400};
  std::memcpy(belay::TensorView(t.view()).mutable_data(), dtype == DType::kBFloat16 ? bf16 : f16, 4);
  return t;
}

TEST(WarmStartConvert, RoundsOtherFloatingPointTypesWhereItIsSaidTo) {
  const Tensor stored[] = {halves(DType::kBFloat16), halves(DType::kFloat16), Tensor({2}, {1.5, -0.25})};
  for (const Tensor& t : stored) {
    InitFnDriver init(warm_start_module(), {{"from", kOther}, {"convert", true}});
    init.variable("w", zeros({2}));
    init.checkpoints().add(kOther, {{"w", t}});
    init.run();
    EXPECT_EQ(init.text_of("w"), "[1.5, -0.25]");
    EXPECT_THAT(init.logged()[0], HasSubstr("w (rounded from " + std::string(belay::dtype_name(t.dtype())) + ")"));
  }
  InitFnDriver without(warm_start_module(), {{"from", kOther}});
  without.variable("w", zeros({2}));
  without.checkpoints().add(kOther, {{"w", halves(DType::kFloat16)}});
  EXPECT_EQ(
      error_of([&] { without.run(); }),
      kStart + "variable 'w' is float32 [2], tensor 'w' of the checkpoint is float16 [2]; convert = true rounds it");
}

TEST(WarmStartConvert, IntegersAreNeverConverted) {
  InitFnDriver init(warm_start_module(), {{"from", kOther}, {"convert", true}});
  init.variable("w", zeros({2}));
  init.checkpoints().add(kOther, {{"w", Tensor({2}, {1, 2})}});
  EXPECT_EQ(error_of([&] { init.run(); }),
            kStart + "variable 'w' is float32 [2], tensor 'w' of the checkpoint is int32 [2]");
}

TEST(WarmStartStrict, MissingVariablesAndTensorsThatNoVariableTakesAreErrors) {
  const auto init = [](const OptionValues& options) {
    auto made = std::make_unique<InitFnDriver>(warm_start_module(), both({{"from", kOther}}, options));
    made->variable("w", zeros({1}));
    made->variable("w/slot", zeros({1}), false);
    made->variable("b", zeros({1}));
    made->checkpoints().add(kOther, {{"w", Tensor({1}, {1.f})}, {"w/slot", zeros({1})}, {"old", zeros({1})}});
    return made;
  };
  init({})->run();
  EXPECT_EQ(error_of([&] {
              init({{"strict", true}})->run();
            }),
            kStart +
                "with strict = true each chosen variable must be in it, and it lacks: b; with strict = true each of "
                "its tensors must be a variable's, and no variable takes: old");
  // Variables that are not chosen need no tensor, but a tensor for one of them is not unused.
  init({{"strict", true}, {"except", Names{"b"}}, {"names.w", "old"}});
  EXPECT_EQ(error_of([&] {
              init({{"strict", true}, {"except", Names{"b"}}})->run();
            }),
            kStart + "with strict = true each of its tensors must be a variable's, and no variable takes: old");
}

TEST(WarmStartStrict, OutsideTheScopesOfTheCheckpointAllMayLie) {
  const auto init = scoped(both({{"strict", true}}, scope("bert/", "encoder/")));
  init->run();
  EXPECT_EQ(init->text_of("encoder/w"), "[1, 2]");
}

}  // namespace layouts_test
