// SPDX-License-Identifier: Apache-2.0
// Runs of the model `planted`, in which one element of one step is another one: the beginning of a divergence, and the
// parting of two runs.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

class PlantedRunTest : public RunTest {
 protected:
  static constexpr int kBatch = 16, kSteps = 60;

  // `options` of the model; `input` is the section's body.
  std::string planted(const std::string& name, const std::string& options, int steps = kSteps, int save_steps = 20,
                      const std::string& input = "plugin = \"numbers\"\nexamples = 1600\nshuffle = true\n") {
    const std::string path = temp / (name + ".toml");
    write_file(path, "[run]\ndir = \"" + name + "\"\nmax_steps = " + std::to_string(steps) +
                         "\nthreads = 1\n[input.train]\n" + input + "[model]\nplugin = \"planted\"\n" + options +
                         "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.001\n[checkpoint]\nsave_steps = " +
                         std::to_string(save_steps) + "\nmax_to_keep = 100\n");
    return path;
  }
  std::string dir(const std::string& name) const { return temp / name; }
  static std::string plant(int step, int element, const std::string& more = "") {
    return "step = " + std::to_string(step) + "\nelement = " + std::to_string(element) + "\n" + more;
  }
  static constexpr const char* kNan = "what = \"nan\"\n";

  // A NaN in these places of a run is found; each in an activation, a gradient, and a file.
  void expect_found(int places);
  // One unit in the last place, in a step of so many, is found in these places.
  void expect_parted(int places, int steps, int save_steps);

 private:
  ProcessResult search(const std::string& name) {
    std::filesystem::remove_all(dir("found"));
    return belay({"replay", dir(name), "--first-non-finite", "--out", dir("found")});
  }
  // numpy's arrays x [rows, 4] and y [rows], with a NaN in x.
  void write_arrays(int rows, int row, int column) {
    std::mt19937 random(7);
    std::vector<float> x(static_cast<std::size_t>(rows) * 4), y(static_cast<std::size_t>(rows));
    for (float& v : x) v = static_cast<float>(random() % 1000) / 1000;
    for (float& v : y) v = static_cast<float>(random() % 1000) / 1000;
    x[static_cast<std::size_t>(row * 4 + column)] = std::nanf("");
    write_array("x.npy", "(" + std::to_string(rows) + ", 4)", x);
    write_array("y.npy", "(" + std::to_string(rows) + ",)", y);
  }
  void write_array(const std::string& name, const std::string& shape, const std::vector<float>& values) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    header += '\n';
    std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
    file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    write_file(temp / name, file);
  }
};

inline void PlantedRunTest::expect_found(int places) {
  using ::testing::HasSubstr;
  using ::testing::StartsWith;
  std::mt19937 random(places);
  for (int i = 0; i < places; ++i) {
    const int step = 1 + static_cast<int>(random() % kSteps), element = static_cast<int>(random() % (kBatch * 8));
    const std::string begin = "step " + std::to_string(step) + ": the first that is not finite is ";
    const std::string position = "element [" + std::to_string(element / 8) + ", " + std::to_string(element % 8) + "]";
    for (const bool in_gradient : {false, true}) {
      const std::string name = (in_gradient ? "gradient" : "activation") + std::to_string(i);
      const ProcessResult run =
          belay({"run", planted(name, plant(step, element, kNan) + (in_gradient ? "in_gradient = true\n" : ""))});
      if (step < kSteps || !in_gradient) {  // a gradient of the last step is in no loss any more
        EXPECT_EQ(run.status, 4) << run.err;
        EXPECT_THAT(run.err, HasSubstr("belay replay " + dir(name) + " --first-non-finite"));
      }
      const ProcessResult r = search(name);
      EXPECT_EQ(r.status, 0) << r.err;
      const std::string node = in_gradient ? "'gradients/planted_grad/planted_gradient:0'" : "'planted:0'";
      EXPECT_THAT(r.out, StartsWith(begin + node + " (Plant), float32 [16, 8]: " + position + " is nan, 1 element"))
          << r.err;
      EXPECT_TRUE(std::filesystem::exists(dir("found") + "/step-" + std::to_string(step) + ".npz"));
    }
    const std::string name = "file" + std::to_string(i);
    const int row = (step - 1) * kBatch + element % kBatch;
    write_arrays(kSteps * kBatch, row, element % 4);
    const std::string input = "plugin = \"npy\"\nfeatures = \"x.npy\"\nlabels = \"y.npy\"\nbatch_size = 16\n";
    const ProcessResult run = belay({"run", planted(name, "", kSteps, 20, input)});
    EXPECT_EQ(run.status, 4) << run.err;
    const ProcessResult r = search(name);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, StartsWith(begin + "'input/features' (QueueDequeue), float32 [16, 4]: element [" +
                                  std::to_string(element % kBatch) + ", " + std::to_string(element % 4) + "] is nan"))
        << r.err;
    EXPECT_THAT(r.out, HasSubstr("it came so out of the input"));
  }
}

inline void PlantedRunTest::expect_parted(int places, int steps, int save_steps) {
  ASSERT_EQ(belay({"run", planted("plain", "", steps, save_steps)}).status, 0);
  std::mt19937 random(steps);
  for (int i = 0; i < places; ++i) {
    const int step = 1 + static_cast<int>(random() % static_cast<unsigned>(steps));
    const int element = static_cast<int>(random() % (kBatch * 8));
    SCOPED_TRACE("step " + std::to_string(step) + ", element " + std::to_string(element));
    const std::string name = "bent" + std::to_string(i);
    ASSERT_EQ(belay({"run", planted(name, plant(step, element), steps, save_steps)}).status, 0);
    const ProcessResult r = belay({"bisect", dir("plain"), dir(name), "--json"});
    EXPECT_EQ(r.status, 1) << r.err;
    const auto found = nlohmann::json::parse(r.out, nullptr, false);
    ASSERT_TRUE(found.is_object()) << r.out << r.err;
    EXPECT_EQ(found.at("step"), step) << r.out;
    ASSERT_TRUE(found.at("difference").is_object()) << r.out;
    const auto& d = found.at("difference");
    EXPECT_EQ(d.at("node"), "planted");
    EXPECT_EQ(d.at("op_a"), "Plant");
    EXPECT_EQ(d.at("position"), "[" + std::to_string(element / 8) + ", " + std::to_string(element % 8) + "]");
    EXPECT_EQ(d.at("ulps"), 1);
    EXPECT_EQ(d.at("differing"), 1);
    EXPECT_NE(d.at("a"), d.at("b"));
    for (const auto& in : d.at("inputs")) EXPECT_EQ(in.at("state"), "equal") << r.out;
    EXPECT_EQ(found.at("unproved").size(), 0u);
    // At most one interval of checkpoints each time.
    EXPECT_LE(found.at("replayed_to").get<int>() - found.at("replayed_from").get<int>(), save_steps);
    std::filesystem::remove_all(dir(name));
  }
}

}  // namespace belay::runtime::testing
