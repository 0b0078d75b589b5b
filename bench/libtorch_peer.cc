// SPDX-License-Identifier: Apache-2.0
// Training steps of the models of bench/models.cc in libtorch, the peer they are measured against. bench/models.py
// drives it; OMP_NUM_THREADS must be THREADS.
//
//   bench_libtorch_peer MODEL THREADS
#include <torch/torch.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "bench/rounds.h"

namespace {

namespace nn = torch::nn;
using torch::Tensor;

template <class Optimizer>
void answer(Optimizer& optimizer, const std::function<Tensor()>& loss) {
  rounds::answer([&] {
    optimizer.zero_grad();
    loss().backward();
    optimizer.step();
  });
}

void answer_with_adam(const std::vector<Tensor>& parameters, const std::function<Tensor()>& loss) {
  torch::optim::Adam adam(parameters, 1e-3);
  answer(adam, loss);
}

void linear() {
  Tensor w = torch::randn({10, 1}, torch::requires_grad());
  const Tensor x = torch::randn({16, 10}), y = torch::randn({16, 1});
  torch::optim::SGD sgd({w}, 0.01);
  answer(sgd, [&] { return torch::mse_loss(x.mm(w), y); });
}

void classifier(nn::Sequential net, const Tensor& x, int classes) {
  const Tensor y = torch::randint(classes, {x.size(0)});
  answer_with_adam(net->parameters(), [&] { return torch::cross_entropy_loss(net->forward(x), y); });
}

void mlp(int batch) {
  classifier(nn::Sequential(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)), torch::randn({batch, 784}), 10);
}

void wide_mlp() {
  classifier(nn::Sequential(nn::Linear(1024, 1024), nn::ReLU(), nn::Linear(1024, 1024), nn::ReLU(),
                            nn::Linear(1024, 1024), nn::ReLU(), nn::Linear(1024, 10)),
             torch::randn({256, 1024}), 10);
}

void cnn() {
  classifier(nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 32, 5).padding(2)), nn::ReLU(), nn::MaxPool2d(2),
                            nn::Conv2d(nn::Conv2dOptions(32, 64, 5).padding(2)), nn::ReLU(), nn::MaxPool2d(2),
                            nn::Flatten(), nn::Linear(64 * 7 * 7, 1024), nn::ReLU(), nn::Linear(1024, 10)),
             torch::randn({64, 1, 28, 28}), 10);
}

std::vector<Tensor> parameters_of(const std::vector<std::shared_ptr<nn::Module>>& modules) {
  std::vector<Tensor> all;
  for (const auto& module : modules)
    for (const Tensor& p : module->parameters()) all.push_back(p);
  return all;
}

void lstm() {
  nn::LSTM cell(nn::LSTMOptions(64, 128).batch_first(true));
  nn::Linear out(128, 64);
  const Tensor x = torch::randn({32, 32, 64}), y = torch::randint(64, {32 * 32});
  answer_with_adam(parameters_of({cell.ptr(), out.ptr()}), [&] {
    const Tensor h = std::get<0>(cell->forward(x)).reshape({-1, 128});
    return torch::cross_entropy_loss(out->forward(h), y);
  });
}

void transformer() {
  constexpr int kWidth = 128, kTime = 64, kBatch = 16, kVocabulary = 96;
  nn::Embedding embed(kVocabulary, kWidth);
  const auto layer =
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(kWidth, 4).dim_feedforward(512).dropout(0.0));
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(layer, 2));
  nn::Linear out(kWidth, kVocabulary);
  const Tensor ids = torch::randint(kVocabulary, {kTime, kBatch}), y = torch::randint(kVocabulary, {kTime * kBatch});
  answer_with_adam(parameters_of({embed.ptr(), encoder.ptr(), out.ptr()}), [&] {
    const Tensor h = encoder->forward(embed->forward(ids)).reshape({-1, kWidth});
    return torch::cross_entropy_loss(out->forward(h), y);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("use: bench_libtorch_peer MODEL THREADS\n", stderr);
    return 2;
  }
  const std::string model = argv[1];
  at::set_num_threads(std::atoi(argv[2]));
  torch::manual_seed(1);
  if (model == "linear") {
    linear();
  } else if (model == "mlp") {
    mlp(64);
  } else if (model == "mlp_512") {
    mlp(512);
  } else if (model == "mlp_wide") {
    wide_mlp();
  } else if (model == "cnn") {
    cnn();
  } else if (model == "lstm") {
    lstm();
  } else if (model == "transformer") {
    transformer();
  } else {
    std::fprintf(stderr, "bench_libtorch_peer: there is no model '%s'\n", argv[1]);
    return 2;
  }
  return 0;
}
