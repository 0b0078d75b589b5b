// SPDX-License-Identifier: Apache-2.0
// Drives one node on the real engine: its shapes, its values, its gradient against finite differences. Link
// belay::testing_runtime; the header itself needs the SDK only.
//
//   NodeDriver node(belay_module_swish, "Swish", {{"beta", 1.5}});
//   node.input(DType::kFloat32, {-1, 3});
//   node.build();
//   EXPECT_EQ(node.spec(), "float32 [?, 3]");
//   EXPECT_LT(node.worst_gradient_error({Tensor({2, 3}, {...})}), 1e-2);
//
// The operation may be one of the module or the engine's own. What it throws comes out as belay::Error, with the node's
// name. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

class NodeDriver {
 public:
  // `operation` as in a graph: "Swish". All operations of the module are there.
  NodeDriver(const belay_module& module, const std::string& operation, const OptionValues& attrs = {});
  ~NodeDriver();
  NodeDriver(const NodeDriver&) = delete;
  NodeDriver& operator=(const NodeDriver&) = delete;

  // The next input, a placeholder; before build. -1: an unknown dimension.
  void input(DType dtype, const Dims& dims);
  void input_of_unknown_rank(DType dtype);
  // Adds the node, named "node", and its gradients where it has any. `threads`: of the runs.
  void build(int threads = 1, std::uint64_t seed = 42);

  // "float32 [?, 3]"
  std::string spec(std::uint32_t output = 0) const;
  std::uint32_t n_outputs() const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);

  // Whether inputs of a floating-point type get gradients; why not: gradient_error().
  bool has_gradient() const;
  const std::string& gradient_error() const;
  // The gradients of the sum of all floating-point outputs, each element weighted by a number that follows from the
  // seed, one per input; an empty tensor (dtype kInvalid) where an input gets none.
  std::vector<Tensor> gradients(const std::vector<Tensor>& inputs);
  // The largest distance of them from finite differences, over at most `per_input` elements of each input, relative to
  // the larger of 1 and the gradient. Where the differences to the left and to the right disagree, as at the bend of a
  // relu, what lies between them is right. float32: some 1e-3 is rounding.
  double worst_gradient_error(const std::vector<Tensor>& inputs, int per_input = 20);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
