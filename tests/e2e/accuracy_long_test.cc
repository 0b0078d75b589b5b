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
TEST_F(Accuracy, TheLstmReachesOnePointSevenNatsOnShakespeare) {
  NEEDS_DATA("shakespeare/tinyshakespeare.txt");
  const ProcessResult r = run("shakespeare_lstm.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  const double loss = metric(r.out, "loss");
  EXPECT_GT(loss, 0.0) << r.out;
  EXPECT_LE(loss, 1.70) << r.out;
}

TEST_F(Accuracy, TheTransformerReachesOnePointSevenNatsOnShakespeare) {
  NEEDS_DATA("shakespeare/tinyshakespeare.txt");
  const ProcessResult r = run("shakespeare_transformer.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  const double loss = metric(r.out, "loss");
  EXPECT_GT(loss, 0.0) << r.out;
  EXPECT_LE(loss, 1.70) << r.out;
}

}  // namespace
}  // namespace belay::runtime::testing
