// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/recurrent.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

// Everything that comes out of it, in one vector.
Output all_of(const ops::LstmResult& r) {
  return ops::concat({ops::reshape(r.y, {-1}), ops::reshape(r.h, {-1}), ops::reshape(r.c, {-1})}, 0);
}
Build lstm(bool time_major) {
  return [=](const Inputs& in) {
    ops::LstmOptions options;
    options.time_major = time_major;
    if (in.size() > 4) options.initial_h = in[4], options.initial_c = in[5];
    return all_of(ops::lstm(in[0], in[1], in[2], in[3], options));
  };
}
struct LstmSizes {
  std::int64_t batch, time, features, units;
};
std::vector<Operand> lstm_operands(const LstmSizes& s, bool time_major, bool states) {
  const Dims x = time_major ? Dims{s.time, s.batch, s.features} : Dims{s.batch, s.time, s.features};
  std::vector<Operand> all = {
      {x, -1, 1}, {{s.features, 4 * s.units}, -0.5, 0.5}, {{s.units, 4 * s.units}, -0.5, 0.5}, {{4 * s.units}, -1, 1}};
  if (states) all.insert(all.end(), {{{s.batch, s.units}, -1, 1}, {{s.batch, s.units}, -1, 1}});
  return all;
}

TEST(Lstm, GradientsAgreeWithFiniteDifferences) {
  for (const bool time_major : {false, true})
    for (const bool states : {false, true})
      for (const LstmSizes& s : {LstmSizes{2, 3, 2, 3}, LstmSizes{1, 1, 1, 1}, LstmSizes{3, 2, 4, 2}}) {
        SCOPED_TRACE(dims_text({s.batch, s.time, s.features, s.units}) + (time_major ? " time-major" : "") +
                     (states ? " with states" : ""));
        check_gradients(lstm(time_major), lstm_operands(s, time_major, states), 1e-5);
      }
}

TEST(Lstm, Float32AgreesWithFloat64) {
  for (const bool time_major : {false, true})
    for (const bool states : {false, true})
      for (const LstmSizes& s : {LstmSizes{1, 1, 1, 1}, LstmSizes{0, 3, 2, 3}, LstmSizes{3, 0, 2, 3},
                                 LstmSizes{5, 7, 3, 17}, LstmSizes{33, 5, 65, 16}, LstmSizes{8, 12, 20, 33}}) {
        SCOPED_TRACE(dims_text({s.batch, s.time, s.features, s.units}) + (time_major ? " time-major" : "") +
                     (states ? " with states" : ""));
        check_float32(lstm(time_major), lstm_operands(s, time_major, states), 2e-4);
      }
}

// One step after the other, from the operations that it replaces.
Output lstm_step_by_step(const Inputs& in, std::int64_t time, std::int64_t units) {
  Output h = in[4], c = in[5];
  std::vector<Output> hs;
  for (std::int64_t t = 0; t < time; ++t) {
    const Output x = ops::squeeze(ops::slice(in[0], {0, t, 0}, {-1, 1, -1}), {1});
    const Output sums = ops::bias_add(ops::matmul(x, in[1]) + ops::matmul(h, in[2]), in[3]);
    const auto gate = [&](std::int64_t i) { return ops::slice(sums, {0, i * units}, {-1, units}); };
    c = ops::sigmoid(gate(1)) * c + ops::sigmoid(gate(0)) * ops::tanh(gate(2));
    h = ops::sigmoid(gate(3)) * ops::tanh(c);
    hs.push_back(h);
  }
  return all_of({ops::stack(hs, 1), h, c});
}

TEST(Lstm, IsWhatItsStepsAre) {
  const LstmSizes s{3, 5, 4, 6};
  const std::vector<Operand> in = lstm_operands(s, false, true);
  const std::vector<std::vector<double>> values = elements_of(in);
  const Evaluated whole = Evaluator(lstm(false), in, {}).run(values);
  const Evaluated steps =
      Evaluator([&](const Inputs& i) { return lstm_step_by_step(i, s.time, s.units); }, in, {}).run(values);
  ASSERT_EQ(whole.value.size(), steps.value.size());
  for (std::size_t i = 0; i < whole.value.size(); ++i) EXPECT_NEAR(whole.value[i], steps.value[i], 1e-12) << i;
  for (std::size_t o = 0; o < whole.gradients.size(); ++o)
    for (std::size_t i = 0; i < whole.gradients[o].size(); ++i)
      EXPECT_NEAR(whole.gradients[o][i], steps.gradients[o][i], 1e-12) << o << ", " << i;
}

