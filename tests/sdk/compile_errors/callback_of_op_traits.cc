// SPDX-License-Identifier: Apache-2.0
// expect: belay: the traits of an op are a public `static constexpr auto traits = belay::OpTraits();`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Op {
  static constexpr auto traits = belay::OpTraits().elementwise();

 public:
  static constexpr auto about = belay::about("bad", "Its traits are private");
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void run(belay::OpRun&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
