// SPDX-License-Identifier: Apache-2.0
// Runs whose gradients are rows with ids: the embeddings of the categories of a table.
#pragma once

#include <string>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {

struct SparseRun {
  std::string dir;
  std::string optimizer;  // its name and keys
  int steps = 40;
  int batch = 16;  // of one process
  std::string more = {};
  std::string cluster = "gloo";
};

// Writes table and manifest into the folder, and returns the path of the manifest. The table has 97 rows with 40 words,
// so most batches leave some words out.
inline std::string sparse_manifest(const std::string& folder, const SparseRun& run) {
  std::string rows = "word,x,y\n";
  for (int i = 0; i < 97; ++i)
    rows += "w" + std::to_string(i * i % 97 % 40) + "," + std::to_string(i % 13) + ".5," + std::to_string(i * 7 % 23) +
            ".25\n";
  write_file(folder + "/rows.csv", rows);
  std::string path = folder + "/" + run.dir + ".toml";
  write_file(path, "[run]\ndir = \"" + run.dir + "\"\nmax_steps = " + std::to_string(run.steps) +
                       "\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = \"rows.csv\"\nlabel = \"y\"\n" +
                       "shuffle = true\nbatch_size = " + std::to_string(run.batch) +
                       "\n[input.train.columns]\nword = { type = \"category\", deliver = \"ids\" }\n[model]\nplugin "
                       "= \"tabular\"\n"
                       "hidden = [8]\ndropout = 0.0\nembedding_width = 5\n[optimizer]\nlearning_rate = 0.01\n" +
                       run.optimizer + "[cluster]\nplugin = \"" + run.cluster + "\"\n" + run.more);
  return path;
}

}  // namespace belay::runtime::testing
