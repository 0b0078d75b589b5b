// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

// A variable of n elements, its slots, and its gradient as a function of the step.
struct Reference {
  std::vector<double> var, m, v;
};
double gradient(std::int64_t step, std::size_t i) {
  return std::sin(static_cast<double>(step) * 1.7 + static_cast<double>(i));
}

enum class Kind { kDescent, kMomentum, kNesterov, kAdam };

Reference reference(Kind kind, std::size_t n, std::int64_t steps) {
  Reference r{std::vector<double>(n), std::vector<double>(n, 0), std::vector<double>(n, 0)};
  for (std::size_t i = 0; i < n; ++i) r.var[i] = 0.1 * static_cast<double>(i % 5);
  for (std::int64_t step = 1; step <= steps; ++step)
    for (std::size_t i = 0; i < n; ++i) {
      const double g = gradient(step, i), rate = 0.1;
      if (kind == Kind::kDescent) {
        r.var[i] -= rate * g;
      } else if (kind == Kind::kAdam) {
        r.m[i] += (1 - 0.9) * (g - r.m[i]);
        r.v[i] += (1 - 0.99) * (g * g - r.v[i]);
        const double t = static_cast<double>(step);
        const double corrected = rate * std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.9, t));
        r.var[i] -= corrected * r.m[i] / (std::sqrt(r.v[i]) + 1e-3);
      } else {
        r.m[i] = 0.8 * r.m[i] + g;
        r.var[i] -= kind == Kind::kNesterov ? rate * g + rate * 0.8 * r.m[i] : rate * r.m[i];
      }
    }
  return r;
}

class TrainingTest : public SessionTest {
 protected:
  // One update of an n-element variable; the gradient and the scalars are fed.
  void build(Kind kind, DType dtype, const std::vector<std::size_t>& sizes) {
    const auto scalar = [&](const char* name) { return ops::placeholder(g, dtype, {}, name); };
    rate_ = scalar("rate"), momentum_ = scalar("momentum"), power1_ = scalar("power1"), power2_ = scalar("power2");
    std::vector<Output> updates;
    for (const std::size_t n : sizes) {
      const Dims dims{static_cast<std::int64_t>(n)};
      vars_.push_back(ops::variable(g, "var", ops::zeros(g, dims, dtype)));
      m_.push_back(ops::variable(g, "m", ops::zeros(g, dims, dtype)));
      v_.push_back(ops::variable(g, "v", ops::zeros(g, dims, dtype)));
      grads_.push_back(ops::placeholder(g, dtype, dims, "grad"));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (kind == Kind::kDescent)
        updates.push_back(ops::apply_gradient_descent(vars_[i], rate_, grads_[i]));
      else if (kind == Kind::kAdam)
        updates.push_back(
            ops::apply_adam(vars_[i], m_[i], v_[i], power1_, power2_, rate_, grads_[i], {0.9, 0.99, 1e-3}));
      else
        updates.push_back(ops::apply_momentum(vars_[i], m_[i], rate_, grads_[i], momentum_, kind == Kind::kNesterov));
    }
    train_ = ops::group(g, updates);
  }
  static Tensor numbers(DType dtype, const Dims& dims, const std::function<double(std::size_t)>& f) {
    Tensor t(dtype, dims);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (dtype == DType::kFloat32) {
        t.data<float>()[i] = static_cast<float>(f(i));
      } else {
        t.data<double>()[i] = f(i);
      }
    return t;
  }
  void train(DType dtype, const std::vector<std::size_t>& sizes, std::int64_t steps) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      store->assign(g.node_name_of(vars_[i]), numbers(dtype, {static_cast<std::int64_t>(sizes[i])},
                                                      [](std::size_t e) { return 0.1 * static_cast<double>(e % 5); }));
    for (std::int64_t step = 1; step <= steps; ++step) {
      const double t = static_cast<double>(step);
      std::vector<std::pair<Output, double>> scalars = {
          {rate_, 0.1}, {momentum_, 0.8}, {power1_, std::pow(0.9, t)}, {power2_, std::pow(0.99, t)}};
      std::vector<Tensor> tensors;
      std::vector<Output> outputs;
      for (const auto& [output, value] : scalars) {
        outputs.push_back(output);
        tensors.push_back(numbers(dtype, {}, [&](std::size_t) { return value; }));
      }
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        outputs.push_back(grads_[i]);
        tensors.push_back(
            numbers(dtype, {static_cast<std::int64_t>(sizes[i])}, [&](std::size_t e) { return gradient(step, e); }));
      }
      std::vector<belay_feed> feeds;
      for (std::size_t i = 0; i < outputs.size(); ++i) feeds.push_back({outputs[i].raw(), tensors[i].view()});
      FetchSet fetches(std::vector<FetchRef>{train_});
      RunRequest request;
      request.fetches = &fetches;
      request.feeds = feeds;
      request.full_team = true;
      session().run(request);
    }
  }
  void expect_values(const Output& variable, const std::vector<double>& wanted, double tolerance) {
    const RunResult r = session().handle().run({variable});
    ASSERT_EQ(r[0].size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(r[0].number(i), wanted[i], tolerance * (1 + std::fabs(wanted[i]))) << variable.name() << " " << i;
  }
  void check(Kind kind, DType dtype, const std::vector<std::size_t>& sizes, int threads, double tolerance) {
    build(kind, dtype, sizes);
    DirectSessionOptions options;
    options.threads = threads;
    open(std::move(options));
    initialize();
    train(dtype, sizes, 5);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Reference r = reference(kind, sizes[i], 5);
      expect_values(vars_[i], r.var, tolerance);
      if (kind != Kind::kDescent) expect_values(m_[i], r.m, tolerance);
      if (kind == Kind::kAdam) expect_values(v_[i], r.v, tolerance);
    }
  }

  Output rate_, momentum_, power1_, power2_, train_;
  std::vector<Output> vars_, m_, v_, grads_;
};

