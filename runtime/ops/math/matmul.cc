// SPDX-License-Identifier: Apache-2.0
// Matrix products, alone and fused with bias and activation.
#include "belay/ops/matmul.h"

#include <fmt/core.h>

#include "runtime/ops/kernels/activation_functions.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/ops/math/fused.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

void infer_matmul(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  c.need_rank(0, 2);
  c.need_rank(1, 2);
  const auto dim = [&](std::size_t i, bool second) {
    return c.shape(i).has_rank() ? c.shape(i).dim(second ? 1 : 0) : -1;
  };
  const bool ta = c.attrs().flag("transpose_a"), tb = c.attrs().flag("transpose_b");
  const std::int64_t columns = dim(0, !ta), rows = dim(1, tb);
  if (columns >= 0 && rows >= 0 && columns != rows)
    c.fail(fmt::format("{}{} has {} columns, {}{} has {} rows; they must agree", c.input_text(0),
                       ta ? ", transposed," : "", columns, c.input_text(1), tb ? ", transposed," : "", rows));
  c.output(c.dtype(0), Shape{dim(0, ta), dim(1, !tb)});
}

void grad_matmul(GradContext& c) {
  const bool ta = c.attrs().flag("transpose_a"), tb = c.attrs().flag("transpose_b");
  const Output &a = c.input(0), &b = c.input(1), &dy = c.grad();
  if (c.wanted(0)) c.set(0, ta ? ops::matmul(b, dy, tb, true) : ops::matmul(dy, b, false, !tb));
  if (c.wanted(1)) c.set(1, tb ? ops::matmul(dy, a, true, ta) : ops::matmul(a, dy, !ta, false));
}

ProductSizes sizes_of(const KernelSpec& spec) {
  ProductSizes s;
  s.transpose_a = spec.attrs().flag("transpose_a");
  s.transpose_b = spec.attrs().flag("transpose_b");
  s.m = spec.outputs[0].dims[0];
  s.n = spec.outputs[0].dims[1];
  s.k = spec.inputs[0].dims[s.transpose_a ? 0 : 1];
  return s;
}

template <class T>
class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const KernelSpec& spec)
      : product_(make_product<T>(sizes_of(spec), false, spec.precision, spec.threads, spec.inputs[1].version)) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    product_->run(input<T>(in, 0), input<T>(in, 1), nullptr, output<T>(out, 0));
  }

 private:
  std::unique_ptr<Product<T>> product_;
};

// ---- fused

template <class F>
void apply_one(float* y, std::int64_t n) {
  hot<float, map_run<F, float, float>>(F(), y, y, n);
}

constexpr FusedActivation kActivations[] = {{"Relu", apply_one<ReluOf>, ReluOf::kGrain},
                                            {"Sigmoid", apply_one<SigmoidOf>, SigmoidOf::kGrain},
                                            {"Tanh", apply_one<TanhOf>, TanhOf::kGrain}};

// The product adds the bias. The activation follows while the result is in the cache. oneDNN could apply it, too. But
// its relu turns NaN into 0, and its numbers would differ from the activation's kernel.
class FusedDenseKernel final : public Kernel {
 public:
  explicit FusedDenseKernel(const KernelSpec& spec)
      : product_(make_product<float>(sizes_of(spec), spec.inputs.size() > 2, spec.precision, spec.threads,
                                     spec.inputs[1].version)),
        bias_(spec.inputs.size() > 2),
        n_(spec.outputs[0].elements()),
        threads_(spec.threads),
        activation_(fused_activation(spec.members.back()->op->name)) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    float* y = output<float>(out, 0);
    product_->run(input<float>(in, 0), input<float>(in, 1), bias_ ? input<float>(in, 2) : nullptr, y);
    if (activation_ != nullptr) activation_->apply_to_all(y, n_, threads_);
  }

 private:
  std::unique_ptr<Product<float>> product_;
  bool bias_;
  std::int64_t n_;
  int threads_;
  const FusedActivation* activation_;
};

}  // namespace

std::unique_ptr<Kernel> make_fused_dense(const KernelSpec& spec) { return std::make_unique<FusedDenseKernel>(spec); }

const FusedActivation* fused_activation(std::string_view op) {
  for (const FusedActivation& a : kActivations)
    if (a.op == op) return &a;
  return nullptr;
}

void FusedActivation::apply_to_all(float* y, std::int64_t n, int threads) const {
  parallel_for(n, grain, threads, [&](std::int64_t begin, std::int64_t end, int) { apply(y + begin, end - begin); });
}

void add_matmul_ops(OpRegistry& r) {
  r.add({.name = "MatMul",
         .doc = "The product of two matrices.",
         .inputs = "a, b",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = {bool_attr("transpose_a", "take a transposed"), bool_attr("transpose_b", "take b transposed")},
         .infer = infer_matmul,
         .gradient = grad_matmul,
         .kernel = make_typed<MatMulKernel>,
         .fused_kernel = make_fused_dense});
}

}  // namespace belay::runtime
