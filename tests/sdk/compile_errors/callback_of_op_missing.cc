// SPDX-License-Identifier: Apache-2.0
// expect: belay: a class that derives from belay::Op has a `void run(OpRun&) override`; this one lacks it
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Op {
 public:
  static constexpr auto about = belay::about("bad", "Has a shape and no kernel");
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
