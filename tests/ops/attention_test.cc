// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

struct AttentionSizes {
  std::int64_t batch, queries, keys, heads, width, value_width;  // width: of a head
};
enum class Mask { kNone, kOne, kPerExample };

std::vector<Operand> operands(const AttentionSizes& s, Mask mask) {
  std::vector<Operand> all = {{{s.batch, s.queries, s.heads * s.width}},
                              {{s.batch, s.keys, s.heads * s.width}},
                              {{s.batch, s.keys, s.heads * s.value_width}}};
  if (mask == Mask::kOne) all.push_back({{s.queries, s.keys}});
  if (mask == Mask::kPerExample) all.push_back({{s.batch, s.queries, s.keys}});
  return all;
}
ops::AttentionOptions options_of(const Inputs& in, std::int64_t heads, bool causal) {
  ops::AttentionOptions options;
  options.heads = heads, options.causal = causal;
  if (in.size() > 3) options.mask = ops::stop_gradient(in[3]);
  return options;
}
Build attention(std::int64_t heads, bool causal) {
  return [=](const Inputs& in) { return ops::attention(in[0], in[1], in[2], options_of(in, heads, causal)); };
}

// From the operations that it replaces.
Build in_parts(const AttentionSizes& s, bool causal) {
  return [=](const Inputs& in) {
    const Graph g = in[0].graph();
    const auto heads_of = [&](const Output& x, std::int64_t n, std::int64_t width) {
      return ops::transpose(ops::reshape(x, {s.batch, n, s.heads, width}), {0, 2, 1, 3});
    };
    Output scores =
        ops::batch_matmul(heads_of(in[0], s.queries, s.width), heads_of(in[1], s.keys, s.width), false, true);
    scores = scores * (1 / std::sqrt(static_cast<double>(s.width)));
    if (in.size() > 3) scores = scores + ops::expand_dims(ops::stop_gradient(in[3]), in[3].rank() == 3 ? 1 : 0);
    if (causal) {
      std::vector<double> hidden(static_cast<std::size_t>(s.queries * s.keys), 0);
      for (std::int64_t i = 0; i < s.queries; ++i)
        for (std::int64_t j = i + 1 + s.keys - s.queries; j < s.keys; ++j)
          hidden[static_cast<std::size_t>(i * s.keys + j)] = -std::numeric_limits<double>::infinity();
      scores = scores + ops::constant(g, Tensor({s.queries, s.keys}, hidden));
    }
    const Output y = ops::batch_matmul(ops::softmax(scores), heads_of(in[2], s.keys, s.value_width));
    return ops::reshape(ops::transpose(y, {0, 2, 1, 3}), {s.batch, s.queries, s.heads * s.value_width});
  };
}

const AttentionSizes kAttentionSizes[] = {
    {1, 1, 1, 1, 1, 1}, {2, 3, 3, 2, 2, 3}, {1, 2, 5, 3, 1, 2}, {2, 70, 70, 1, 3, 2}};

TEST(Attention, IsSoftmaxOfProductsTimesValues) {
  for (const AttentionSizes& s : kAttentionSizes)
    for (const bool causal : {false, true})
      for (const Mask mask : {Mask::kNone, Mask::kOne, Mask::kPerExample}) {
        SCOPED_TRACE(dims_text({s.batch, s.queries, s.keys, s.heads}) + (causal ? " causal" : ""));
        const std::vector<Operand> in = operands(s, mask);
        const std::vector<std::vector<double>> values = elements_of(in);
        const Evaluated got = Evaluator(attention(s.heads, causal), in, {}).run(values);
        const Evaluated wanted = Evaluator(in_parts(s, causal), in, {}).run(values);
        EXPECT_EQ(got.dims, wanted.dims);
        for (std::size_t i = 0; i < got.value.size(); ++i) ASSERT_NEAR(got.value[i], wanted.value[i], 1e-12) << i;
        for (std::size_t o = 0; o < 3; ++o)
          for (std::size_t i = 0; i < got.gradients[o].size(); ++i)
            ASSERT_NEAR(got.gradients[o][i], wanted.gradients[o][i], 1e-12) << o << ", " << i;
      }
}

TEST(Attention, GradientsAgreeWithFiniteDifferences) {
  for (const bool causal : {false, true}) {
    check_gradients(attention(2, causal), {{{2, 3, 4}}, {{2, 3, 4}}, {{2, 3, 6}}}, 1e-5);
    check_gradients(attention(1, causal), {{{1, 2, 2}}, {{1, 4, 2}}, {{1, 4, 3}}}, 1e-5);
    check_gradients([=](const Inputs& in) { return ops::self_attention(in[0], options_of(in, 2, causal)); },
                    {{{2, 3, 12}}}, 1e-5);
  }
}

