// SPDX-License-Identifier: Apache-2.0
// A library with two operations and nothing else.
#include <belay/plugin.h>

namespace {

class FirstOp final : public belay::Op {
 public:
  struct Options {
    double beta = 1;
  };
  static constexpr auto about =
      belay::about("first_op", "The first of two", belay::option("beta", &Options::beta, "an attribute").required());
  explicit FirstOp(const Options&) {}
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void run(belay::OpRun&) override {}
};

class SecondOp final : public belay::Op {
 public:
  static constexpr auto about = belay::about("second_op", "The second of two");
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void run(belay::OpRun&) override {}
};

}  // namespace

BELAY_MODULE("0.4.0", FirstOp, SecondOp)
