// SPDX-License-Identifier: Apache-2.0
// The step that bench/embedding.py measures in Belay and in libtorch: the sum of squares of the rows that 1,024 ids of
// each table name, its gradient, and the optimizer. Both programs take the same arguments and use the same ids:
//
//   PROGRAM OPTIMIZER THREADS TABLES ENTRIES WIDTH BATCHES
//
// The ids of so many batches take turns. With one batch its rows stay in the cache; with many they do not.
//
// Standard headers only: the peers link nothing of Belay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace bench {

constexpr std::int64_t kIds = 1024;  // of a batch, for each table
constexpr double kFill = 0.5, kLearningRate = 0.001;

struct EmbeddingCase {
  std::string optimizer;
  int threads;
  std::int64_t tables, entries, width;
  std::int64_t batches;
};

inline EmbeddingCase embedding_case(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: " << argv[0] << " sgd|adagrad|adam THREADS TABLES ENTRIES WIDTH BATCHES\n";
    std::exit(2);
  }
  return {
      argv[1], std::atoi(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]), std::atoll(argv[5]), std::atoll(argv[6])};
}

// Pseudo-random ids, the same in each run and in bench/embedding_torch.py: a batch has those of each table in turn.
class EmbeddingIds {
 public:
  explicit EmbeddingIds(const EmbeddingCase& c) : ids_(static_cast<std::size_t>(c.batches * c.tables * kIds)) {
    std::uint64_t state = 42;
    for (std::int64_t& id : ids_) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(c.entries));
    }
  }

  // The ids of the next table; after the last batch those of the first one.
  const std::int64_t* next() {
    const std::int64_t* at = ids_.data() + next_;
    next_ = (next_ + kIds) % ids_.size();
    return at;
  }

 private:
  std::vector<std::int64_t> ids_;
  std::size_t next_ = 0;
};

}  // namespace bench
