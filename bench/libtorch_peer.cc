// SPDX-License-Identifier: Apache-2.0
// Runs training steps of the models of bench/models.cc in libtorch, for comparison; or the forward pass of a model for
// a batch, without gradients. bench/models.py drives it; OMP_NUM_THREADS must be THREADS.
//
//   bench_libtorch_shipped MODEL THREADS [bf16 | forward BATCH]
//
// bf16: under autocast. bench_libtorch_tuned is the same program with libtorch_tuned.cc.
#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>

#include "bench/libtorch_use.h"
#include "bench/rounds.h"

namespace {

namespace nn = torch::nn;
using torch::Tensor;

struct Model {
  std::vector<std::shared_ptr<nn::Module>> modules;
  std::function<Tensor()> logits;
  Tensor labels;
};

// Its products and convolutions in bfloat16, its weights in float32.
class Autocast {
 public:
  explicit Autocast(bool on) : on_(on) { enable(on); }
  ~Autocast() {
    if (on_) at::autocast::clear_cache();
    enable(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  static void enable(bool on) {
#if TORCH_VERSION_MAJOR >= 2
    at::autocast::set_autocast_enabled(at::kCPU, on);
#else
    at::autocast::set_cpu_enabled(on);
#endif
  }

  bool on_;
};

std::vector<Tensor> parameters_of(const Model& model) {
  std::vector<Tensor> all;
  for (const auto& module : model.modules)
    for (const Tensor& p : module->parameters()) all.push_back(p);
  return all;
}

template <class Optimizer>
void answer(Optimizer& optimizer, const std::function<Tensor()>& loss) {
  rounds::answer([&] {
    bench::clear_gradients(optimizer);
    loss().backward();
    optimizer.step();
  });
}

void train(const Model& model, bool bf16) {
  torch::optim::Adam adam(parameters_of(model), 1e-3);
  answer(adam, [&] {
    const Autocast autocast(bf16);
    return torch::cross_entropy_loss(model.logits(), model.labels);
  });
}

void forward(const Model& model) {
  for (const auto& module : model.modules) module->eval();
  const c10::InferenceMode without_gradients;
  rounds::answer([&] { model.logits(); });
}

void train_linear() {
  Tensor w = torch::randn({10, 1}, torch::requires_grad());
  const Tensor x = torch::randn({16, 10}), y = torch::randn({16, 1});
  torch::optim::SGD sgd({w}, 0.01);
  answer(sgd, [&] { return torch::mse_loss(x.mm(w), y); });
}

Model classifier(nn::Sequential net, const Tensor& x) {
  return {{net.ptr()}, [net, x]() mutable { return net->forward(x); }, torch::randint(10, {x.size(0)})};
}

Model mlp(std::int64_t batch) {
  return classifier(nn::Sequential(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)), torch::randn({batch, 784}));
}

Model wide_mlp(std::int64_t batch) {
  return classifier(nn::Sequential(nn::Linear(1024, 1024), nn::ReLU(), nn::Linear(1024, 1024), nn::ReLU(),
                                   nn::Linear(1024, 1024), nn::ReLU(), nn::Linear(1024, 10)),
                    torch::randn({batch, 1024}));
}

Model cnn(std::int64_t batch) {
  return classifier(nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 32, 5).padding(2)), nn::ReLU(), nn::MaxPool2d(2),
                                   nn::Conv2d(nn::Conv2dOptions(32, 64, 5).padding(2)), nn::ReLU(), nn::MaxPool2d(2),
                                   nn::Flatten(), nn::Linear(64 * 7 * 7, 1024), nn::ReLU(), nn::Linear(1024, 10)),
                    torch::randn({batch, 1, 28, 28}));
}

Model lstm(std::int64_t batch) {
  constexpr int kTime = 32;
  nn::LSTM cell(nn::LSTMOptions(64, 128).batch_first(true));
  nn::Linear out(128, 64);
  const Tensor x = torch::randn({batch, kTime, 64});
  const auto logits = [cell, out, x]() mutable {
    return out->forward(std::get<0>(cell->forward(x)).reshape({-1, 128}));
  };
  return {{cell.ptr(), out.ptr()}, logits, torch::randint(64, {batch * kTime})};
}

Model transformer(std::int64_t batch) {
  constexpr int kWidth = 128, kTime = 64, kVocabulary = 96;
  nn::Embedding embed(kVocabulary, kWidth);
  const auto layer =
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(kWidth, 4).dim_feedforward(512).dropout(0.0));
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(layer, 2));
  nn::Linear out(kWidth, kVocabulary);
  const Tensor ids = torch::randint(kVocabulary, {kTime, batch});
  const auto logits = [embed, encoder, out, ids]() mutable {
    return out->forward(encoder->forward(embed->forward(ids)).reshape({-1, kWidth}));
  };
  return {{embed.ptr(), encoder.ptr(), out.ptr()}, logits, torch::randint(kVocabulary, {kTime * batch})};
}

struct Builder {
  const char* name;
  Model (*make)(std::int64_t batch);
  std::int64_t batch;  // of the training steps
};
constexpr Builder kBuilders[] = {{"mlp", mlp, 64}, {"mlp_512", mlp, 512}, {"mlp_wide", wide_mlp, 256},
                                 {"cnn", cnn, 64}, {"lstm", lstm, 32},    {"transformer", transformer, 16}};

int run(const std::vector<std::string>& arguments) {
  const std::string model = arguments[0], kind = arguments.size() > 2 ? arguments[2] : "";
  at::set_num_threads(std::atoi(arguments[1].c_str()));
  torch::manual_seed(1);
  if (model == "linear") return train_linear(), 0;
  const auto* const builder =
      std::find_if(std::begin(kBuilders), std::end(kBuilders), [&](const Builder& b) { return model == b.name; });
  if (builder == std::end(kBuilders)) {
    std::fprintf(stderr, "bench_libtorch: there is no model '%s'\n", model.c_str());
    return 2;
  }
  if (kind == "forward") {
    forward(builder->make(std::atoi(arguments.at(3).c_str())));
  } else {
    train(builder->make(builder->batch), kind == "bf16");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string kind = argc > 3 ? arguments[2] : "";
  if (argc != 3 && !(argc == 4 && kind == "bf16") && !(argc == 5 && kind == "forward")) {
    std::fputs("use: bench_libtorch_shipped MODEL THREADS [bf16 | forward BATCH]\n", stderr);
    return 2;
  }
  bench::set_up_memory();
  return run(arguments);
}
