// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/recurrent.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Output all_of(const ops::GruResult& r) { return ops::concat({ops::reshape(r.y, {-1}), ops::reshape(r.h, {-1})}, 0); }
Build gru(bool time_major) {
  return [=](const Inputs& in) {
    ops::GruOptions options;
    options.time_major = time_major;
    if (in.size() > 5) options.initial_h = in[5];
    return all_of(ops::gru(in[0], in[1], in[2], in[3], in[4], options));
  };
}
struct GruSizes {
  std::int64_t batch, time, features, units;
};
std::vector<Operand> gru_operands(const GruSizes& s, bool time_major, bool state) {
  const Dims x = time_major ? Dims{s.time, s.batch, s.features} : Dims{s.batch, s.time, s.features};
  std::vector<Operand> all = {{x, -1, 1},
                              {{s.features, 3 * s.units}, -0.5, 0.5},
                              {{s.units, 3 * s.units}, -0.5, 0.5},
                              {{3 * s.units}, -1, 1},
                              {{3 * s.units}, -1, 1}};
  if (state) all.push_back({{s.batch, s.units}, -1, 1});
  return all;
}

TEST(Gru, GradientsAgreeWithFiniteDifferences) {
  for (const bool time_major : {false, true})
    for (const bool state : {false, true})
      for (const GruSizes& s : {GruSizes{2, 3, 2, 3}, GruSizes{1, 1, 1, 1}, GruSizes{3, 2, 4, 2}}) {
        SCOPED_TRACE(dims_text({s.batch, s.time, s.features, s.units}) + (time_major ? " time-major" : "") +
                     (state ? " with a state" : ""));
        check_gradients(gru(time_major), gru_operands(s, time_major, state), 1e-5);
      }
}

TEST(Gru, Float32AgreesWithFloat64) {
  for (const bool time_major : {false, true})
    for (const bool state : {false, true})
      for (const GruSizes& s : {GruSizes{1, 1, 1, 1}, GruSizes{0, 3, 2, 3}, GruSizes{3, 0, 2, 3}, GruSizes{5, 7, 3, 17},
                                GruSizes{33, 5, 65, 16}, GruSizes{8, 12, 20, 33}}) {
        SCOPED_TRACE(dims_text({s.batch, s.time, s.features, s.units}) + (time_major ? " time-major" : "") +
                     (state ? " with a state" : ""));
        check_float32(gru(time_major), gru_operands(s, time_major, state), 2e-4);
      }
}

// One step after the other, from the operations that it replaces.
Output gru_step_by_step(const Inputs& in, std::int64_t time, std::int64_t units) {
  Output h = in[5];
  std::vector<Output> hs;
  for (std::int64_t t = 0; t < time; ++t) {
    const Output x = ops::squeeze(ops::slice(in[0], {0, t, 0}, {-1, 1, -1}), {1});
    const Output sums = ops::bias_add(ops::matmul(x, in[1]), in[3]),
                 states = ops::bias_add(ops::matmul(h, in[2]), in[4]);
    const auto part = [&](const Output& of, std::int64_t i) { return ops::slice(of, {0, i * units}, {-1, units}); };
    const Output reset = ops::sigmoid(part(sums, 0) + part(states, 0));
    const Output update = ops::sigmoid(part(sums, 1) + part(states, 1));
    const Output candidate = ops::tanh(part(sums, 2) + reset * part(states, 2));
    h = (1.0 - update) * candidate + update * h;
    hs.push_back(h);
  }
  return all_of({ops::stack(hs, 1), h});
}

TEST(Gru, IsWhatItsStepsAre) {
  const GruSizes s{3, 5, 4, 6};
  const std::vector<Operand> in = gru_operands(s, false, true);
  const std::vector<std::vector<double>> values = elements_of(in);
  const Evaluated whole = Evaluator(gru(false), in, {}).run(values);
  const Evaluated steps =
      Evaluator([&](const Inputs& i) { return gru_step_by_step(i, s.time, s.units); }, in, {}).run(values);
  ASSERT_EQ(whole.value.size(), steps.value.size());
  for (std::size_t i = 0; i < whole.value.size(); ++i) EXPECT_NEAR(whole.value[i], steps.value[i], 1e-12) << i;
  for (std::size_t o = 0; o < whole.gradients.size(); ++o)
    for (std::size_t i = 0; i < whole.gradients[o].size(); ++i)
      EXPECT_NEAR(whole.gradients[o][i], steps.gradients[o][i], 1e-12) << o << ", " << i;
}

TEST_F(SessionTest, GruLayerHasItsVariables) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 7, 3}, "x");
  const ops::GruResult r = ops::gru(x, 2);
  EXPECT_EQ(r.y.dims(), (Dims{-1, 7, 2}));
  EXPECT_EQ(r.h.dims(), (Dims{-1, 2}));
  std::vector<std::string> names;
  for (const Output& v : g.collection(collections::kTrainableVariables)) names.push_back(g.node_name_of(v));
  EXPECT_EQ(names, (std::vector<std::string>{"gru/kernel", "gru/recurrent_kernel", "gru/bias", "gru/recurrent_bias"}));
}

