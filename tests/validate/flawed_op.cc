// SPDX-License-Identifier: Apache-2.0
// An operation on the SDK that breaks one rule, told by its attribute "flaw": x + 1 where it has none.
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <csignal>
#include <string>

namespace {

class FlawedOp final : public belay::Op {
 public:
  struct Options {
    belay::Str flaw;
  };
  static constexpr auto about =
      belay::about("flawed_op", "Breaks one rule", belay::option("flaw", &Options::flaw, "which"));
  static constexpr auto traits = belay::OpTraits().elementwise().in_place();
  explicit FlawedOp(const Options& o) : flaw_(o.flaw) {}

  void infer(belay::OpShapes& s) const override {
    s.need_dtype(0, belay::DType::kFloat32);
    if (flaw_ == "takes nothing") belay::fail(belay::Code::kInvalidArgument, "it likes no input");
    if (flaw_ == "crashes at rank 6" && s.rank(0) == 6) std::raise(SIGSEGV);
    if (flaw_ == "guesses shapes" && s.rank(0) < 0) return s.output(belay::DType::kFloat32, {1, 2, 3});
    if (flaw_ == "wants to know" && s.rank(0) < 0) belay::fail(belay::Code::kInvalidArgument, "no rank, no node");
    s.output_like(0);
  }
  void run(belay::OpRun& r) override {
    const auto n = static_cast<std::int64_t>(r.input(0).size());
    float* x = r.input(0).data<float>();
    float* y = r.output(0).data<float>();
    if (flaw_ == "crashes at nothing" && n == 0) std::raise(SIGFPE);
    if (flaw_ == "fails with two threads" && r.threads() == 2) belay::fail(belay::Code::kInternal, "one too many");
    if (flaw_ == "writes behind") y[n] = 1;
    const float last = n == 0 ? 0 : x[n - 1];
    for (std::int64_t i = 0; i < n; ++i) {
      if (flaw_ == "leaves one out" && i == 2) continue;
      // In place the first element is gone when the last one needs it.
      y[i] = (flaw_ == "is not in place" && i == n - 1 && n > 1 ? x[0] + last : x[i]) + 1;
    }
    if (flaw_ == "counts its runs" && n > 0) y[0] += static_cast<float>(++runs_);
    if (flaw_ == "writes to its input" && n > 0 && x != y) x[0] = 7;
  }
  void gradient(belay::OpGradient& g) const override {
    g.set(0, flaw_ == "wrong gradient" ? g.grad() * 3.0 : g.grad() * 1.0);
  }

 private:
  const std::string flaw_;
  int runs_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", FlawedOp)
