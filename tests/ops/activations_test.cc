// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/math.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

struct ActivationCase {
  const char* name;
  Build build;
  std::vector<double> kinks = {};
};
template <Output (*function)(const Output&, std::string_view)>
Output plain(const Inputs& in) {
  return function(in[0], {});
}
const std::vector<ActivationCase> kActivations = {
    {"Relu", plain<ops::relu>, {0}},
    {"Relu6", plain<ops::relu6>, {0, 6}},
    {"LeakyRelu", [](const Inputs& in) { return ops::leaky_relu(in[0], 0.3); }, {0}},
    {"Elu", plain<ops::elu>, {0}},
    {"Sigmoid", plain<ops::sigmoid>},
    {"Tanh", plain<ops::tanh>},
    {"Softplus", plain<ops::softplus>}};
const std::vector<ActivationCase> kSoftmax = {{"Softmax", plain<ops::softmax>},
                                              {"LogSoftmax", plain<ops::log_softmax>}};

TEST(Activations, GradientsAgreeWithFiniteDifferences) {
  for (const ActivationCase& c : kActivations) {
    SCOPED_TRACE(c.name);
    check_gradients(c.build, {{{3, 5}, -8, 8, c.kinks}});
    check_gradients(c.build, {{{}, -8, 8, c.kinks}});
  }
}

TEST(Activations, SecondGradientsAgreeWithFiniteDifferences) {
  // The derivatives of the gradient, by its input and by the incoming one.
  for (const ActivationCase& c : kActivations) {
    SCOPED_TRACE(c.name);
    check_gradients(
        [&](const Inputs& in) { return in[0].graph().gradients({c.build(in)}, {in[0]}, {in[1]})[0] * in[0]; },
        {{{12}, -4, 8, c.kinks}, {{12}}}, 1e-5);
  }
}

TEST(Activations, Float32AgreesWithFloat64) {
  for (const ActivationCase& c : kActivations)
    for (const Dims& dims : std::vector<Dims>{{}, {0}, {1}, {17}, {5, 33}, {70001}}) {
      SCOPED_TRACE(std::string(c.name) + " of " + dims_text(dims));
      check_float32(c.build, {{dims, -12, 12, c.kinks}}, 2e-6);
    }
}

TEST(Activations, NanStaysAndInfinitySaturates) {
  const Tensor x({3}, {kNan, kInf, -kInf});
  const std::vector<std::vector<float>> wanted = {{kInf, 0}, {6, 0},  {kInf, -kInf}, {kInf, -1},
                                                  {1, 0},    {1, -1}, {kInf, 0}};
  for (std::size_t i = 0; i < kActivations.size(); ++i) {
    const std::vector<float> y = run_op<float>(kActivations[i].build, {x});
    EXPECT_TRUE(std::isnan(y[0])) << kActivations[i].name;
    EXPECT_EQ((std::vector<float>{y[1], y[2]}), wanted[i]) << kActivations[i].name;
  }
}

TEST(Activations, AreFoundByName) {
  EXPECT_EQ(ops::activation_named("leaky_relu"), ops::Activation::kLeakyRelu);
  EXPECT_EQ(ops::activation_named("none"), ops::Activation::kNone);
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::activate(in[0], ops::activation_named("rleu")); },
                        {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: there is no activation 'rleu'; did you mean 'relu'?");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::activate(in[0], ops::activation_named("gaussian")); },
                  {{DType::kFloat32, {2}}}),
      "INVALID_ARGUMENT: there is no activation 'gaussian'; use none, relu, relu6, leaky_relu, elu, sigmoid, tanh or "
      "softplus");
}

TEST(Activations, EachNameBuildsItsOperation) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  const Output x = ops::placeholder(graph.handle(), DType::kFloat32, {2}, "x");
  const std::pair<const char*, const char*> names[] = {
      {"none", "Placeholder"}, {"relu", "Relu"},       {"relu6", "Relu6"}, {"leaky_relu", "LeakyRelu"},
      {"elu", "Elu"},          {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"},   {"softplus", "Softplus"}};
  for (const auto& [name, op] : names)
    EXPECT_EQ(graph.handle().op_of(ops::activate(x, ops::activation_named(name))), op);
}

TEST(Softmax, GradientsAgreeWithFiniteDifferences) {
  for (const ActivationCase& c : kSoftmax) {
    SCOPED_TRACE(c.name);
    check_gradients(c.build, {{{3, 5}}});
    check_gradients(c.build, {{{4}}});
    check_gradients(c.build, {{{2, 2, 3}}});
  }
}

TEST(Softmax, Float32AgreesWithFloat64) {
  for (const ActivationCase& c : kSoftmax)
    for (const Dims& dims : std::vector<Dims>{{1}, {0, 3}, {3, 0}, {1, 1}, {7, 17}, {5, 33}, {601, 10}, {3, 5, 130}}) {
      SCOPED_TRACE(std::string(c.name) + " of " + dims_text(dims));
      check_float32(c.build, {{dims, -20, 20}}, 1e-5);
    }
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  const Tensor x({2, 2}, {1000.0f, 1000.0f, -1000.0f, 1000.0f});
  EXPECT_EQ(run_op<float>(plain<ops::softmax>, {x}), (std::vector<float>{0.5, 0.5, 0, 1}));
  EXPECT_EQ(run_op<float>(plain<ops::log_softmax>, {x}),
            (std::vector<float>{-std::log(2.0f), -std::log(2.0f), -2000, 0}));
}

TEST(Softmax, NanSpoilsItsRowOnly) {
  for (const ActivationCase& c : kSoftmax) {
    const std::vector<float> y = run_op<float>(c.build, {Tensor({2, 2}, {kNan, 1.0f, 0.0f, 0.0f})});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << c.name;
    EXPECT_FALSE(std::isnan(y[2]) || std::isnan(y[3])) << c.name;
  }
}

TEST(Activations, BadInputIsNamed) {
  EXPECT_EQ(build_error(plain<ops::relu>, {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'Relu' (Relu): input 0 (int32 [2]) must be float32 or float64");
  EXPECT_EQ(build_error(plain<ops::softmax>, {{DType::kFloat32, {}}}),
            "INVALID_ARGUMENT: node 'Softmax' (Softmax): input 0 (float32 []) must have at least one dimension");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return in[0].graph().node("TanhGrad").in(in[0]).in(in[1]).output(); },
                  {{DType::kFloat32, {2}}, {DType::kFloat32, {3}}}),
      "INVALID_ARGUMENT: node 'TanhGrad' (TanhGrad): input 0 (float32 [2]) and input 1 (float32 [3]) must have the "
      "same shape");
}

}  // namespace
}  // namespace belay::runtime::testing
