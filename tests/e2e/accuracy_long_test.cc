// Examples that take minutes reach what they promise.
#include "tests/e2e/accuracy_fixture.h"

namespace belay::runtime::testing {
namespace {

TEST_F(Accuracy, MnistReachesNinetyNineWithConvolutions) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  const ProcessResult r = run("mnist_cnn.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.99) << r.out;
}

TEST_F(Accuracy, MnistReachesNinetyNineWithResidualBlocks) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  const ProcessResult r = run("mnist_resnet.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.99) << r.out;
}

}  // namespace
}  // namespace belay::runtime::testing