struct TrainingCase {
  Kind kind;
  DType dtype;
  std::vector<std::size_t> sizes;  // of several variables: one fused pass in float32
  int threads;
};
class TrainingCases : public TrainingTest, public ::testing::WithParamInterface<TrainingCase> {};

TEST_P(TrainingCases, FollowsItsFormula) {
  const TrainingCase& c = GetParam();
  // Powers of beta near 1 lose digits in float32: 1 - 0.99f differs from 0.01 by 3e-6 of itself.
  check(c.kind, c.dtype, c.sizes, c.threads, c.dtype == DType::kFloat64 ? 1e-12 : 5e-6);
}

std::vector<TrainingCase> all_cases() {
  std::vector<TrainingCase> cases;
  for (const Kind kind : {Kind::kDescent, Kind::kMomentum, Kind::kNesterov, Kind::kAdam})
    for (const DType dtype : {DType::kFloat64, DType::kFloat32})
      for (const auto& sizes :
           std::vector<std::vector<std::size_t>>{{1}, {0, 3}, {17}, {1, 0, 33, 5}, {40001, 7, 20003}})
        for (const int threads : {1, 2}) cases.push_back({kind, dtype, sizes, threads});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, TrainingCases, ::testing::ValuesIn(all_cases()));

TEST_F(SessionTest, AnUpdateGivesTheVariableAsItIsThen) {
  const Output v = ops::variable(g, "v", Tensor({2}, {1.0f, 2.0f}));
  const Output update =
      ops::apply_gradient_descent(v, ops::constant(g, Tensor(0.5f)), ops::constant(g, Tensor({2}, {2.0f, 4.0f})));
  open();
  initialize();
  EXPECT_EQ(values<float>(update), (std::vector<float>{0, 0}));
}

