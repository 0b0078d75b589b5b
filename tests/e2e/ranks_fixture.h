// SPDX-License-Identifier: Apache-2.0
// Several processes of the real program that train one model over gloo.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

// The elements of a checkpoint, as float32.
inline std::vector<float> values_in(const std::string& run, int step) {
  const std::string bytes = contents(run + "/model.ckpt-" + std::to_string(step) + "/model.safetensors");
  std::uint64_t header = 0;
  if (bytes.size() > sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
  if (bytes.size() <= 8 + header) return {};
  std::vector<float> out((bytes.size() - 8 - header) / 4);
  std::memcpy(out.data(), bytes.data() + 8 + header, out.size() * 4);
  return out;
}

class Ranks : public RunTest {
 protected:
  struct Job {
    std::string dir;
    int steps = 100;
    int batch = 16;  // of one rank
    int examples = 1000;
    std::string input = "shuffle = true\n";
    std::string model = "plugin = \"mlp\"\nhidden = [16]\n";
    std::string optimizer = {};  // more keys of it
    std::string more = {};
  };
  std::string manifest(const Job& job) const {
    const std::string path = temp / (job.dir + ".toml");
    write_file(path,
               "[run]\ndir = \"" + job.dir + "\"\nmax_steps = " + std::to_string(job.steps) +
                   "\nthreads = 1\n[input.train]\nplugin = \"digits\"\nexamples = " + std::to_string(job.examples) +
                   "\nbatch_size = " + std::to_string(job.batch) + "\n" + job.input + "[model]\n" + job.model +
                   "[optimizer]\nname = \"momentum\"\n" + "learning_rate = 0.05\nclip_norm = 1.0\n" + job.optimizer +
                   "[cluster]\nplugin = \"gloo\"\n" + job.more);
    return path;
  }
  // A run that continues until it is stopped, a few hundred steps in a second.
  std::string endless(const std::string& dir, int steps = 100000) const {
    const std::string path = temp / (dir + ".toml");
    write_file(path, "[run]\ndir = \"" + dir + "\"\nmax_steps = " + std::to_string(steps) +
                         "\nthreads = 1\n[input.train]\nplugin = \"numbers\"\ndelay_secs = 0.002\n[model]\n" +
                         "plugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n" +
                         "[cluster]\nplugin = \"gloo\"\n");
    return path;
  }
  void expect_near(const std::string& dir, const std::string& other, int step, float bound) const {
    const std::vector<float> a = values(dir, step), b = values(other, step);
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GT(a.size(), 100U);
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    EXPECT_LE(largest, bound);
    char text[32];
    std::snprintf(text, sizeof(text), "%.2g", static_cast<double>(largest));
    RecordProperty("largest_difference", text);
  }
  using Process = std::unique_ptr<BelayProcess>;
  static Process start(const std::string& manifest, int rank, int size, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"run", manifest};
    args.insert(args.end(), more.begin(), more.end());
    return std::make_unique<BelayProcess>(
        args, std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size)});
  }
  static std::vector<Process> start_all(const std::string& manifest, int size,
                                        const std::vector<std::string>& more = {}) {
    std::vector<Process> all;
    for (int r = 0; r < size; ++r) all.push_back(start(manifest, r, size, more));
    return all;
  }
  static std::vector<ProcessResult> wait_for_all(const std::vector<Process>& all) {
    std::vector<ProcessResult> results;
    for (const Process& p : all) results.push_back(p->wait());
    return results;
  }
  static void train(const std::string& manifest, int size, const std::vector<std::string>& more = {}) {
    for (const ProcessResult& r : wait_for_all(start_all(manifest, size, more))) ASSERT_EQ(r.status, 0) << r.err;
  }
  std::string weights_of(const std::string& dir, int step) const { return weights(temp / dir, step); }
  std::vector<float> values(const std::string& dir, int step) const { return values_in(temp / dir, step); }
};

}  // namespace belay::runtime::testing
