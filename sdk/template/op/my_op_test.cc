// Runs the operation alone, then on the real engine. Each test runs twice: linked in, and with the .so.
#include <belay/testing/node_driver.h>
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

extern "C" const belay_module belay_module_my_op;

namespace {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using belay::TensorView;

const belay_module& module() { return module_under_test(belay_module_my_op); }

TEST(MyOp, ScalesWhatIsBelowZero) {
  OpDriver op(module(), {{"slope", 0.5}});
  const Tensor y = op.run({Tensor({3}, {2.f, 0.f, -2.f})})[0];
  EXPECT_EQ(belay::tensor_text(y, 3), "[2, 0, -1]");
}

TEST(MyOp, KeepsTheShape) {
  OpDriver op(module());
  EXPECT_EQ(op.infer({{DType::kFloat32, {-1, 3}}}), "float32 [?, 3]");
  EXPECT_EQ(error_of([&] {
              op.infer({{DType::kInt64, {2}}});
            }),
            "INVALID_ARGUMENT: input 0 (int64 [2]) must be float32");
}

TEST(MyOp, RefusesASlopeOutOfRange) {
  OpDriver op(module(), {{"slope", 2.0}});
  EXPECT_EQ(error_of([&] { op.infer({{DType::kFloat32, {2}}}); }), "INVALID_ARGUMENT: 'slope' is 2, must be <= 1");
}

TEST(MyOp, GradientAgreesWithFiniteDifferences) {
  NodeDriver node(module(), "MyOp", {{"slope", 0.25}});
  node.input(DType::kFloat32, {-1});
  node.build();
  EXPECT_LT(node.worst_gradient_error({Tensor({4}, {-2.f, -0.5f, 0.5f, 3.f})}), 1e-2);
}

}  // namespace
