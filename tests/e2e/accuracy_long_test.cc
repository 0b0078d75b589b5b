// SPDX-License-Identifier: Apache-2.0
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

// Nats a character on the part of the text that was not trained on.
class Shakespeare : public Accuracy, public ::testing::WithParamInterface<const char*> {};

TEST_P(Shakespeare, ReachesOnePointSevenNats) {
  NEEDS_DATA("shakespeare/tinyshakespeare.txt");
  const ProcessResult r = run(GetParam());
  ASSERT_EQ(r.status, 0) << r.err;
  const double loss = metric(r.out, "loss");
  EXPECT_GT(loss, 0.0) << r.out;
  EXPECT_LE(loss, 1.70) << r.out;
}
INSTANTIATE_TEST_SUITE_P(Models, Shakespeare,
                         ::testing::Values("shakespeare_lstm.toml", "shakespeare_transformer.toml"));

}  // namespace
}  // namespace belay::runtime::testing
