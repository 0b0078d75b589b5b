// Returns x if it is above zero, else slope * x. In a graph: graph.node("MyOp").in(x).attr("slope", 0.2).output().
#include <belay/eigen.h>
#include <belay/ops/math.h>
#include <belay/ops/shape.h>
#include <belay/plugin.h>

namespace {

class MyOp final : public belay::Op {
 public:
  struct Options {
    double slope = 0.1;
  };
  static constexpr auto about =
      belay::about("my_op", "x above zero, slope * x below",
                   belay::option("slope", &Options::slope, "factor for elements below zero").range(0, 1));
  static constexpr auto traits = belay::OpTraits().elementwise().in_place();

  explicit MyOp(const Options& options) : slope_(static_cast<float>(options.slope)) {}

  void infer(belay::OpShapes& shapes) const override {
    shapes.need_dtype(0, belay::DType::kFloat32);
    shapes.output_like(0);
  }

  // Allocates nothing; the parts run on the host's threads.
  void run(belay::OpRun& run) override {
    const auto x = belay::eigen_array<const float>(run.input(0));
    auto y = belay::eigen_array<float>(run.output(0));
    run.parallel(x.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
      const auto part = x.segment(begin, end - begin);
      y.segment(begin, end - begin) = part.max(slope_ * part);  // the slope is at most 1
    });
  }

  // Adds nodes to the graph: the incoming gradient, times the slope at x.
  void gradient(belay::OpGradient& g) const override {
    namespace ops = belay::ops;
    const belay::Output above = ops::greater(g.input(0), ops::zeros_like(g.input(0)));
    g.set(0, ops::select(above, g.grad(), g.grad() * static_cast<double>(slope_)));
  }

 private:
  const float slope_;
};

}  // namespace

BELAY_MODULE("0.1.0", MyOp)
