// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic on booleans and the choice between two tensors.
#include <limits>

#include "belay/ops/math.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/elementwise.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

struct EqualOf : Cheap {
  bool operator()(auto a, auto b) const { return a == b; }
};
struct NotEqualOf : Cheap {
  bool operator()(auto a, auto b) const { return a != b; }
};
struct LessOf : Cheap {
  bool operator()(auto a, auto b) const { return a < b; }
};
struct LessEqualOf : Cheap {
  bool operator()(auto a, auto b) const { return a <= b; }
};
struct GreaterOf : Cheap {
  bool operator()(auto a, auto b) const { return a > b; }
};
struct GreaterEqualOf : Cheap {
  bool operator()(auto a, auto b) const { return a >= b; }
};
// Booleans are bytes: 0 is false.
struct AndOf : Cheap {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return a != 0 && b != 0 ? 1 : 0; }
};
struct OrOf : Cheap {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return (a | b) != 0 ? 1 : 0; }
};
struct XorOf : Cheap {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return (a != 0) != (b != 0) ? 1 : 0; }
};
struct IsNanOf : Cheap {
  bool operator()(auto x) const { return x != x; }
};
struct IsInfOf : Cheap {
  template <class T>
  bool operator()(T x) const {
    return x == std::numeric_limits<T>::infinity() || x == -std::numeric_limits<T>::infinity();
  }
};
struct IsFiniteOf : Cheap {
  template <class T>
  bool operator()(T x) const {
    return x - x == T(0);
  }
};
struct NotOf : Cheap {
  std::uint8_t operator()(std::uint8_t x) const { return x == 0 ? 1 : 0; }
};

template <class F>
std::unique_ptr<Kernel> make_comparison(const KernelSpec& spec) {
  if (spec.inputs[0].dtype == DType::kBool) return std::make_unique<BinaryKernel<F, std::uint8_t>>(spec);
  return make_for(NumberTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<BinaryKernel<F, T, std::uint8_t>>(spec);
  });
}
template <class F>
std::unique_ptr<Kernel> make_logical(const KernelSpec& spec) {
  return std::make_unique<BinaryKernel<F, std::uint8_t>>(spec);
}
std::unique_ptr<Kernel> make_not(const KernelSpec& spec) {
  return std::make_unique<UnaryKernel<NotOf, std::uint8_t>>(spec);
}
template <class F>
std::unique_ptr<Kernel> make_question(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<UnaryKernel<F, T, std::uint8_t>>(spec);
  });
}
void infer_question(InferContext& c) {
  c.need_float(0);
  c.output(DType::kBool, c.shape(0));
}

void infer_order(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_number(0);
  c.output(DType::kBool, broadcast_inputs(c));
}
void infer_equality(InferContext& c) {
  c.need_same_dtype(0, 1);
  if (c.dtype(0) == DType::kString) c.fail(c.input_text(0) + " must be a number or bool");
  if (c.dtype(0) != DType::kBool) c.need_number(0);
  c.output(DType::kBool, broadcast_inputs(c));
}
void infer_logical(InferContext& c) {
  for (std::size_t i = 0; i < c.n_inputs(); ++i) c.need_dtype(i, DType::kBool);
  c.output(DType::kBool, broadcast_inputs(c));
}

void infer_select(InferContext& c) {
  c.need_dtype(0, DType::kBool);
  c.need_same_dtype(1, 2);
  if (c.dtype(1) == DType::kString) c.fail(c.input_text(1) + " must be a number or bool");
  if (c.dtype(1) != DType::kBool) c.need_number(1);
  c.output(c.dtype(1), broadcast_inputs(c));
}
void grad_select(GradContext& c) {
  const Output zero = ops::scalar(c.graph(), 0, c.grad().dtype());
  if (c.wanted(1)) c.set(1, sum_to_input(c, 1, ops::select(c.input(0), c.grad(), zero)));
  if (c.wanted(2)) c.set(2, sum_to_input(c, 2, ops::select(c.input(0), zero, c.grad())));
}

template <class T>
struct SelectRow {
  const std::uint8_t* condition;
  const T *a, *b;
  bool condition_contiguous, a_contiguous, b_contiguous;
};

template <class T>
[[gnu::always_inline]] inline void select_run(const SelectRow<T>& in, std::int64_t n, T* y) {
  const std::uint8_t* c = in.condition;
  const T *a = in.a, *b = in.b;
  if (!in.condition_contiguous) {
    const T* from = *c != 0 ? a : b;
    const std::int64_t stride = (*c != 0 ? in.a_contiguous : in.b_contiguous) ? 1 : 0;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = from[i * stride];
  } else if (in.a_contiguous && in.b_contiguous) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? a[i] : b[i];
  } else if (in.a_contiguous) {
    const T one = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? a[i] : one;
  } else if (in.b_contiguous) {
    const T one = *a;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? one : b[i];
  } else {
    const T one_a = *a, one_b = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? one_a : one_b;
  }
}

