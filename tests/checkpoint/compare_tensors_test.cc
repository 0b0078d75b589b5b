// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/compare_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

const TensorInfo kKernel{"hidden/kernel", DType::kFloat32, {784, 256}};

TensorInfo named(const TensorInfo& t, const std::string& name) { return {name, t.dtype, t.dims}; }

TEST(CompareTensors, EqualListsHaveNoDifferences) {
  EXPECT_EQ(tensor_differences({kKernel, named(kKernel, "b")}, {named(kKernel, "b"), kKernel}), "");
  EXPECT_EQ(tensor_differences({}, {}), "");
}

TEST(CompareTensors, EachDifferenceHasItsLine) {
  EXPECT_EQ(tensor_differences({kKernel,
                                {"out/bias", DType::kFloat32, {10}},
                                {"global_step", DType::kInt64, {}},
                                {"both", DType::kFloat32, {2}},
                                {"new", DType::kFloat32, {1, 2, 3}}},
                               {{"dense/kernel", DType::kFloat32, {784, 256}},
                                {"out/bias", DType::kFloat32, {20}},
                                {"global_step", DType::kInt32, {}},
                                {"both", DType::kFloat64, {3}},
                                {"old", DType::kUInt8, {}}}),
            "  re-typed  both           float32 in the graph, float64 in the checkpoint\n"
            "  reshaped  both           float32 [2] in the graph, [3] in the checkpoint\n"
            "  extra     dense/kernel   float32 [784, 256]\n"
            "  re-typed  global_step    int64 in the graph, int32 in the checkpoint\n"
            "  missing   hidden/kernel  float32 [784, 256]; saved as 'dense/kernel'?\n"
            "  missing   new            float32 [1, 2, 3]\n"
            "  extra     old            uint8 []\n"
            "  reshaped  out/bias       float32 [10] in the graph, [20] in the checkpoint");
}

TEST(CompareTensors, AFormerNameIsOneOfTheSameTypeAndShapeAndGivenOnce) {
  const struct {
    std::vector<std::string> graph, checkpoint;
    std::string expected;
  } cases[] = {
      {{"dense/kernel"}, {"dense/kernal", "conv/kernel"}, "dense/kernal"},                    // the nearest
      {{"a/kernel"}, {"layers/first/weight", "layers/first/kernel"}, "layers/first/kernel"},  // the same last part
      {{"a/w"}, {"something else"}, "something else"},                                        // the only one
      {{"a/w"}, {"something else", "another"}, ""},                                           // not one of two
  };
  for (const auto& c : cases) {
    std::vector<TensorInfo> graph, checkpoint;
    for (const std::string& name : c.graph) graph.push_back(named(kKernel, name));
    for (const std::string& name : c.checkpoint) checkpoint.push_back(named(kKernel, name));
    const std::string text = tensor_differences(graph, checkpoint);
    EXPECT_EQ(text.find("saved as") != text.npos, !c.expected.empty()) << text;
    if (!c.expected.empty()) {
      EXPECT_NE(text.find("; saved as '" + c.expected + "'?"), text.npos) << text;
    }
  }
  const std::string twice = tensor_differences({named(kKernel, "x/1"), named(kKernel, "x/2")}, {named(kKernel, "y")});
  EXPECT_EQ(twice,
            "  missing   x/1  float32 [784, 256]; saved as 'y'?\n"
            "  missing   x/2  float32 [784, 256]\n"
            "  extra     y    float32 [784, 256]");
}

// Issue 33, point 6: each missing name was compared with each that is left over.
TEST(CompareTensors, OfVeryManyThatDoNotFitTheFirstAreShownWithTheNumberOfTheOthers) {
  std::vector<TensorInfo> graph, checkpoint;
  for (int i = 0; i < 100'000; ++i) {
    graph.push_back(named(kKernel, "a/" + std::to_string(i)));
    checkpoint.push_back(named(kKernel, "b/" + std::to_string(i)));
  }
  const std::string text = tensor_differences(graph, checkpoint);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1000);
  EXPECT_TRUE(text.ends_with("\n  ... and 199000 more"));
}

// F26
TEST(CompareTensors, ACheckpointThatDoesNotFitIsRefusedWithTheTableAndTheWayOut) {
  const TempDir dir;
  const auto run = posix_file_system().open_directory(dir.path());
  RecordingLogger log;
  const SafetensorsSaver saver;
  write_checkpoint(*run, StepContent(5).content(), saver.use(), log);
  const auto reader = CheckpointReader::open(run->open_directory("model.ckpt-5"));
  check_fits(*reader, reader->tensors());
  try {
    check_fits(*reader, {{"dense/kernel", DType::kFloat32, {16}}, {"global_step", DType::kInt64, {}}});
    FAIL();
  } catch (const RestoreError& e) {
    const std::string path = dir / "model.ckpt-5";
    EXPECT_EQ(e.code(), Code::kFailedPrecondition);
    EXPECT_EQ(
        std::string(e.what()),
        "[B4032] the checkpoint '" + path +
            "' does not fit this model:\n"
            "  extra     dense/bias    float64 [3]\n"
            "  reshaped  dense/kernel  float32 [16] in the graph, [15] in the checkpoint\n"
            "to take a part of it, begin in another directory with [scaffold] init_fn = [{ plugin = \"warm_start\", "
            "from = \"" +
            path + "\" }]");
  }
}

}  // namespace
}  // namespace belay::runtime
