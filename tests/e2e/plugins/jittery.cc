// SPDX-License-Identifier: Apache-2.0
// A model and an operation of the same library. The operation draws random numbers, and fails at a step that its node
// names; the model also uses an operation of another library.
#include <belay/heads.h>
#include <belay/ops/math.h>
#include <belay/ops/matmul.h>
#include <belay/philox.h>
#include <belay/plugin.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

// x times a random factor per element, and the factors.
class Jitter final : public belay::Op {
 public:
  struct Options {
    double width = 0.1;
    std::int64_t fail_at = -1;
    belay::Str how = "error";
  };
  static constexpr auto about =
      belay::about("jitter", "Multiplies by random factors",
                   belay::option("width", &Options::width, "of the factors' distance from 1").range(0, 1),
                   belay::option("fail_at", &Options::fail_at, "the step that fails"),
                   belay::option("how", &Options::how, "it fails").choices("error", "aborted", "throw"));
  static constexpr auto traits = belay::OpTraits().random();
  explicit Jitter(const Options& o) : o_(o) {}

  void infer(belay::OpShapes& s) const override {
    s.need_dtype(0, belay::DType::kFloat32);
    s.output_like(0);
    s.output_like(0);
  }
  void run(belay::OpRun& r) override {
    if (static_cast<std::int64_t>(r.counter()) == o_.fail_at) fail_now();
    const float* x = r.input(0).data<const float>();
    float *y = r.output(0).data<float>(), *factor = r.output(1).data<float>();
    const float width = static_cast<float>(o_.width);
    r.parallel(static_cast<std::int64_t>(r.input(0).size()), 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint32_t word = belay::philox(r.seed(), static_cast<std::uint64_t>(i), r.counter())[0];
        factor[i] = 1 + width * (static_cast<float>(word >> 8) / 8388608.f - 1);
        y[i] = x[i] * factor[i];
      }
    });
  }
  void gradient(belay::OpGradient& g) const override { g.set(0, g.grad() * g.output(1)); }

 private:
  void fail_now() {
    if (o_.how == "throw") throw std::runtime_error("boom");
    if (o_.how == "error") belay::fail(belay::Code::kDataLoss, "the factors are gone");
    if (failed_once()) return;
    belay::fail(belay::Code::kAborted, "the factors are late");
  }
  // In this process; a kernel made anew after a recovery must not fail again.
  static bool failed_once() {
    static bool failed = false;
    return std::exchange(failed, true);
  }
  const Options o_;
};

class Jittery final : public belay::Model {
 public:
  struct Options {
    belay::Str activation = "Mish";
    std::int64_t fail_at = -1;
    belay::Str how = "error";
  };
  static constexpr auto about =
      belay::about("jittery", "A perceptron with operations of plugins",
                   belay::option("activation", &Options::activation, "an operation"),
                   belay::option("fail_at", &Options::fail_at, "the step at which Jitter fails"),
                   belay::option("how", &Options::how, "it fails").choices("error", "aborted", "throw"));
  explicit Jittery(const Options& o) : o_(o) {}

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    belay::ops::DenseOptions hidden, last;
    hidden.name = "hidden";
    last.name = "last";
    belay::Output x = belay::ops::dense(belay::feature_matrix(model), 33, hidden);
    x = g.node(o_.activation.view(), "activation").in(x).output();
    x = g.node("Jitter", "jitter").in(x).attr("fail_at", o_.fail_at).attr("how", o_.how.view()).output();
    belay::add_head(model, belay::ops::dense(x, 1, last), "regression");
  }

 private:
  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", Jittery, Jitter)
