// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/op_driver.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "belay/tensor_text.h"
#include "belay/testing/error_of.h"

namespace {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using belay::TensorView;

// Its attribute decides the result, or the mistake.
class Tried final : public belay::Op {
 public:
  struct Options {
    belay::Str what = "copy";
    std::int64_t factor = 2;
  };
  static constexpr auto about = belay::about("tried", "Is tried", belay::option("what", &Options::what, "it does"),
                                             belay::option("factor", &Options::factor, "factor").range(1, 9));
  static constexpr auto traits = belay::OpTraits().any_inputs().random();
  explicit Tried(const Options& o) : o_(o) {}
  void infer(belay::OpShapes& s) const override {
    if (o_.what == "axis") s.dim(0, 7);
    if (o_.what == "input") s.dtype(3);
    if (o_.what == "string") return s.output(DType::kString, {});
    if (o_.what == "unranked") return s.output_of_unknown_rank(DType::kFloat32);
    s.output_like(0);
    if (o_.what == "two") s.output(DType::kInt64, {s.dim(0, -1)});
  }
  void prepare(const belay::OpSetup& setup) override {
    if (o_.what == "prepare") throw std::invalid_argument("no scratch");
    host().info("prepared for " + belay::dims_text(setup.output(0).dims()) + " on " + std::to_string(setup.threads()));
  }
  void run(belay::OpRun& r) override {
    const auto n = static_cast<std::int64_t>(r.input(0).size());
    const float* x = r.input(0).data<const float>();
    float* y = r.output(0).data<float>();
    r.parallel(n, 2, [&](std::int64_t begin, std::int64_t end) {
      if (o_.what == "part" && begin > 0) throw std::runtime_error("part from " + std::to_string(begin));
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = o_.what == "stream" ? static_cast<float>(r.seed() * 1000 + r.counter())
                                   : static_cast<float>(o_.factor) * x[i];
    });
    if (o_.what == "spoils") r.input(0).data<float>()[0] = -1;
    if (o_.what == "two") *r.output(1).data<std::int64_t>() = n;
    if (o_.what == "grain") r.parallel(n, 0, [](std::int64_t, std::int64_t) {});
  }

 private:
  const Options o_;
};

class WithGradient final : public belay::Op {
 public:
  static constexpr auto about = belay::about("with_gradient", "Has a gradient");
  void infer(belay::OpShapes& s) const override { s.need_inputs(1), s.output_like(0); }
  void run(belay::OpRun&) override {}
  void gradient(belay::OpGradient& g) const override { g.set(0, g.grad()); }
};

const belay_op_api* tried() { return &belay::detail::Exported<Tried>::table; }
const belay_op_api* with_gradient() { return &belay::detail::Exported<WithGradient>::table; }

std::string numbers(const Tensor& t) { return belay::tensor_text(t, t.size()); }

TEST(OpDriver, TellsTheShapes) {
  OpDriver op(tried(), {{"what", "two"}});
  EXPECT_EQ(op.infer({{DType::kFloat32, {-1, 3}}}), "float32 [?, 3], int64 [3]");
  EXPECT_EQ(op.infer({{DType::kInt32, {}, false}}), "int32 [...], int64 [?]");
}

TEST(OpDriver, KnowsTraitsAndGradients) {
  const OpDriver one(tried()), other(with_gradient());
  EXPECT_EQ(one.traits().n_inputs, -1);
  EXPECT_EQ(one.traits().flags, std::uint32_t{BELAY_OP_RANDOM});
  EXPECT_FALSE(one.has_gradient());
  EXPECT_EQ(other.traits().n_inputs, 1);
  EXPECT_TRUE(other.has_gradient());
}

TEST(OpDriver, RunsOnGivenValues) {
  OpDriver op(tried(), {{"what", "two"}, {"factor", 3}});
  op.threads = 2;
  const std::vector<Tensor> out = op.run({Tensor({1}, {5.f})});
  EXPECT_EQ(numbers(out[0]), "[15]");
  EXPECT_EQ(numbers(out[1]), "[1]");
  EXPECT_EQ(op.host().logged().back(), "info: prepared for [1] on 2");
  OpDriver plain(tried());
  plain.threads = 3;
  EXPECT_EQ(numbers(plain.run({Tensor({7}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f})})[0]), "[2, 4, 6, 8, 10, 12, 14]");
  EXPECT_EQ(plain.run({Tensor({0, 2}, std::vector<float>{})})[0].dims(), (belay::Dims{0, 2}));
}

TEST(OpDriver, GivesSeedAndCounter) {
  OpDriver op(tried(), {{"what", "stream"}});
  op.seed = 4;
  op.counter = 17;
  EXPECT_EQ(numbers(op.run({Tensor(0.f)})[0]), "4017");
}

TEST(OpDriver, ErrorsComeOut) {
  const auto said = [](const OptionValues& attrs) {
    return error_of([&] {
      OpDriver op(tried(), attrs);
      op.threads = 2;
      op.run({Tensor({4}, {1.f, 2.f, 3.f, 4.f})});
    });
  };
  const struct {
    OptionValues attrs;
    const char* expected;
  } cases[] = {
      {{{"waht", "x"}}, "INVALID_ARGUMENT: 'waht' is not an option of op 'tried'"},
      {{{"factor", 10}}, "INVALID_ARGUMENT: 'factor' is 10, must be <= 9"},
      {{{"what", "axis"}}, "INVALID_ARGUMENT: input 0 (float32 [4]) has no axis 7"},
      {{{"what", "input"}}, "INVALID_ARGUMENT: the node has 1 inputs, there is no input 3"},
      {{{"what", "string"}}, "INVALID_ARGUMENT: output: the dtype 7 is none of a number"},
      {{{"what", "unranked"}},
       "FAILED_PRECONDITION: infer gave the unknown shape [...] although the shapes of all inputs are known"},
      {{{"what", "prepare"}}, "INVALID_ARGUMENT: no scratch"},
      {{{"what", "part"}}, "UNKNOWN: part from 2"},
      {{{"what", "spoils"}}, "FAILED_PRECONDITION: run wrote to input 0"},
      {{{"what", "grain"}}, "INVALID_ARGUMENT: parallel: grain must be at least 1, n at least 0"},
  };
  for (const auto& c : cases) EXPECT_EQ(said(c.attrs), c.expected);
}

TEST(OpDriver, AHostWithoutTheServiceIsAnError) {
  DriverSetup setup;
  setup.without = {"op"};
  OpDriver op(tried(), {}, setup);
  EXPECT_EQ(error_of([&] {
              op.infer({{DType::kFloat32, {1}}});
            }),
            "UNIMPLEMENTED: the other side offers no 'op.output'");
}

}  // namespace