template <class T>
class SelectKernel final : public Kernel {
 public:
  explicit SelectKernel(const KernelSpec& spec)
      : plan_({&spec.inputs[0].dims, &spec.inputs[1].dims, &spec.inputs[2].dims}, spec.outputs[0].dims),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const SelectRow<T> all{input<std::uint8_t>(in, 0), input<T>(in, 1),     input<T>(in, 2),
                           plan_.contiguous(0),        plan_.contiguous(1), plan_.contiguous(2)};
    T* y = output<T>(out, 0);
    const std::int64_t inner = plan_.inner();
    if (plan_.rows() == 1) {
      parallel_for(inner, kCheapGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
        compute(moved(all, all.condition_contiguous ? begin : 0, all.a_contiguous ? begin : 0,
                      all.b_contiguous ? begin : 0),
                end - begin, y + begin);
      });
      return;
    }
    const std::int64_t grain = kCheapGrain / (inner + 1) + 1;
    parallel_for(plan_.rows(), grain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      plan_.for_each_run(begin, end, [&](const auto& at, std::int64_t first, std::int64_t rows) {
        for (std::int64_t r = 0; r < rows; ++r)
          compute(moved(all, at[0] + r * plan_.row_stride(0), at[1] + r * plan_.row_stride(1),
                        at[2] + r * plan_.row_stride(2)),
                  inner, y + (first + r) * inner);
      });
    });
  }

 private:
  static SelectRow<T> moved(SelectRow<T> row, std::int64_t condition, std::int64_t a, std::int64_t b) {
    row.condition += condition, row.a += a, row.b += b;
    return row;
  }
  static void compute(const SelectRow<T>& row, std::int64_t n, T* y) { hot<T, select_run<T>>(row, n, y); }

  BroadcastPlan plan_;
  int threads_;
};
std::unique_ptr<Kernel> make_select(const KernelSpec& spec) {
  if (spec.outputs[0].dtype == DType::kBool) return std::make_unique<SelectKernel<std::uint8_t>>(spec);
  return make_for(NumberTypes{}, spec.outputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<SelectKernel<T>>(spec); });
}

OpDef boolean(const char* name, const char* doc, int n_inputs, void (*infer)(InferContext&),
              std::unique_ptr<Kernel> (*kernel)(const KernelSpec&)) {
  return {.name = name,
          .doc = doc,
          .inputs = n_inputs == 1 ? "x" : "a, b",
          .dtypes = infer == infer_logical    ? "bool"
                    : infer == infer_question ? "floats"
                    : infer == infer_order    ? "numbers"
                                              : "numbers, bool",
          .n_inputs = n_inputs,
          .elementwise = true,
          .infer = infer,
          .stops_gradient = true,
          .kernel = kernel};
}

}  // namespace

void add_compare_ops(OpRegistry& r) {
  r.add(boolean("Equal", "Whether a == b, broadcast.", 2, infer_equality, make_comparison<EqualOf>));
  r.add(boolean("NotEqual", "Whether a != b, broadcast.", 2, infer_equality, make_comparison<NotEqualOf>));
  r.add(boolean("Less", "Whether a < b, broadcast.", 2, infer_order, make_comparison<LessOf>));
  r.add(boolean("LessEqual", "Whether a <= b, broadcast.", 2, infer_order, make_comparison<LessEqualOf>));
  r.add(boolean("Greater", "Whether a > b, broadcast.", 2, infer_order, make_comparison<GreaterOf>));
  r.add(boolean("GreaterEqual", "Whether a >= b, broadcast.", 2, infer_order, make_comparison<GreaterEqualOf>));
  r.add(boolean("LogicalAnd", "Whether both are true, broadcast.", 2, infer_logical, make_logical<AndOf>));
  r.add(boolean("LogicalOr", "Whether one is true, broadcast.", 2, infer_logical, make_logical<OrOf>));
  r.add(boolean("LogicalXor", "Whether one and only one is true, broadcast.", 2, infer_logical, make_logical<XorOf>));
  r.add(boolean("IsNan", "Whether x is NaN.", 1, infer_question, make_question<IsNanOf>));
  r.add(boolean("IsInf", "Whether x is infinite.", 1, infer_question, make_question<IsInfOf>));
  r.add(boolean("IsFinite", "Whether x is neither infinite nor NaN.", 1, infer_question, make_question<IsFiniteOf>));
  r.add(boolean("LogicalNot", "Whether x is false.", 1, infer_logical, make_not));
  r.add({.name = "Select",
         .doc = "a (input 1) where the condition (input 0) is true, b (input 2) elsewhere, broadcast.",
         .inputs = "condition, a, b",
         .dtypes = "condition bool; a and b numbers, bool",
         .n_inputs = 3,
         .in_place = 6,
         .elementwise = true,
         .infer = infer_select,
         .gradient = grad_select,
         .kernel = make_select});
}

}  // namespace belay::runtime
