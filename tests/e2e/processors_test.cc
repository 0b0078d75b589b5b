// SPDX-License-Identifier: Apache-2.0
// `belay bisect` between two processors: a usual one, and one that is held to the instructions of an old one. Each side
// is trained and replayed as its own.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"
#include "tests/e2e/written_data.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProcessorsTest : public RunTest {
 protected:
  // A small convolutional net; 40 steps, a checkpoint every 20.
  std::string manifest(const std::string& name) const {
    const std::string path = temp / (name + ".toml");
    write_file(path, "[run]\ndir = \"" + name +
                         "\"\nmax_steps = 40\nthreads = 1\n[input.train]\nplugin = \"idx\"\nimages = \"images.idx\"\n"
                         "labels = \"labels.idx\"\nbatch_size = 16\nshuffle = true\nflatten = false\n"
                         "[model]\nplugin = \"cnn\"\nfilters = [4, 8]\nkernel_size = 3\npool = 2\ndense = [32]\n"
                         "dropout = 0.4\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.001\n"
                         "[checkpoint]\nsave_steps = 20\nmax_to_keep = 10\n");
    return path;
  }
  // A program that starts another one with this variable.
  std::string program_with(const std::string& variable, const std::string& belay_program) const {
    const std::string path = temp / "other_belay";
    write_file(path, "#!/bin/sh\nexport " + variable + "\nexec " + belay_program + " \"$@\"\n");
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // What `bisect` found, with the old side as b.
  nlohmann::json parted(const std::string& old_program) const {
    const ProcessResult r = belay({"bisect", temp / "new", temp / "old", "--belay-b", old_program, "--json"});
    EXPECT_EQ(r.status, 1) << r.out << r.err;
    return nlohmann::json::parse(r.out, nullptr, false);
  }
  // The first operation whose result differs, made from what is equal; its name begins so.
  static void expect_operation_of_step_one(const nlohmann::json& found, const std::string& op) {
    ASSERT_TRUE(found.is_object());
    EXPECT_EQ(found.at("step"), 1) << found.dump(1);
    EXPECT_TRUE(found.at("manifest").empty()) << found.dump(1);
    EXPECT_TRUE(found.at("unproved").empty()) << found.dump(1);
    ASSERT_TRUE(found.at("difference").is_object()) << found.dump(1);
    const auto& d = found.at("difference");
    EXPECT_EQ(d.at("origin"), "computed") << found.dump(1);
    EXPECT_THAT(d.at("op_a").get<std::string>(), StartsWith(op));
    EXPECT_THAT(d.at("op_b").get<std::string>(), StartsWith(op));
    EXPECT_GE(d.at("ulps").get<int>(), 1);
    EXPECT_NE(d.at("a"), d.at("b"));
    EXPECT_FALSE(d.at("inputs").empty());
    for (const auto& in : d.at("inputs")) EXPECT_EQ(in.at("state"), "equal") << found.dump(1);
  }
};

TEST_F(ProcessorsTest, AnOldProcessorPartsInTheFirstConvolutionOfStepOne) {
  write_images(temp.path());
  const std::string variable = "ONEDNN_MAX_CPU_ISA=SSE41";
  ASSERT_EQ(belay({"run", manifest("new")}).status, 0);
  ASSERT_EQ(belay({"run", manifest("old")}, {variable}).status, 0);
  // If a processor has no newer instructions, both are the same.
  const ProcessResult all =
      belay({"bisect", temp / "new", temp / "old", "--belay-b", program_with(variable, tested_belay())});
  if (all.out.find("fingerprints: the same") != all.out.npos)
    GTEST_SKIP() << "SKIPPED: this processor has no newer instructions than SSE4.1:\n" << all.out;
  EXPECT_THAT(all.out, AllOf(HasSubstr("step 1 is the first that differs\n"), HasSubstr(" (Conv2D + "),
                             HasSubstr("  made from 'input/image': equal\n")))
      << all.err;
  expect_operation_of_step_one(parted(program_with(variable, tested_belay())), "Conv2D");
}

// The preset v2: own loops without AVX, and oneDNN held to AVX2, as its tests hold it. Which operation it is depends on
// oneDNN: a convolution may have the same bits, and a product may not.
TEST_F(ProcessorsTest, TheOldProcessorsBuildPartsInAnOperationOfStepOne) {
  const std::string folder = BELAY_SOURCE_DIR "/build/v2", program = folder + "/bin/belay";
  if (!fs::exists(program) || program == tested_belay())
    GTEST_SKIP() << "SKIPPED: there is no " << program
                 << " beside this build (cmake --preset v2 && cmake --build --preset v2)";
  write_images(temp.path());
  ASSERT_EQ(belay({"run", manifest("new")}).status, 0);
  const std::string old = program_with("ONEDNN_MAX_CPU_ISA=AVX2 BELAY_PLUGIN_PATH=" + folder + "/plugins", program);
  const std::string log = temp / "log";
  ASSERT_EQ(std::system((old + " run " + manifest("old") + " >" + log + " 2>&1").c_str()), 0) << contents(log);
  expect_operation_of_step_one(parted(old), "");
}

}  // namespace
}  // namespace belay::runtime::testing
