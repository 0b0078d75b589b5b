// SPDX-License-Identifier: Apache-2.0
// expect: belay: gradient is private, protected or shares its name with another member, so the host cannot call it:
// declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Op {
 public:
  static constexpr auto about = belay::about("bad", "Its gradient is protected");
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void run(belay::OpRun&) override {}

 protected:
  void gradient(belay::OpGradient& g) const override { g.set(0, g.grad()); }
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
