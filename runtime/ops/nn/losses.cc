// SPDX-License-Identifier: Apache-2.0
// Cross entropies.
#include "belay/ops/losses.h"

#include <fmt/core.h>

#include <algorithm>

#include "belay/ops/activations.h"
#include "belay/ops/shape.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/kernels/softmax.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// Rows of classes, each with a loss and its gradient.
struct ClassRows {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  explicit ClassRows(const Dims& logits) : rows(1), classes(logits.back()) {
    for (std::size_t i = 0; i + 1 < logits.size(); ++i) rows *= logits[i];
  }
  std::int64_t grain() const { return kExpensiveGrain / (classes + 1) + 1; }
};

Shape merged_shape(InferContext& c) {
  bool ok = true;
  Shape shape = Shape::merged(c.shape(0), c.shape(1), ok);
  if (!ok) c.fail(c.input_text(0) + " and " + c.input_text(1) + " must have the same shape");
  return shape;
}
void need_classes(InferContext& c, std::size_t i) {
  c.need_float(i);
  if (c.shape(i).rank() == 0) c.fail(c.input_text(i) + " must have at least one dimension");
}
Shape without_last(const Shape& shape) {
  if (!shape.has_rank()) return Shape::unknown();
  return Shape(Dims(shape.dims().begin(), shape.dims().end() - 1));
}

// Multiplies the incoming gradient of each loss with the gradient of its row.
void set_logits_gradient(GradContext& c) {
  if (c.grad(1))
    fail(Code::kUnimplemented,
         "'" + c.output(1).name() + "' cannot be differentiated: a cross entropy has a first derivative only");
  if (c.wanted(0)) c.set(0, c.output(1) * ops::expand_dims(c.grad(), -1));
}

// ---- labels are classes

void infer_sparse(InferContext& c) {
  need_classes(c, 0);
  if (c.dtype(1) != DType::kInt32 && c.dtype(1) != DType::kInt64) c.fail(c.input_text(1) + " must be int32 or int64");
  bool ok = true;
  Shape rows = Shape::merged(without_last(c.shape(0)), c.shape(1), ok);
  if (!ok) c.fail(c.input_text(1) + " must have the shape of " + c.input_text(0) + " without its last dimension");
  c.output(c.dtype(0), std::move(rows));
  c.output(c.dtype(0), c.shape(0));
}

template <class T, class Label>
[[gnu::always_inline]] inline void sparse_rows(const T* x, const Label* labels, std::int64_t rows, std::int64_t classes,
                                               T* loss, T* backprop) {
  ExpRow<T> exps[kExpTile];
  const std::int64_t tile = rows_together(classes);
  for (std::int64_t first = 0; first < rows; first += tile) {
    const std::int64_t n = std::min(tile, rows - first);
    exp_rows(x + first * classes, n, classes, backprop + first * classes, exps);
    for (std::int64_t r = first; r < first + n; ++r) {
      const ExpRow<T>& e = exps[r - first];
      const std::int64_t label = labels[r];
      T* row = backprop + r * classes;
      loss[r] = log_of(e.sum) + (e.largest - x[r * classes + label]);
      const T scale = T(1) / e.sum;
#pragma omp simd
      for (std::int64_t i = 0; i < classes; ++i) row[i] *= scale;
      row[label] -= T(1);
    }
  }
}

template <class T, class Label>
class SparseKernel final : public Kernel {
 public:
  explicit SparseKernel(const KernelSpec& spec) : size_(spec.inputs[0].dims), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    const Label* labels = input<Label>(in, 1);
    T *loss = output<T>(out, 0), *backprop = output<T>(out, 1);
    const std::int64_t classes = size_.classes;
    for (std::int64_t r = 0; r < size_.rows; ++r)
      if (labels[r] < 0 || labels[r] >= classes)
        fail(Code::kInvalidArgument, fmt::format("label {} of row {} is not in [0, {})", labels[r], r, classes));
    parallel_for(size_.rows, size_.grain(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      const std::int64_t at = begin * classes;
      hot<T, sparse_rows<T, Label>>(x + at, labels + begin, end - begin, classes, loss + begin, backprop + at);
    });
  }

 private:
  ClassRows size_;
  int threads_;
};
std::unique_ptr<Kernel> make_sparse(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return make_for(IndexTypes{}, spec.inputs[1].dtype, [&]<class Label>(std::type_identity<Label>) {
      return std::make_unique<SparseKernel<T, Label>>(spec);
    });
  });
}

// ---- labels are probabilities

