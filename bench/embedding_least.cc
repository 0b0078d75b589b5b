// SPDX-License-Identifier: Apache-2.0
// The least that a step of bench/embedding_cases.h can do: it reads and writes the rows that a batch names once, with
// the rows of the optimizer's slots. It computes no loss, sums no duplicates and asks for each row early.
// bench/embedding.py subtracts its time on a small table from that on a large one: no program has fewer misses of the
// cache.
#include <sys/mman.h>

#include <algorithm>

#include "bench/embedding_cases.h"
#include "bench/rounds.h"

namespace {

constexpr std::int64_t kAhead = 16;  // rows; none of 8 to 64 was clearly faster

// Returns memory in large pages, if the kernel has some, with the values of the table.
float* table_of(std::int64_t values) {
  const std::size_t bytes = static_cast<std::size_t>(values) * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::cerr << "no memory for a table of " << values << " values\n";
    std::exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  float* table = static_cast<float*>(memory);
  std::fill_n(table, values, static_cast<float>(bench::kFill));
  return table;
}

void ask_for(const float* row, std::int64_t width) {
  for (std::int64_t i = 0; i < width; i += 16) __builtin_prefetch(row + i, 1);
}

void run(const bench::EmbeddingCase& c) {
  const int slots = c.optimizer == "sgd" ? 0 : c.optimizer == "adagrad" ? 1 : 2;
  std::vector<std::vector<float*>> tables(static_cast<std::size_t>(c.tables));
  for (auto& table : tables) {
    for (int i = 0; i <= slots; ++i) table.push_back(table_of(c.entries * c.width));
  }
  bench::EmbeddingIds ids(c);
  const auto step = [&] {
    for (auto& table : tables) {
      const std::int64_t* batch = ids.next();
      for (std::int64_t i = 0; i < bench::kIds; ++i) {
        for (float* values : table) {
          if (i + kAhead < bench::kIds) ask_for(values + batch[i + kAhead] * c.width, c.width);
          float* row = values + batch[i] * c.width;
          for (std::int64_t k = 0; k < c.width; ++k) row[k] *= 1 - static_cast<float>(bench::kLearningRate);
        }
      }
    }
  };
  for (std::int64_t i = 0; i < c.batches; ++i) step();
  rounds::answer(step);
}

}  // namespace

int main(int argc, char** argv) {
  run(bench::embedding_case(argc, argv));
  return 0;
}
