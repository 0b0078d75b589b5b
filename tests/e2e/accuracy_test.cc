// The examples reach what they promise, on real data, through the real program.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

class Accuracy : public ::testing::Test {
 protected:
  // BELAY_DATA_DIR, else ../shared/data beside the source; empty where there is none.
  static std::string data_directory() {
    const char* given = std::getenv("BELAY_DATA_DIR");
    const std::string path = given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/data";
    return std::filesystem::is_directory(path) ? std::filesystem::canonical(path).string() : "";
  }
  // The number behind `name = ` in the line that an evaluation prints.
  static double metric(const std::string& out, const std::string& name) {
    const std::size_t at = out.find(name + " = ");
    return at == std::string::npos ? -1e9 : std::stod(out.substr(at + name.size() + 3));
  }
  ProcessResult run(const std::string& example, std::vector<std::string> sets = {}) {
    std::vector<std::string> args = {"run", BELAY_SOURCE_DIR "/examples/" + example, "--set",
                                     "run.dir=\"" + (temp / "run") + "\""};
    for (std::string& s : sets) {
      args.emplace_back("--set");
      args.push_back(std::move(s));
    }
    return belay(args, {"BELAY_DATA_DIR=" + data_directory()});
  }
  TempDir temp;
};

#define NEEDS_DATA(file)                                              \
  if (!std::filesystem::exists(data_directory() + "/" file))          \
  GTEST_SKIP() << "SKIPPED: there is no " file " in BELAY_DATA_DIR (" \
               << (data_directory().empty() ? "not there" : data_directory()) << ")"

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

TEST_F(Accuracy, DigitsAreTooHardForALinearModel) {
  const ProcessResult r = run("digits.toml", {"model={plugin=\"linear\"}", "run.seed=977"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_LT(metric(r.out, "accuracy"), 0.93) << r.out;
  EXPECT_GT(metric(r.out, "accuracy"), 0.5) << r.out;
}

#endif

}  // namespace
}  // namespace belay::runtime::testing