void infer_dense(InferContext& c) {
  need_classes(c, 0);
  c.need_same_dtype(0, 1);
  need_classes(c, 1);
  const Shape shape = merged_shape(c);
  c.output(c.dtype(0), without_last(shape));
  c.output(c.dtype(0), shape);
}

template <class T>
[[gnu::always_inline]] inline void dense_row(const T* x, const T* labels, std::int64_t classes, const ExpRow<T>& e,
                                             T* loss, T* backprop) {
  const T log_sum = log_of(e.sum);
  T sum = 0, weight = 0;
#pragma omp simd reduction(+ : sum, weight)
  for (std::int64_t i = 0; i < classes; ++i) {
    sum += labels[i] * (log_sum + (e.largest - x[i]));
    weight += labels[i];
  }
  *loss = sum;
  const T scale = weight / e.sum;
#pragma omp simd
  for (std::int64_t i = 0; i < classes; ++i) backprop[i] = backprop[i] * scale - labels[i];
}
template <class T>
[[gnu::always_inline]] inline void dense_rows(const T* x, const T* labels, std::int64_t rows, std::int64_t classes,
                                              T* loss, T* backprop) {
  ExpRow<T> exps[kExpTile];
  const std::int64_t tile = rows_together(classes);
  for (std::int64_t first = 0; first < rows; first += tile) {
    const std::int64_t n = std::min(tile, rows - first);
    exp_rows(x + first * classes, n, classes, backprop + first * classes, exps);
    for (std::int64_t r = first; r < first + n; ++r)
      dense_row(x + r * classes, labels + r * classes, classes, exps[r - first], loss + r, backprop + r * classes);
  }
}

template <class T>
class DenseKernel final : public Kernel {
 public:
  explicit DenseKernel(const KernelSpec& spec) : size_(spec.inputs[0].dims), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T *x = input<T>(in, 0), *labels = input<T>(in, 1);
    T *loss = output<T>(out, 0), *backprop = output<T>(out, 1);
    parallel_for(size_.rows, size_.grain(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      const std::int64_t at = begin * size_.classes;
      hot<T, dense_rows<T>>(x + at, labels + at, end - begin, size_.classes, loss + begin, backprop + at);
    });
  }

 private:
  ClassRows size_;
  int threads_;
};

void grad_dense(GradContext& c) {
  set_logits_gradient(c);
  if (c.wanted(1)) c.set(1, -(ops::log_softmax(c.input(0)) * ops::expand_dims(c.grad(), -1)));
}

// ---- each element alone

struct SigmoidCrossEntropyOf : Expensive {
  template <class T>
  T operator()(T x, T label) const {
    const T positive = x < T(0) ? T(0) : x, below = x < T(0) ? x : -x;
    return (positive - x * label) + log1p_of(exp_of(below));
  }
};
void infer_sigmoid_loss(InferContext& c) {
  c.need_float(0);
  c.need_same_dtype(0, 1);
  c.output(c.dtype(0), merged_shape(c));
}
void grad_sigmoid_loss(GradContext& c) {
  if (c.wanted(0)) c.set(0, c.grad() * (ops::sigmoid(c.input(0)) - c.input(1)));
  if (c.wanted(1)) c.set(1, -(c.grad() * c.input(0)));
}

}  // namespace

void add_loss_ops(OpRegistry& r) {
  r.add({.name = "SparseSoftmaxCrossEntropyWithLogits",
         .doc = "-log(softmax(logits)[label]) of each row; output 1 is its gradient. Labels are int32 or int64.",
         .inputs = "logits, labels",
         .dtypes = "logits floats; labels int32, int64",
         .n_inputs = 2,
         .infer = infer_sparse,
         .gradient = set_logits_gradient,
         .kernel = make_sparse});
  r.add({.name = "SoftmaxCrossEntropyWithLogits",
         .doc = "-sum(labels * log(softmax(logits))) of each row; output 1 is its gradient.",
         .inputs = "logits, labels",
         .dtypes = "floats",
         .n_inputs = 2,
         .infer = infer_dense,
         .gradient = grad_dense,
         .kernel = make_typed<DenseKernel>});
  r.add({.name = "SigmoidCrossEntropyWithLogits",
         .doc = "-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)) of each element.",
         .inputs = "logits, labels",
         .dtypes = "floats",
         .n_inputs = 2,
         .in_place = 3,
         .elementwise = true,
         .infer = infer_sigmoid_loss,
         .gradient = grad_sigmoid_loss,
         .kernel = make_binary<SigmoidCrossEntropyOf>});
}

}  // namespace belay::runtime
