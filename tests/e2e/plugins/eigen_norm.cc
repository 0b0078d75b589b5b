// SPDX-License-Identifier: Apache-2.0
// A hook that computes with Eigen. Built twice: for the host's processor and for x86-64-v3, where Eigen's packets are
// twice as wide and its own memory is aligned twice as far.
#include <belay/eigen.h>
#include <belay/plugin.h>

#include <cstdio>
#include <string>

namespace {

class EigenNorm final : public belay::Hook {
 public:
  static constexpr auto about = belay::about(EIGEN_NORM_NAME, "Says the norms of the weights in its last step");

  void begin(belay::Graph& graph) override {
    weights_ = graph.fetch(graph.collection(belay::collections::kTrainableVariables).at(0));
    packet_.setOnes();
  }
  belay::RunArgs before_run(belay::RunContext&) override { return {weights_}; }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    const auto all = belay::eigen_array<const float>(values[weights_], "weights").matrix();
    // From the second element on: aligned to 4 bytes, whatever the host aligns to.
    const Eigen::Map<const Eigen::VectorXf> rest(all.data() + 1, all.size() - 1);
    const Eigen::MatrixXf product = (all.head(8) * packet_.transpose()).eval();  // separate memory
    char text[96];
    std::snprintf(text, sizeof(text), "norms %.5f %.5f %.5f", all.norm(), rest.norm(), product.norm());
    last_ = text;
  }
  void end(belay::Session&) override { host().info(last_); }

  EIGEN_MAKE_ALIGNED_OPERATOR_NEW

 private:
  Eigen::Matrix<float, 8, 1> packet_;  // 32 bytes, aligned to as many with AVX
  belay::Output weights_;
  std::string last_;
};

}  // namespace

BELAY_MODULE("1.0.0", EigenNorm)