TEST(Lstm, TwoPartsWithTheStatesBetweenAreTheWhole) {
  const std::vector<Operand> in = lstm_operands({2, 6, 3, 4}, false, true);
  const std::vector<std::vector<double>> values = elements_of(in);
  const Build parts = [](const Inputs& i) {
    ops::LstmOptions options;
    options.initial_h = i[4], options.initial_c = i[5];
    const ops::LstmResult a = ops::lstm(ops::slice(i[0], {0, 0, 0}, {-1, 2, -1}), i[1], i[2], i[3], options);
    options.initial_h = a.h, options.initial_c = a.c;
    const ops::LstmResult b = ops::lstm(ops::slice(i[0], {0, 2, 0}, {-1, 4, -1}), i[1], i[2], i[3], options);
    return all_of({ops::concat({a.y, b.y}, 1), b.h, b.c});
  };
  const Evaluated whole = Evaluator(lstm(false), in, {}).run(values), two = Evaluator(parts, in, {}).run(values);
  for (std::size_t i = 0; i < whole.value.size(); ++i) EXPECT_NEAR(whole.value[i], two.value[i], 1e-12) << i;
  for (std::size_t o = 0; o < whole.gradients.size(); ++o)
    for (std::size_t i = 0; i < whole.gradients[o].size(); ++i)
      EXPECT_NEAR(whole.gradients[o][i], two.gradients[o][i], 1e-12) << o << ", " << i;
}

TEST_F(SessionTest, LstmLayerBeginsWithItsForgetGatesOpen) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 7, 3}, "x");
  const ops::LstmResult r = ops::lstm(x, 2);
  EXPECT_EQ(r.y.dims(), (Dims{-1, 7, 2}));
  EXPECT_EQ(r.h.dims(), (Dims{-1, 2}));
  EXPECT_EQ(r.c.dims(), (Dims{-1, 2}));
  open();
  initialize();
  EXPECT_EQ(g.find("lstm/kernel").dims(), (Dims{3, 8}));
  EXPECT_EQ(g.find("lstm/recurrent_kernel").dims(), (Dims{2, 8}));
  EXPECT_EQ(values<float>(g.find("lstm/bias")), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0}));
}

TEST(Lstm, BadInputIsNamed) {
  struct Case {
    std::vector<Dims> dims;
    const char* error;
  };
  for (const Case& c :
       {Case{{{2, 3}, {3, 16}, {4, 16}, {16}}, "input 0 (float32 [2, 3]) must have 3 dimensions"},
        Case{{{2, 3, 5}, {80}, {4, 16}, {16}}, "input 1 (float32 [80]) must have 2 dimensions"},
        Case{{{2, 3, 5}, {5, 16}, {4}, {16}}, "input 2 (float32 [4]) must have 2 dimensions"},
        Case{{{2, 3, 5}, {4, 16}, {4, 16}, {16}}, "kernel, input 1 (float32 [4, 16]), must have the shape [5, 16]"},
        Case{{{2, 3, 5}, {5, 16}, {4, 12}, {16}},
             "recurrent_kernel, input 2 (float32 [4, 12]), must have the shape [4, 16]"},
        Case{{{2, 3, 5}, {5, 16}, {4, 16}, {4}}, "bias, input 3 (float32 [4]), must have the shape [16]"},
        Case{{{2, 3, 5}, {5, 16}, {4, 16}, {16}, {3, 4}, {2, 4}},
             "initial_h, input 4 (float32 [3, 4]), must have the shape [2, 4]"},
        Case{{{2, 3, 5}, {5, 16}, {4, 16}, {16}, {2, 4}, {2, 3}},
             "initial_c, input 5 (float32 [2, 3]), must have the shape [2, 4]"}}) {
    std::vector<Spec> specs;
    for (const Dims& d : c.dims) specs.push_back({DType::kFloat32, d});
    EXPECT_EQ(build_error(lstm(false), specs), std::string("INVALID_ARGUMENT: node 'Lstm' (Lstm): ") + c.error);
  }
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::lstm(in[0], 0).y; }, {{DType::kFloat32, {2, 3, 4}}}),
            "INVALID_ARGUMENT: lstm 'lstm': units must be at least 1, got 0");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::lstm(in[0], 3).y; }, {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: lstm 'lstm': 'Placeholder:0' (float32 [2, 3]) must have 3 dimensions, batch, time and "
            "features, and its features must be known");
  EXPECT_EQ(build_error(
                [](const Inputs& in) {
                  ops::LstmOptions options;
                  options.initial_h = in[0];
                  return ops::lstm(in[0], 3, options).y;
                },
                {{DType::kFloat32, {2, 3, 4}}}),
            "INVALID_ARGUMENT: lstm 'lstm': give both initial_h and initial_c, or neither of them");
  const Spec x{DType::kFloat32, {2, 3, 5}};
  const Build by_hand = [](const Inputs& in) { return in[0].graph().node("Lstm", "n").in(in).output(); };
  for (const std::size_t n : {1, 3, 5, 7})
    EXPECT_EQ(build_error(by_hand, std::vector<Spec>(n, x)),
              "INVALID_ARGUMENT: node 'n' (Lstm): there must be 4 inputs, or 6 with the states before the first step, "
              "got " +
                  std::to_string(n));
  EXPECT_EQ(build_error(by_hand, {x, {DType::kFloat32, {5, 16}}, {DType::kFloat32, {4, 16}}, {DType::kFloat64, {16}}}),
            "INVALID_ARGUMENT: node 'n' (Lstm): input 0 (float32 [2, 3, 5]) and input 3 (float64 [16]) must have the "
            "same dtype");
}

TEST(Lstm, BadInputOfItsGradientIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'n' (LstmGrad): ";
  const Build gradient = [](const Inputs& in) { return in[0].graph().node("LstmGrad", "n").in(in).output(); };
  // x, kernel, recurrent_kernel, y, gates, cells, dy, dh, dc, initial_h, initial_c
  const std::vector<Dims> good = {{2, 3, 5}, {5, 16}, {4, 16}, {2, 3, 4}, {2, 3, 16}, {2, 3, 4},
                                  {2, 3, 4}, {2, 4},  {2, 4},  {2, 4},    {2, 4}};
  const auto error_with = [&](std::size_t i, const Dims& dims) { return error_with_input(gradient, good, i, dims); };
  EXPECT_EQ(error_with(0, {2, 3, 5}), "no error");
  EXPECT_EQ(error_with(3, {3, 2, 4}), node + "y, input 3 (float32 [3, 2, 4]), must have the shape [2, 3, 4]");
  EXPECT_EQ(error_with(4, {2, 3, 4}), node + "gates, input 4 (float32 [2, 3, 4]), must have the shape [2, 3, 16]");
  EXPECT_EQ(error_with(5, {2, 3}), node + "cells, input 5 (float32 [2, 3]), must have the shape [2, 3, 4]");
  EXPECT_EQ(error_with(6, {2, 1, 4}), node + "dy, input 6 (float32 [2, 1, 4]), must have the shape [2, 3, 4]");
  for (std::size_t i = 7; i < 11; ++i)
    EXPECT_EQ(error_with(i, {2, 1}),
              node + "a state, input " + std::to_string(i) + " (float32 [2, 1]), must have the shape [2, 4]");
  EXPECT_EQ(build_error(gradient, std::vector<Spec>(10, {DType::kFloat32, {2, 4}})),
            node + "there must be 9 inputs, or 11 with the states before the first step, got 10");
}

TEST(Lstm, WhatItKeepsForItsGradientHasNone) {
  for (const std::uint32_t kept : {3, 4})
    EXPECT_EQ(build_error(
                  [=](const Inputs& in) {
                    return in[0].graph().gradients({ops::lstm(in[0], in[1], in[2], in[3]).y.sibling(kept)}, {in[0]})[0];
                  },
                  {{DType::kFloat32, {2, 3, 5}},
                   {DType::kFloat32, {5, 16}},
                   {DType::kFloat32, {4, 16}},
                   {DType::kFloat32, {16}}}),
              "UNIMPLEMENTED: 'Lstm:" + std::to_string(kept) +
                  "' cannot be differentiated: it is what an LSTM keeps for its gradient");
}

}  // namespace
}  // namespace belay::runtime::testing
