// SPDX-License-Identifier: Apache-2.0
#include "bench/models.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "belay/ops/attention.h"
#include "belay/ops/control.h"
#include "belay/ops/convolution.h"
#include "belay/ops/embedding.h"
#include "belay/ops/losses.h"
#include "belay/ops/normalization.h"
#include "belay/ops/pooling.h"
#include "belay/ops/recurrent.h"

namespace belay::bench {
namespace {

void add_placeholders(ModelNodes& m, DType dtype, const Dims& x, std::int64_t labels, int classes) {
  m.x = ops::placeholder(m.graph, dtype, x, "x");
  m.labels = ops::placeholder(m.graph, DType::kInt64, {labels}, "labels");
  m.classes = classes;
}

Output dense_relu(const Output& x, std::int64_t units) {
  return ops::dense(x, units, {.activation = ops::Activation::kRelu});
}

void add_classifier(ModelNodes& m, const Output& logits) {
  m.logits = logits;
  m.loss = ops::softmax_cross_entropy(logits, m.labels);
}

// y = x w, mean squared error.
void linear(ModelNodes& m, DType dtype, std::int64_t batch) {
  m.x = ops::placeholder(m.graph, dtype, {batch, 10}, "x");
  m.labels = ops::placeholder(m.graph, dtype, {batch, 1}, "labels");
  const Output w = ops::variable(m.graph, "w", ops::random_normal(m.graph, {10, 1}, 0, 1, dtype));
  m.logits = ops::matmul(m.x, w);
  m.loss = ops::mean_squared_error(m.logits, m.labels);
}

void mlp(ModelNodes& m, DType dtype, std::int64_t batch) {
  add_placeholders(m, dtype, {batch, 784}, batch, 10);
  add_classifier(m, ops::dense(dense_relu(m.x, 128), 10));
}

void wide_mlp(ModelNodes& m, DType dtype, std::int64_t batch) {
  add_placeholders(m, dtype, {batch, 1024}, batch, 10);
  Output h = m.x;
  for (int i = 0; i < 3; ++i) h = dense_relu(h, 1024);
  add_classifier(m, ops::dense(h, 10));
}

void cnn(ModelNodes& m, DType dtype, std::int64_t batch) {
  add_placeholders(m, dtype, {batch, 28, 28, 1}, batch, 10);
  const ops::Conv2dOptions conv{.window = {.padding = "SAME"}, .activation = ops::Activation::kRelu};
  Output h = ops::max_pool2d(ops::conv2d(m.x, 32, 5, conv), 2);
  h = ops::max_pool2d(ops::conv2d(h, 64, 5, conv), 2);
  add_classifier(m, ops::dense(dense_relu(ops::flatten(h), 1024), 10));
}

void lstm(ModelNodes& m, DType dtype, std::int64_t batch) {
  constexpr int kTime = 32;
  add_placeholders(m, dtype, {batch, kTime, 64}, batch * kTime, 64);
  const Output h = ops::reshape(ops::lstm(m.x, 128).y, {batch * kTime, 128});
  add_classifier(m, ops::dense(h, 64));
}

void transformer(ModelNodes& m, DType dtype, std::int64_t batch) {
  constexpr int kTime = 64, kWidth = 128, kVocabulary = 96;
  add_placeholders(m, DType::kInt64, {batch, kTime}, batch * kTime, kVocabulary);
  m.tokens = kVocabulary;
  Output h = ops::embedding(m.x, kVocabulary, kWidth, {.dtype = dtype});
  for (int layer = 0; layer < 2; ++layer) {
    h = ops::layer_norm(h + ops::multi_head_attention(h, {.heads = 4}));
    const Output inner = ops::dense_last(h, 512, {.activation = ops::Activation::kRelu});
    h = ops::layer_norm(h + ops::dense_last(inner, kWidth));
  }
  add_classifier(m, ops::dense(ops::reshape(h, {batch * kTime, kWidth}), kVocabulary));
}

struct Builder {
  const char* name;
  void (*add)(ModelNodes&, DType, std::int64_t batch);
  std::int64_t batch;  // of the training steps
};
constexpr Builder kBuilders[] = {{"linear", linear, 16},          {"mlp", mlp, 64}, {"mlp_512", mlp, 512},
                                 {"mlp_wide", wide_mlp, 256},     {"cnn", cnn, 64}, {"lstm", lstm, 32},
                                 {"transformer", transformer, 16}};

template <class T>
Tensor filled(const Output& placeholder, std::uint32_t seed, auto&& draw) {
  Tensor t(placeholder.dtype(), placeholder.dims());
  std::mt19937 bits(seed);
  for (std::size_t i = 0; i < t.size(); ++i) t.data<T>()[i] = static_cast<T>(draw(bits));
  return t;
}

// Numbers as float32 holds them, so that all dtypes get the same ones.
Tensor normal_numbers(const Output& placeholder, std::uint32_t seed) {
  std::normal_distribution<float> normal;
  if (placeholder.dtype() == DType::kFloat64) return filled<double>(placeholder, seed, normal);
  return filled<float>(placeholder, seed, normal);
}
Tensor classes_below(const Output& placeholder, std::uint32_t seed, int n) {
  return filled<std::int64_t>(placeholder, seed, std::uniform_int_distribution<int>(0, n - 1));
}

}  // namespace

ModelNodes add_model(const Graph& graph, const std::string& name, DType dtype, std::int64_t batch) {
  const auto found = std::ranges::find(kBuilders, name, &Builder::name);
  if (found == std::end(kBuilders)) fail(Code::kInvalidArgument, "there is no model '" + name + "' to measure");
  ModelNodes model{graph};
  found->add(model, dtype, batch == 0 ? found->batch : batch);
  return model;
}

std::unique_ptr<ModelGraph> build_model(const std::string& name, DType dtype, std::int64_t batch) {
  auto model = std::make_unique<ModelGraph>();
  static_cast<ModelNodes&>(*model) = add_model(model->graph, name, dtype, batch);
  return model;
}

Tensor make_features(const ModelNodes& m) {
  return m.tokens == 0 ? normal_numbers(m.x, 1) : classes_below(m.x, 1, m.tokens);
}
Tensor make_labels(const ModelNodes& m) {
  return m.classes == 0 ? normal_numbers(m.labels, 2) : classes_below(m.labels, 2, m.classes);
}

}  // namespace belay::bench
