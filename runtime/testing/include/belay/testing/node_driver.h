// SPDX-License-Identifier: Apache-2.0
// Drives one node on the real engine: its shapes, its values, its gradient against finite differences. Link
// belay::testing_runtime; this header needs only the SDK.
//
//   NodeDriver node(belay_module_swish, "Swish", {{"beta", 1.5}});
//   node.input(DType::kFloat32, {-1, 3});
//   node.build();
//   EXPECT_EQ(node.spec(), "float32 [?, 3]");
//   EXPECT_LT(node.worst_gradient_error({Tensor({2, 3}, {...})}), 1e-2);
//
// The operation may be one of the module or of the engine. Its error is thrown as belay::Error with the node's name.
// Use it from one thread.
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
  // `operation` is its name in a graph: "Swish". All operations of the module can be used.
  NodeDriver(const belay_module& module, const std::string& operation, const OptionValues& attrs = {});
  ~NodeDriver();
  NodeDriver(const NodeDriver&) = delete;
  NodeDriver& operator=(const NodeDriver&) = delete;

  // Adds the next input, a placeholder. Call it before build. -1: an unknown dimension.
  void input(DType dtype, const Dims& dims);
  void input_of_unknown_rank(DType dtype);
  // Adds the node, named "node", and its gradients if it has any. `threads` is for the runs.
  void build(int threads = 1, std::uint64_t seed = 42);

  // Returns "float32 [?, 3]".
  std::string spec(std::uint32_t output = 0) const;
  std::uint32_t n_outputs() const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);

  // True if inputs of a floating-point type get gradients. gradient_error() has the reason if not.
  bool has_gradient() const;
  const std::string& gradient_error() const;
  // Returns one gradient per input. It is that of the sum of all floating-point outputs, with a weight from the seed
  // for each element. An empty tensor (dtype kInvalid): an input gets none.
  std::vector<Tensor> gradients(const std::vector<Tensor>& inputs);
  // Returns their largest distance from finite differences, over at most `per_input` elements of each input. It is
  // relative to the larger of 1 and the gradient. The differences to the left and to the right may disagree, as at the
  // bend of a relu. Then any value between them is right. In float32 about 1e-3 is rounding.
  double worst_gradient_error(const std::vector<Tensor>& inputs, int per_input = 20);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