TEST(Attention, Float32AgreesWithFloat64) {
  for (const AttentionSizes& s : {AttentionSizes{1, 1, 1, 1, 1, 1}, AttentionSizes{0, 3, 3, 2, 2, 2},
                                  AttentionSizes{2, 0, 3, 2, 2, 2}, AttentionSizes{3, 17, 33, 2, 5, 7},
                                  AttentionSizes{2, 64, 64, 4, 32, 32}, AttentionSizes{1, 130, 130, 3, 16, 17}})
    for (const bool causal : {false, true})
      for (const Mask mask : {Mask::kNone, Mask::kPerExample}) {
        SCOPED_TRACE(dims_text({s.batch, s.queries, s.keys, s.heads}) + (causal ? " causal" : ""));
        check_float32(attention(s.heads, causal), operands(s, mask), 2e-4);
      }
}

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// One head, by its formula: q [queries, width], k [keys, width], v [keys, value_width].
std::vector<double> attention_by_hand(const AttentionSizes& s, const std::vector<double>& q,
                                      const std::vector<double>& k, const std::vector<double>& v,
                                      const std::vector<double>& mask, double scale) {
  const auto at = [](const std::vector<double>& m, std::int64_t row, std::int64_t column, std::int64_t columns) {
    return m[static_cast<std::size_t>(row * columns + column)];
  };
  std::vector<double> y;
  for (std::int64_t i = 0; i < s.queries; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      double score = 0;
      for (std::int64_t l = 0; l < s.width; ++l) score += at(q, i, l, s.width) * at(k, j, l, s.width);
      weights.push_back(std::exp(score * scale + (mask.empty() ? 0 : at(mask, i, j, s.keys))));
      sum += weights.back();
    }
    for (std::int64_t l = 0; l < s.value_width; ++l) {
      double total = 0;
      for (std::int64_t j = 0; j < s.keys; ++j)
        total += weights[static_cast<std::size_t>(j)] / sum * at(v, j, l, s.value_width);
      y.push_back(total);
    }
  }
  return y;
}
// mask: of a constant; empty: none.
Build scaled_attention(double scale, const std::vector<double>& mask, const AttentionSizes& s) {
  return [=](const Inputs& in) {
    ops::AttentionOptions options;
    options.scale = scale;
    if (!mask.empty())
      options.mask = ops::cast(ops::constant(in[0].graph(), Tensor({s.queries, s.keys}, mask)), in[0].dtype());
    return ops::attention(in[0], in[1], in[2], options);
  };
}

TEST(Attention, AScaleAndAMaskOfMinusInfinityAreAsByHand) {
  const AttentionSizes s{1, 3, 4, 1, 5, 2};
  const std::vector<double> some_hidden = {0,       kHidden, 0.5,     0,     //
                                           kHidden, kHidden, kHidden, -1.5,  //
                                           0,       0,       0,       kHidden};
  const std::vector<Operand> in = operands(s, Mask::kNone);
  const std::vector<std::vector<double>> values = elements_of(in);
  for (const double scale : {0.0, 0.7, -1.3})
    for (const std::vector<double>& mask : {std::vector<double>(), some_hidden}) {
      SCOPED_TRACE(std::to_string(scale) + (mask.empty() ? "" : " masked"));
      const Build build = scaled_attention(scale, mask, s);
      const std::vector<double> wanted =
          attention_by_hand(s, values[0], values[1], values[2], mask, scale == 0 ? 1 / std::sqrt(5.0) : scale);
      const Evaluated got = Evaluator(build, in, {}).run(values);
      ASSERT_EQ(got.value.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got.value[i], wanted[i], 1e-12) << i;
      check_gradients(build, in, 1e-5);
      check_float32(build, in, 1e-5);
    }
}

TEST(Attention, OfNoKeysIsZero) {
  const AttentionSizes s{2, 3, 0, 2, 2, 2};
  const std::vector<Operand> in = operands(s, Mask::kNone);
  EXPECT_EQ(Evaluator(attention(2, false), in, {}).run(elements_of(in)).value, std::vector<double>(2 * 3 * 4, 0));
  check_float32(attention(2, false), in, 0);
}

