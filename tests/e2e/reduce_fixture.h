// SPDX-License-Identifier: Apache-2.0
// Runs that fail, for `belay reduce`.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

template <class T>
void write_npy(const std::string& path, const std::string& descr, const std::string& shape,
               const std::vector<T>& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(117 - header.size(), ' ');
  std::string file("\x93NUMPY\x01\x00v\x00", 10);
  file += header + "\n";
  file.append(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T));
  write_file(path, file);
}

class ReduceTest : public RunTest {
 protected:
  static constexpr int kColumns = 8, kBatch = 8;

  // Rows of noise; one element is NaN, in the batch of the step `bad`.
  std::string noise(int steps, int bad, unsigned seed, const std::string& more) {
    std::mt19937 random(seed);
    std::vector<float> x(static_cast<std::size_t>(steps * kBatch * kColumns));
    for (float& v : x) v = static_cast<float>(random() % 2001) / 1000 - 1;
    std::vector<std::int64_t> y;
    for (int row = 0; row < steps * kBatch; ++row) y.push_back(x[static_cast<std::size_t>(row * kColumns)] > 0 ? 1 : 0);
    const auto place = static_cast<std::size_t>(((bad - 1) * kBatch + static_cast<int>(random() % kBatch)) * kColumns +
                                                static_cast<int>(random() % kColumns));
    x[place] = std::numeric_limits<float>::quiet_NaN();
    const std::string rows = std::to_string(steps * kBatch);
    write_npy(temp / "x.npy", "<f4", rows + ", " + std::to_string(kColumns), x);
    write_npy(temp / "y.npy", "<i8", rows + ",", y);
    const std::string path = temp / "train.toml";
    write_file(path, "[run]\ndir = \"run\"\nmax_steps = " + std::to_string(steps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"npy\"\nfeatures = \"x.npy\"\nlabels = \"y.npy\"\n"
                         "classes = 2\nbatch_size = " +
                         std::to_string(kBatch) + "\n" + more);
    return path;
  }
  static std::string eight_layers_nine_hooks() {
    std::string text =
        "[model]\nplugin = \"mlp\"\nhidden = [12, 11, 10, 9, 8, 7, 6, 5]\n"
        "[optimizer]\nname = \"adam\"\nlearning_rate = 0.001\nclip_norm = 5.0\n"
        "[checkpoint]\nsave_steps = 1000\n";
    for (const char* hook : {"gradient_norms", "histograms", "lr_monitor", "system_metrics", "model_summary",
                             "activation_stats", "environment", "input_wait", "weight_averaging"})
      text += "[[hooks]]\nplugin = \"" + std::string(hook) + "\"\n";
    return text;
  }
  ProcessResult reduce(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"reduce", run_dir(), "--out", small()};
    args.insert(args.end(), more.begin(), more.end());
    return belay(args);
  }
  std::string small() const { return temp / "small"; }
  std::string small_manifest() const { return contents(small() + "/manifest.toml"); }
};

}  // namespace belay::runtime::testing
