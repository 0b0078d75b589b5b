// SPDX-License-Identifier: Apache-2.0
// The examples reach what they promise, on real data, through the real program.
#include "tests/e2e/accuracy_fixture.h"
#include "tests/e2e/written_data.h"

namespace belay::runtime::testing {
namespace {

TEST_F(Accuracy, IrisIsRightForNineteenOfTwenty) {
  NEEDS_DATA("uci/iris.csv");
  const ProcessResult r = run("iris.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.95) << r.out;
}

TEST_F(Accuracy, PetalWidthIsExplainedToNineTenths) {
  NEEDS_DATA("uci/iris.csv");
  const ProcessResult r = run("petal_width.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "r2"), 0.9) << r.out;
}

TEST_F(Accuracy, PenguinsAreRightForNineteenOfTwenty) {
  if (!std::filesystem::exists(samples_directory() + "/tfrecord/penguin_train_data_tfrecord-00000-of-00001.gz"))
    GTEST_SKIP() << "SKIPPED: there are no penguins in BELAY_SAMPLES_DIR";
  const ProcessResult r = run("penguins.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.95) << r.out;
}

TEST_F(Accuracy, CustomersWhoLeaveAreFoundInTablesOfWordsAndGaps) {
  NEEDS_DATA("tables/wa_churn.csv");
  const ProcessResult r = run("tables_wa_churn.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "auc"), 0.82) << r.out;
}

TEST_F(Accuracy, CustomersOfAreasAndPlansAreRightInFourteenOfFifteen) {
  NEEDS_DATA("tables/mlc_churn.csv");
  const ProcessResult r = run("tables_mlc_churn.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.93) << r.out;
}

TEST_F(Accuracy, PricesOfHousesAreExplainedToSeventeenTwentieths) {
  NEEDS_DATA("tables/ames.csv");
  const ProcessResult r = run("tables_ames.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "r2"), 0.85) << r.out;
}

TEST_F(Accuracy, PassengersOfAStationAreExplainedToSeventeenTwentieths) {
  NEEDS_DATA("tables/Chicago.csv");
  const ProcessResult r = run("tables_chicago.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "r2"), 0.85) << r.out;
}

TEST_F(Accuracy, WineFromNumpysArraysIsRightForNineOfTen) {
  NEEDS_DATA("uci/wine_data.csv");
  const std::string x = temp / "x.npy", y = temp / "y.npy";
  write_arrays(data_directory() + "/uci/wine_data.csv", x, y);
  const ProcessResult r = run("wine_npy.toml", {"input.train.features=" + x, "input.train.labels=" + y,
                                                "input.eval.features=" + x, "input.eval.labels=" + y});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.9) << r.out;
}

TEST_F(Accuracy, MnistReachesNinetySevenAndAHalf) {
  NEEDS_DATA("mnist/train-images-idx3-ubyte.gz");
  const ProcessResult r = run("mnist_mlp.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.975) << r.out;
}

TEST_F(Accuracy, DigitsReachNinetySeven) {
  const ProcessResult r = run("digits.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.97) << r.out;
}

TEST_F(Accuracy, DigitsReachNinetySevenWithTheActivationOfAPlugin) {
  const ProcessResult r = run("digits_mish.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.97) << r.out;
}

TEST_F(Accuracy, DigitsAreTooHardForALinearModel) {
  const ProcessResult r = run("digits.toml", {"model={plugin=\"linear\"}", "run.seed=977"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_LT(metric(r.out, "accuracy"), 0.93) << r.out;
  EXPECT_GT(metric(r.out, "accuracy"), 0.5) << r.out;
}

TEST_F(Accuracy, DigitsReachNinetyNineWithLayersFromTheManifest) {
  const ProcessResult r = run("digits_sequential.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GE(metric(r.out, "accuracy"), 0.99) << r.out;
}

TEST_F(Accuracy, DigitsComeBackFromThirtyTwoNumbers) {
  const ProcessResult r = run("digits_autoencoder.toml");
  ASSERT_EQ(r.status, 0) << r.err;
  const double error = metric(r.out, "reconstruction_error");
  EXPECT_LE(error, 0.01) << r.out;
  EXPECT_GT(error, 0) << r.out;
}

}  // namespace
}  // namespace belay::runtime::testing