TEST(Attention, AQueryFromWhichAllIsHiddenGivesNanAndNoOtherDoes) {
  const AttentionSizes s{1, 2, 3, 1, 2, 2};
  const std::vector<Operand> in = operands(s, Mask::kNone);
  const Build build = scaled_attention(0, {0, kHidden, 0, kHidden, kHidden, kHidden}, s);
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    const Evaluated y = Evaluator(build, in, {.dtype = dtype}).run(elements_of(in));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::isnan(y.value[i]), i >= 2) << i;
  }
}

TEST(Attention, PackedIsTheSame) {
  const std::vector<Operand> in = {{{2, 5, 24}}};
  const std::vector<std::vector<double>> values = elements_of(in);
  const Build parts = [](const Inputs& i) {
    const auto part = [&](std::int64_t at) { return ops::slice(i[0], {0, 0, at * 8}, {-1, -1, 8}); };
    ops::AttentionOptions options;
    options.heads = 2;
    return ops::attention(part(0), part(1), part(2), options);
  };
  const Build packed = [](const Inputs& i) {
    ops::AttentionOptions options;
    options.heads = 2;
    return ops::self_attention(i[0], options);
  };
  const Evaluated a = Evaluator(parts, in, {}).run(values), b = Evaluator(packed, in, {}).run(values);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.gradients, b.gradients);
}

TEST(Attention, ACausalQuerySeesNothingOfWhatFollows) {
  std::vector<float> x(2 * 6 * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  const Build causal = [](const Inputs& in) { return ops::self_attention(in[0], options_of(in, 2, true)); };
  const std::vector<float> before = run_op<float>(causal, {Tensor({2, 6, 12}, x)});
  for (std::size_t i = 4 * 12; i < 6 * 12; ++i) x[i] = 100;  // times 4 and 5 of example 0
  const std::vector<float> after = run_op<float>(causal, {Tensor({2, 6, 12}, x)});
  for (std::size_t i = 0; i < before.size(); ++i)
    if (i / 24 == 0 && i / 4 >= 4) {
      EXPECT_NE(before[i], after[i]) << i;
    } else {
      EXPECT_EQ(before[i], after[i]) << i;
    }
}

TEST_F(SessionTest, MultiHeadAttentionHasItsVariables) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 5, 6}, "x");
  ops::AttentionOptions options;
  options.heads = 3;
  EXPECT_EQ(ops::multi_head_attention(x, options).dims(), (Dims{-1, 5, 6}));
  std::vector<std::string> names;
  for (const Output& v : g.collection(collections::kTrainableVariables)) names.push_back(g.node_name_of(v));
  EXPECT_EQ(names, (std::vector<std::string>{"attention/qkv/kernel", "attention/qkv/bias", "attention/output/kernel",
                                             "attention/output/bias"}));
  options.heads = 4;
  EXPECT_EQ(
      error_of([&] { ops::multi_head_attention(x, options); }),
      "INVALID_ARGUMENT: multi_head_attention 'attention': 'x:0' (float32 [?, 5, 6]) must be [batch, time, width] "
      "with a known width that 4 heads divide");
}

TEST(Attention, BadInputIsNamed) {
  struct Case {
    std::vector<Dims> dims;
    const char* error;
  };
  for (const Case& c :
       {Case{{{2, 3}, {2, 3, 4}, {2, 3, 4}}, "input 0 (float32 [2, 3]) must have 3 dimensions"},
        Case{{{2, 3, 4}, {1, 3, 4}, {2, 3, 4}},
             "the batches differ: input 0 (float32 [2, 3, 4]), input 1 (float32 [1, 3, 4]), input 2 (float32 [2, 3, "
             "4])"},
        Case{{{2, 3, 4}, {2, 3, 4}, {2, 5, 4}},
             "the numbers of keys and values differ: input 0 (float32 [2, 3, 4]), input 1 (float32 [2, 3, 4]), input 2 "
             "(float32 [2, 5, 4])"},
        Case{{{2, 3, 4}, {2, 3, 6}, {2, 3, 4}},
             "the widths of queries and keys differ: input 0 (float32 [2, 3, 4]), input 1 (float32 [2, 3, 6]), input 2 "
             "(float32 [2, 3, 4])"},
        Case{{{2, 3, 4}, {2, 3, 4}, {2, 3, 3}}, "the width 3 cannot be divided into 2 heads"},
        Case{{{2, 4, 4}, {2, 3, 4}, {2, 3, 4}},
             "4 queries are more than 3 keys: with 'causal' the first ones would see nothing"},
        Case{{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {3, 2}},
             "the mask, input 3 (float32 [3, 2]), must have the shape [3, 3] or [2, 3, 3]"}}) {
    std::vector<Spec> specs;
    for (const Dims& d : c.dims) specs.push_back({DType::kFloat32, d});
    EXPECT_EQ(build_error(attention(2, true), specs),
              std::string("INVALID_ARGUMENT: node 'Attention' (Attention): ") + c.error);
  }
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::self_attention(in[0]); }, {{DType::kFloat32, {2, 3, 4}}}),
      "INVALID_ARGUMENT: node 'Attention' (Attention): input 0 (float32 [2, 3, 4]) must hold query, key and value "
      "along its last dimension, which 3 does not divide");
}

