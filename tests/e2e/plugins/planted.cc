// SPDX-License-Identifier: Apache-2.0
// A model whose operation changes one element in one step: by one unit in the last place, or into a NaN; on the way
// forward, or in the gradient.
#include <belay/ops/math.h>
#include <belay/ops/matmul.h>
#include <belay/ops/reductions.h>
#include <belay/ops/shape.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace {

namespace ops = belay::ops;
using belay::DType;
using belay::Output;

// x as it is; in step `step` one element of it is another. Its second input is the global step.
class Plant final : public belay::Op {
 public:
  struct Options {
    std::int64_t step = -1;
    std::int64_t element = 0;
    belay::Str what = "ulp";
    bool in_gradient = false;
  };
  static constexpr auto about =
      belay::about("plant", "Its input, but for one element in one step",
                   belay::option("step", &Options::step, "in which it changes the element; -1: in none"),
                   belay::option("element", &Options::element, "which, modulo how many there are"),
                   belay::option("what", &Options::what, "the next number, or a NaN").choices("ulp", "nan"),
                   belay::option("in_gradient", &Options::in_gradient, "of the gradient, not of the input"));
  static constexpr auto traits = belay::OpTraits().inputs(2);

  explicit Plant(const Options& o) : o_(o) {}

  void infer(belay::OpShapes& shapes) const override {
    shapes.need_dtype(0, DType::kFloat32);
    shapes.need_dtype(1, DType::kInt64);
    shapes.output_like(0);
  }
  void run(belay::OpRun& run) override {
    const float* x = run.input(0).data<const float>();
    float* y = run.output(0).data<float>();
    const std::size_t n = run.input(0).size();
    if (n == 0) return;
    std::memcpy(y, x, n * sizeof(float));
    if (o_.in_gradient || run.input(1).data<const std::int64_t>()[0] + 1 != o_.step) return;
    float& element = y[static_cast<std::size_t>(o_.element) % n];
    element = o_.what == "nan" ? std::nanf("") : std::nextafterf(element, HUGE_VALF);
  }
  void gradient(belay::OpGradient& g) const override {
    Output gradient = g.grad();
    if (o_.in_gradient)
      gradient = g.graph()
                     .node("Plant", "planted_gradient")
                     .in(gradient)
                     .in(g.input(1))
                     .attr("step", o_.step)
                     .attr("element", o_.element)
                     .attr("what", std::string(o_.what.view()))
                     .output();
    g.set(0, gradient);
  }

 private:
  Options o_;
};

// A hidden layer, and what the operation leaves of it: summed up in a variable that loses no unit of its last place, so
// that the states differ from that step on.
class Planted final : public belay::Model {
 public:
  struct Options {
    std::int64_t step = -1;
    std::int64_t element = 0;
    belay::Str what = "ulp";
    bool in_gradient = false;
    bool keeps_sum = false;
    std::int64_t batch_size = 16;
  };
  static constexpr auto about =
      belay::about("planted", "A small net with the operation plant behind its hidden layer",
                   belay::option("step", &Options::step, "see plant"), belay::option("element", &Options::element, ""),
                   belay::option("what", &Options::what, "").choices("ulp", "nan"),
                   belay::option("in_gradient", &Options::in_gradient, ""),
                   belay::option("keeps_sum", &Options::keeps_sum,
                                 "keeps what the hidden layer makes its Tanh of, so that its plan is fused otherwise"),
                   belay::option("batch_size", &Options::batch_size, "of the input"));
  explicit Planted(const Options& o) : o_(o) {}

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    constexpr std::int64_t kUnits = 8;
    ops::DenseOptions layer;
    layer.name = "hidden";
    layer.activation = ops::Activation::kTanh;
    const Output hidden = ops::dense(model.feature(), kUnits, layer);
    const Output planted = g.node("Plant", "planted")
                               .in(hidden)
                               .in(g.find("global_step"))
                               .attr("step", o_.step)
                               .attr("element", o_.element)
                               .attr("what", std::string(o_.what.view()))
                               .attr("in_gradient", o_.in_gradient)
                               .output();
    layer.name = "out";
    layer.activation = ops::Activation::kNone;
    const Output y = ops::reduce_sum(ops::dense(planted, 1, layer), {1});
    model.prediction("y", y);
    if (model.mode() == belay::Mode::kPredict) return;
    model.loss(ops::reduce_mean(ops::square(y - model.label())));
    if (!model.training()) return;
    const belay::Dims dims{o_.batch_size, kUnits};
    const std::vector<double> zeros(static_cast<std::size_t>(o_.batch_size * kUnits));
    const Output kept = ops::variable(g, "kept", belay::Tensor(dims, zeros), ops::VariableKind::kGlobal);
    const Output wide = ops::cast(ops::reshape(planted, dims), DType::kFloat64);
    g.collect(belay::collections::kUpdateOps, ops::assign_add(kept, wide, "keep"));
    if (!o_.keeps_sum) return;
    const std::vector<float> none(zeros.size());
    const Output sum = ops::variable(g, "sum", belay::Tensor(dims, none), ops::VariableKind::kLocal);
    g.collect(belay::collections::kUpdateOps,
              ops::assign(sum, ops::reshape(g.find("hidden/BiasAdd"), dims), "keep_sum"));
  }

 private:
  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", Plant, Planted)