TEST(Gru, BadInputIsNamed) {
  struct Case {
    std::vector<Dims> dims;
    const char* error;
  };
  for (const Case& c :
       {Case{{{2, 3}, {3, 12}, {4, 12}, {12}, {12}}, "input 0 (float32 [2, 3]) must have 3 dimensions"},
        Case{{{2, 3, 5}, {4, 12}, {4, 12}, {12}, {12}},
             "kernel, input 1 (float32 [4, 12]), must have the shape [5, 12]"},
        Case{{{2, 3, 5}, {5, 12}, {4, 16}, {12}, {12}},
             "recurrent_kernel, input 2 (float32 [4, 16]), must have the shape [4, 12]"},
        Case{{{2, 3, 5}, {5, 12}, {4, 12}, {4}, {12}}, "bias, input 3 (float32 [4]), must have the shape [12]"},
        Case{{{2, 3, 5}, {5, 12}, {4, 12}, {12}, {4}},
             "recurrent_bias, input 4 (float32 [4]), must have the shape [12]"},
        Case{{{2, 3, 5}, {5, 12}, {4, 12}, {12}, {12}, {2, 3}},
             "initial_h, input 5 (float32 [2, 3]), must have the shape [2, 4]"}}) {
    std::vector<Spec> specs;
    for (const Dims& d : c.dims) specs.push_back({DType::kFloat32, d});
    EXPECT_EQ(build_error(gru(false), specs), std::string("INVALID_ARGUMENT: node 'Gru' (Gru): ") + c.error);
  }
  for (const std::size_t n : {1, 4, 7})
    EXPECT_EQ(build_error([](const Inputs& in) { return in[0].graph().node("Gru", "n").in(in).output(); },
                          std::vector<Spec>(n, {DType::kFloat32, {2, 3, 5}})),
              "INVALID_ARGUMENT: node 'n' (Gru): there must be 5 inputs, or 6 with the state before the first step, "
              "got " +
                  std::to_string(n));
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::gru(in[0], -1).y; }, {{DType::kFloat32, {2, 3, 4}}}),
            "INVALID_ARGUMENT: gru 'gru': units must be at least 1, got -1");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::gru(in[0], 3).y; }, {{DType::kFloat32, {2, 3, -1}}}),
            "INVALID_ARGUMENT: gru 'gru': 'Placeholder:0' (float32 [2, 3, ?]) must have 3 dimensions, batch, time and "
            "features, and its features must be known");
}

TEST(Gru, BadInputOfItsGradientIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'n' (GruGrad): ";
  const Build gradient = [](const Inputs& in) { return in[0].graph().node("GruGrad", "n").in(in).output(); };
  // x, kernel, recurrent_kernel, y, gates, candidates' sums, dy, dh, initial_h
  const std::vector<Dims> good = {{2, 3, 5}, {5, 12},   {4, 12}, {2, 3, 4}, {2, 3, 12},
                                  {2, 3, 4}, {2, 3, 4}, {2, 4},  {2, 4}};
  const auto error_with = [&](std::size_t i, const Dims& dims) { return error_with_input(gradient, good, i, dims); };
  EXPECT_EQ(error_with(0, {2, 3, 5}), "no error");
  EXPECT_EQ(error_with(3, {3, 2, 4}), node + "y, input 3 (float32 [3, 2, 4]), must have the shape [2, 3, 4]");
  EXPECT_EQ(error_with(4, {2, 3, 4}), node + "gates, input 4 (float32 [2, 3, 4]), must have the shape [2, 3, 12]");
  EXPECT_EQ(error_with(5, {2, 3}), node + "candidate sums, input 5 (float32 [2, 3]), must have the shape [2, 3, 4]");
  EXPECT_EQ(error_with(6, {2, 1, 4}), node + "dy, input 6 (float32 [2, 1, 4]), must have the shape [2, 3, 4]");
  for (std::size_t i = 7; i < 9; ++i)
    EXPECT_EQ(error_with(i, {2, 1}),
              node + "a state, input " + std::to_string(i) + " (float32 [2, 1]), must have the shape [2, 4]");
  EXPECT_EQ(build_error(gradient, std::vector<Spec>(7, {DType::kFloat32, {2, 4}})),
            node + "there must be 8 inputs, or 9 with the state before the first step, got 7");
}

TEST(Gru, WhatItKeepsForItsGradientHasNone) {
  for (const std::uint32_t kept : {2, 3})
    EXPECT_EQ(build_error(
                  [=](const Inputs& in) {
                    const Output y = ops::gru(in[0], in[1], in[2], in[3], in[4]).y;
                    return in[0].graph().gradients({y.sibling(kept)}, {in[0]})[0];
                  },
                  {{DType::kFloat32, {2, 3, 5}},
                   {DType::kFloat32, {5, 12}},
                   {DType::kFloat32, {4, 12}},
                   {DType::kFloat32, {12}},
                   {DType::kFloat32, {12}}}),
              "UNIMPLEMENTED: 'Gru:" + std::to_string(kept) +
                  "' cannot be differentiated: it is what a GRU keeps for its gradient");
}

}  // namespace
}  // namespace belay::runtime::testing