// A node made by hand.
std::string attention_error(const char* op, const std::vector<Dims>& dims, bool masked, std::int64_t heads = 2,
                            DType last = DType::kFloat32) {
  std::vector<Spec> specs;
  for (const Dims& d : dims) specs.push_back({DType::kFloat32, d});
  specs.back().dtype = last;
  return build_error(
      [&](const Inputs& in) {
        return in[0].graph().node(op, "a").in(in).attr("masked", masked).attr("heads", heads).output();
      },
      specs);
}

TEST(Attention, InputsThatDoNotFitItsAttributesAreNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'a' (Attention): ";
  const Dims x{2, 3, 4};
  EXPECT_EQ(attention_error("Attention", {x, x}, false),
            node + "there must be 3 inputs, or 4 with 'masked', got 2 without it");
  EXPECT_EQ(attention_error("Attention", {x, x, x}, true),
            node + "there must be 3 inputs, or 4 with 'masked', got 3 with it");
  EXPECT_EQ(attention_error("Attention", {x, x, x, {3, 3}}, false),
            node + "there must be 3 inputs, or 4 with 'masked', got 4 without it");
  EXPECT_EQ(attention_error("Attention", {x, x, x}, false, 0), node + "attribute 'heads' must be at least 1, got 0");
  EXPECT_EQ(attention_error("Attention", {x, x, x}, false, -2), node + "attribute 'heads' must be at least 1, got -2");
  EXPECT_EQ(attention_error("Attention", {x, x, x}, false, 3), node + "the width 4 cannot be divided into 3 heads");
}

TEST(Attention, BadInputOfItsGradientIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'a' (AttentionGrad): ";
  const Dims q{2, 3, 4}, k{2, 5, 4}, v{2, 5, 6}, y{2, 3, 6}, sums{2, 2, 3}, mask{3, 5};
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, y, sums, y}, true), node + "there must be 7 inputs, got 6");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, y, sums, y}, false, 0),
            node + "attribute 'heads' must be at least 1, got 0");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, {5, 3}, y, sums, y}, true),
            node + "the mask, input 3 (float32 [5, 3]), must have the shape [3, 5] or [2, 3, 5]");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, {2, 3, 4}, sums, y}, false),
            node + "the result, input 3 (float32 [2, 3, 4]), must have the shape [2, 3, 6]");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, y, {2, 3}, y}, false),
            node + "the logarithms of the sums, input 4 (float32 [2, 3]), must have the shape [2, 2, 3]");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, mask, y, {2, 2, 5}, y}, true),
            node + "the logarithms of the sums, input 5 (float32 [2, 2, 5]), must have the shape [2, 2, 3]");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, y, sums, {1, 3, 6}}, false),
            node + "the incoming gradient, input 5 (float32 [1, 3, 6]), must have the shape [2, 3, 6]");
  EXPECT_EQ(attention_error("AttentionGrad", {q, k, v, y, sums, y}, false, 2, DType::kFloat64),
            node + "input 0 (float32 [2, 3, 4]) and input 5 (float64 [2, 3, 6]) must have the same dtype");
}

TEST(Attention, WhatItKeepsForItsGradientHasNone) {
  EXPECT_EQ(
      build_error(
          [](const Inputs& in) { return in[0].graph().gradients({ops::self_attention(in[0]).sibling(1)}, {in[0]})[0]; },
          {{DType::kFloat32, {2, 3, 6}}}),
      "UNIMPLEMENTED: 'Attention:1' cannot be differentiated: it is what attention keeps for its gradient");
}

TEST(Attention, AMaskHasNoGradient) {
  const Build build = [](const Inputs& in) {
    ops::AttentionOptions options;
    options.mask = in[1];
    return in[0].graph().gradients({ops::self_attention(in[0], options)}, {in[1]})[0];
  };
  EXPECT_EQ(build_error(build, {{DType::kFloat32, {2, 3, 6}}, {DType::kFloat32, {3, 3}}}),
            "UNIMPLEMENTED: the mask 'Placeholder_1:0' of an attention has no gradient; use ops::stop_gradient");
}

}  // namespace
}  // namespace belay::runtime::testing
