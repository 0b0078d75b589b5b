// SPDX-License-Identifier: Apache-2.0
// The examples reach what they promise, on real data, through the real program.
#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/e2e/accuracy_fixture.h"

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

// The rows of a csv file of numbers with a label last, as the arrays x and y that numpy would write: features as
// float32 of mean 0 and deviation 1, labels as int64.
void write_arrays(const std::string& csv, const std::string& x_path, const std::string& y_path) {
  std::vector<std::vector<double>> rows;
  std::ifstream file(csv);
  std::string line, field;
  std::getline(file, line);
  while (std::getline(file, line)) {
    rows.emplace_back();
    for (std::istringstream fields(line); std::getline(fields, field, ',');) rows.back().push_back(std::stod(field));
  }
  const std::size_t width = rows[0].size() - 1;
  std::string x, y;
  std::vector<double> mean(width), square(width);
  const auto n = static_cast<double>(rows.size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < width; ++i) mean[i] += row[i] / n, square[i] += row[i] * row[i] / n;
  const auto append = [](std::string& bytes, auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < width; ++i)
      append(x, static_cast<float>((row[i] - mean[i]) / std::sqrt(square[i] - mean[i] * mean[i])));
    append(y, static_cast<std::int64_t>(row[width]));
  }
  const auto npy = [](const std::string& descr, const std::string& shape, const std::string& elements) {
    const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + elements;
  };
  const std::string count = std::to_string(rows.size());
  write_file(x_path, npy("<f4", count + ", " + std::to_string(width), x));
  write_file(y_path, npy("<i8", count + ",", y));
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

#ifndef __SANITIZE_ADDRESS__  // they take minutes there and show nothing more

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

#endif

}  // namespace
}  // namespace belay::runtime::testing
