// SPDX-License-Identifier: Apache-2.0
// Runs of a regression with tables of hooks, and what they leave: events, tensors of a checkpoint.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

class HooksOfRun : public RunTest {
 protected:
  using Points = std::vector<std::pair<int, double>>;

  // "[[hooks]]", the plugin, and its options as TOML lines.
  static std::string hook(const std::string& plugin, const std::string& options = "") {
    return "[[hooks]]\nplugin = \"" + plugin + "\"\n" + options + "\n";
  }
  // A run of so many steps, from the last checkpoint where there is one.
  ProcessResult run(const std::string& tables, int max_steps = 50, const std::string& input = "") {
    return belay({"run", regression(input, tables, max_steps)});
  }
  // The weights at the end of a new run that must end well.
  std::string trained(const std::string& tables, int max_steps = 50, const std::string& input = "") {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = run(tables, max_steps, input);
    EXPECT_EQ(r.status, 0) << r.err;
    return weights(run_dir(), max_steps);
  }
  // That the hook is one that only watches.
  void expect_same_weights(const std::string& tables, const std::string& input = "") {
    const std::string plain = trained("", 50, input);
    EXPECT_EQ(trained(tables, 50, input), plain);
  }

  // The points of a curve in the event files, without those that a later attempt has made again.
  Points points(const std::string& tag) const {
    const ProcessResult r = belay({"events", run_dir(), "--tag", tag, "--csv"});
    EXPECT_EQ(r.status, 0) << r.err;
    Points found;
    std::istringstream rows(r.out);
    std::string row;
    std::getline(rows, row);
    while (std::getline(rows, row)) {
      const std::vector<std::string> cells = split(row);
      if (cells.size() == 8 && cells[2] == tag && cells[7] != "true")
        found.emplace_back(std::stoi(cells[4]), std::stod(cells[6]));
    }
    return found;
  }
  static std::vector<int> steps(const Points& points) {
    std::vector<int> steps;
    for (const auto& point : points) steps.push_back(point.first);
    return steps;
  }

  // The elements of a float32 tensor of the checkpoint of a step.
  std::vector<float> tensor(int step, const std::string& name) const {
    return tensor_of(weights(run_dir(), step), name);
  }
  // The same of a safetensors file's bytes.
  static std::vector<float> tensor_of(const std::string& file, const std::string& name) {
    std::uint64_t length = 0;
    if (file.size() < sizeof(length)) return {};
    std::memcpy(&length, file.data(), sizeof(length));
    const auto header = nlohmann::json::parse(file.substr(sizeof(length), length));
    if (!header.contains(name)) return {};
    const std::size_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
    std::vector<float> values((end - begin) / sizeof(float));
    std::memcpy(values.data(), file.data() + sizeof(length) + length + begin, end - begin);
    return values;
  }

 private:
  static std::vector<std::string> split(const std::string& row) {
    std::vector<std::string> cells;
    std::istringstream text(row);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
  }
};

}  // namespace belay::runtime::testing