TEST(Training, BadInputIsNamed) {
  const auto variable = [](const Output& like, const Dims& dims) {
    return ops::variable(like.graph(), "v", ops::zeros(like.graph(), dims));
  };
  EXPECT_EQ(
      build_error([&](const Inputs& in) { return ops::apply_gradient_descent(variable(in[0], {2}), in[0], in[1]); },
                  {{DType::kFloat32, {}}, {DType::kFloat32, {3}}}),
      "INVALID_ARGUMENT: node 'ApplyGradientDescent' (ApplyGradientDescent): input 2 (float32 [3]) must have the shape "
      "of the variable, input 0 (float32 [2])");
  EXPECT_EQ(
      build_error([&](const Inputs& in) { return ops::apply_gradient_descent(variable(in[0], {2}), in[0], in[1]); },
                  {{DType::kFloat32, {1}}, {DType::kFloat32, {2}}}),
      "INVALID_ARGUMENT: node 'ApplyGradientDescent' (ApplyGradientDescent): input 1 (float32 [1]) must be a scalar");
  EXPECT_EQ(
      build_error([&](const Inputs& in) { return ops::apply_gradient_descent(variable(in[0], {2}), in[0], in[1]); },
                  {{DType::kFloat64, {}}, {DType::kFloat32, {2}}}),
      "INVALID_ARGUMENT: node 'ApplyGradientDescent' (ApplyGradientDescent): input 0 (float32 [2]) and input 1 "
      "(float64 []) must have the same dtype");
  EXPECT_EQ(build_error(
                [&](const Inputs& in) { return ops::apply_momentum(variable(in[0], {2}), in[0], in[1], in[2], in[1]); },
                {{DType::kFloat32, {3}}, {DType::kFloat32, {}}, {DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'ApplyMomentum' (ApplyMomentum): input 1 (float32 [3]) must have the shape of the "
            "variable, input 0 (float32 [2])");
}

// Every input of every update: slots and gradients have the variable's shape, rates and powers are scalars.
TEST(Training, BadInputOfEachUpdateIsNamed) {
  struct Case {
    const char* op;
    std::vector<bool> scalars;  // for each input: whether it is a scalar, else it has the variable's shape
  };
  for (const Case& c :
       {Case{"ApplyGradientDescent", {false, true, false}}, Case{"ApplyMomentum", {false, false, true, false, true}},
        Case{"ApplyAdam", {false, false, false, true, true, true, false}},
        Case{"ApplyAdagrad", {false, false, true, false}}, Case{"ApplyRmsProp", {false, false, false, true, false}},
        Case{"ApplyCenteredRmsProp", {false, false, false, false, true, false}},
        Case{"ApplyFtrl", {false, false, false, true, false}}}) {
    const std::string node = std::string("INVALID_ARGUMENT: node 'u' (") + c.op + "): ";
    const auto error_with = [&](std::size_t which, const Spec& spec, std::size_t missing = 0) {
      std::vector<Spec> specs;
      for (const bool scalar : c.scalars) specs.push_back({DType::kFloat32, scalar ? Dims{} : Dims{2, 3}});
      specs[which] = spec;
      specs.resize(specs.size() - missing);
      return build_error(
          [&](const Inputs& in) {
            Inputs with_variable = in;
            with_variable[0] = ops::variable(in[0].graph(), "v", ops::zeros(in[0].graph(), {2, 3}));
            return in[0].graph().node(c.op, "u").in(with_variable).output();
          },
          specs);
    };
    for (std::size_t i = 1; i < c.scalars.size(); ++i) {
      SCOPED_TRACE(std::string(c.op) + ", input " + std::to_string(i));
      const std::string input = "input " + std::to_string(i);
      if (c.scalars[i]) {
        EXPECT_EQ(error_with(i, {DType::kFloat32, {2, 3}}), node + input + " (float32 [2, 3]) must be a scalar");
      } else {
        EXPECT_EQ(error_with(i, {DType::kFloat32, {3, 2}}),
                  node + input + " (float32 [3, 2]) must have the shape of the variable, input 0 (float32 [2, 3])");
      }
      EXPECT_EQ(error_with(i, {DType::kInt32, {}}),
                node + "input 0 (float32 [2, 3]) and " + input + " (int32 []) must have the same dtype");
    }
    const std::size_t n = c.scalars.size();
    EXPECT_EQ(error_with(0, {DType::kFloat32, {2, 3}}, 1),
              node + "expected " + std::to_string(n) + " inputs, got " + std::to_string(n - 1));
  }
}

TEST(Training, OnlyFloatsAreUpdated) {
  for (const char* op : {"ApplyAdagrad", "ApplyFtrl"})
    EXPECT_EQ(build_error(
                  [=](const Inputs& in) {
                    const Graph g = in[0].graph();
                    const Output v = ops::variable(g, "v", ops::zeros(g, {2}, DType::kInt32));
                    const std::size_t n = std::string_view(op) == "ApplyFtrl" ? 5 : 4;
                    return g.node(op, "u").in(Inputs(n, v)).output();
                  },
                  {{DType::kFloat32, {}}}),
              std::string("INVALID_ARGUMENT: node 'u' (") + op + "): input 0 (int32 [2]) must be float32 or float64");
}

}  // namespace
}  // namespace belay::runtime::testing
