// SPDX-License-Identifier: Apache-2.0
// expect: belay: prepare would never be called: declare it as in belay::Op, `void prepare(const OpSetup&) override`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Op {
 public:
  static constexpr auto about = belay::about("bad", "Its prepare takes another reference");
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void run(belay::OpRun&) override {}
  void prepare(belay::OpSetup&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
