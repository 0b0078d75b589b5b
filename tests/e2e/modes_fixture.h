// SPDX-License-Identifier: Apache-2.0
// `belay evaluate` and `belay predict` on real data, and how many of the classes that they print are right.
#pragma once

#include <zlib.h>

#include <sstream>

#include "tests/e2e/accuracy_fixture.h"

namespace belay::runtime::testing {

class ModesData : public Accuracy {
 protected:
  static std::string example(const std::string& name) { return BELAY_SOURCE_DIR "/examples/" + name; }
  // With the run directory `run` of the test's folder.
  ProcessResult use(const std::string& command, const std::string& manifest, std::vector<std::string> options = {},
                    const std::vector<std::string>& sets = {}) {
    std::vector<std::string> args = {command, manifest, "--set", "run.dir=\"" + (temp / "run") + "\""};
    for (const std::string& s : sets) args.insert(args.end(), {"--set", s});
    for (std::string& o : options) args.push_back(std::move(o));
    return belay(args, data_variables());
  }
  // Of "index,class" lines for MNIST's 10,000 test images; below 0 where they are not that many.
  static double accuracy_of_classes(const std::string& csv) {
    const std::vector<int> labels = labels_of(data_directory() + "/mnist/t10k-labels-idx1-ubyte.gz");
    std::istringstream rows(csv);
    std::string row;
    std::getline(rows, row);
    int right = 0;
    std::size_t read = 0;
    for (; std::getline(rows, row); ++read)
      right += read < labels.size() && std::stoi(row.substr(row.find(',') + 1)) == labels[read] ? 1 : 0;
    return read == 10'000 && labels.size() == read ? right / 10'000.0 : -1;
  }

 private:
  static std::vector<int> labels_of(const std::string& path) {
    gzFile file = gzopen(path.c_str(), "rb");
    std::vector<int> labels;
    char header[8];
    if (file != nullptr && gzread(file, header, sizeof(header)) == sizeof(header))
      for (int c = gzgetc(file); c != -1; c = gzgetc(file)) labels.push_back(c);
    if (file != nullptr) gzclose(file);
    return labels;
  }
};

}  // namespace belay::runtime::testing
