// SPDX-License-Identifier: Apache-2.0
// The step of bench/embedding_cases.h with libtorch's Embedding(sparse=True), for comparison: SGD and Adagrad.
// libtorch's C++ interface has no SparseAdam; bench/embedding_torch.py takes that from Python. bench/embedding.py
// drives both.
#include <torch/torch.h>

#include <memory>
#include <vector>

#include "bench/embedding_cases.h"
#include "bench/libtorch_use.h"
#include "bench/rounds.h"

namespace {

namespace nn = torch::nn;

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name, std::vector<torch::Tensor> tables) {
  if (name == "sgd") {
    return std::make_unique<torch::optim::SGD>(std::move(tables), torch::optim::SGDOptions(bench::kLearningRate));
  }
  if (name == "adagrad") {
    return std::make_unique<torch::optim::Adagrad>(std::move(tables),
                                                   torch::optim::AdagradOptions(bench::kLearningRate));
  }
  std::cerr << "libtorch has no optimizer " << name << " for sparse gradients\n";
  std::exit(2);
}

void run(const bench::EmbeddingCase& c) {
  std::vector<nn::Embedding> layers;
  std::vector<torch::Tensor> tables;
  for (std::int64_t i = 0; i < c.tables; ++i) {
    torch::Tensor table = torch::full({c.entries, c.width}, bench::kFill);
    layers.emplace_back(nn::EmbeddingOptions(c.entries, c.width).sparse(true)._weight(table));
    tables.push_back(layers.back()->weight);
  }
  const auto optimizer = make_optimizer(c.optimizer, tables);
  bench::EmbeddingIds ids(c);
  const auto step = [&] {
    bench::clear_gradients(*optimizer);
    torch::Tensor loss;
    for (nn::Embedding& layer : layers) {
      // from_blob takes no constant memory; the ids are only read.
      const torch::Tensor batch = torch::from_blob(const_cast<std::int64_t*>(ids.next()), {bench::kIds}, torch::kInt64);
      const torch::Tensor one = layer->forward(batch).square().sum();
      loss = loss.defined() ? loss + one : one;
    }
    loss.backward();
    optimizer->step();
  };
  for (std::int64_t i = 0; i < c.batches; ++i) step();
  rounds::answer(step);
}

}  // namespace

int main(int argc, char** argv) {
  bench::set_up_memory();
  const bench::EmbeddingCase c = bench::embedding_case(argc, argv);
  torch::set_num_threads(c.threads);
  run(c);
  return 0;
}
