// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention of several heads. Only the weights of a block of queries exist at a time, never the
// whole matrix. The gradient computes them again from the logarithm of each row's sum. Threads share the heads of all
// examples.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/softmax.h"
#include "runtime/ops/kernels/tile_product.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kBlock = 64;  // queries that are processed together

// ---- shapes

// Inputs: query, key, value. With `packed` they are one tensor that holds them in this order along its last dimension.
// The mask, if there is one, comes next.
std::size_t operands(const Attrs& attrs) { return attrs.flag("packed") ? 1 : 3; }

struct AttentionShapes {
  std::int64_t batch = -1, queries = -1, keys = -1, width = -1, value_width = -1;  // for all heads together
};

std::int64_t agreed(const InferContext& c, std::int64_t a, std::int64_t b, const char* what) {
  if (a >= 0 && b >= 0 && a != b)
    c.fail(std::string(what) + " differ: " + c.input_text(0) + ", " + c.input_text(1) + ", " + c.input_text(2));
  return a >= 0 ? a : b;
}

AttentionShapes attention_shapes(const InferContext& c, std::int64_t heads) {
  c.need_float(0);
  const std::size_t n = operands(c.attrs());
  for (std::size_t i = 0; i < n; ++i) {
    c.need_same_dtype(0, i);
    c.need_rank(i, 3);
  }
  const auto dim = [&](std::size_t i, std::size_t d) { return c.shape(i).has_rank() ? c.shape(i).dim(d) : -1; };
  AttentionShapes s;
  s.batch = dim(0, 0), s.queries = dim(0, 1);
  if (n == 1) {
    s.keys = s.queries;
    if (dim(0, 2) % 3 != 0 && dim(0, 2) >= 0)
      c.fail(c.input_text(0) + " must hold query, key and value along its last dimension, which 3 does not divide");
    s.width = s.value_width = dim(0, 2) < 0 ? -1 : dim(0, 2) / 3;
  } else {
    s.batch = agreed(c, agreed(c, s.batch, dim(1, 0), "the batches"), dim(2, 0), "the batches");
    s.keys = agreed(c, dim(1, 1), dim(2, 1), "the numbers of keys and values");
    s.width = agreed(c, dim(0, 2), dim(1, 2), "the widths of queries and keys");
    s.value_width = dim(2, 2);
  }
  for (const std::int64_t width : {s.width, s.value_width})
    if (width >= 0 && width % heads != 0)
      c.fail(fmt::format("the width {} cannot be divided into {} heads", width, heads));
  if (c.attrs().flag("causal") && s.keys >= 0 && s.queries > s.keys)
    c.fail(fmt::format("{} queries are more than {} keys: with 'causal' the first ones would see nothing", s.queries,
                       s.keys));
  return s;
}

void need_mask(const InferContext& c, std::size_t i, const AttentionShapes& s) {
  c.need_same_dtype(0, i);
  const Shape& mask = c.shape(i);
  bool ok = true;
  if (mask.has_rank())
    Shape::merged(mask, mask.rank() == 2 ? Shape{s.queries, s.keys} : Shape{s.batch, s.queries, s.keys}, ok);
  if (!ok)
    c.fail("the mask, " + c.input_text(i) + ", must have the shape " + dims_text({s.queries, s.keys}) + " or " +
           dims_text({s.batch, s.queries, s.keys}));
}

void infer_attention(InferContext& c) {
  const std::size_t n = operands(c.attrs());
  const bool masked = c.attrs().flag("masked");
  if (c.n_inputs() != n + (masked ? 1 : 0))
    c.fail(fmt::format("there must be {} inputs, or {} with 'masked', got {}{}", n, n + 1, c.n_inputs(),
                       masked ? " with it" : " without it"));
  const std::int64_t heads = c.attrs().integer("heads");
  const AttentionShapes s = attention_shapes(c, heads);
  if (masked) need_mask(c, n, s);
  c.output(c.dtype(0), Shape{s.batch, s.queries, s.value_width});
  c.output(c.dtype(0), Shape{s.batch, heads, s.queries});
}

// ---- both directions

template <class T>
struct Attention {
  std::int64_t batch, heads, queries, keys;
  std::int64_t width, value_width;          // of one head
  std::int64_t q_row, k_row, v_row, y_row;  // distance from a query, key, value or result to the next one
  bool packed, causal, masked, mask_per_example;
  T scale;
  int threads;

  explicit Attention(const KernelSpec& spec)
      : packed(spec.attrs().flag("packed")),
        causal(spec.attrs().flag("causal")),
        masked(spec.attrs().flag("masked")),
        threads(spec.threads) {
    const std::size_t n = operands(spec.attrs());
    const Dims &q = spec.inputs[0].dims, &k = spec.inputs[n == 1 ? 0 : 1].dims, &v = spec.inputs[n - 1].dims;
    heads = spec.attrs().integer("heads");
    batch = q[0], queries = q[1], keys = k[1];
    q_row = q[2], k_row = k[2], v_row = v[2];
    width = q[2] / (packed ? 3 : 1) / heads;
    value_width = v[2] / (packed ? 3 : 1) / heads;
    y_row = value_width * heads;
    mask_per_example = masked && spec.inputs[n].dims.size() == 3;
    const double given = spec.attrs().number("scale");
    scale = static_cast<T>(given != 0 ? given : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1))));
  }

  // The elements of one head of one example, in query, key and value, or in their gradients.
  template <class P>
  struct Place {
    P *q, *k, *v;
  };
  template <class P>
  Place<P> place(P* q, P* k, P* v, std::int64_t item) const {
    const std::int64_t b = item / heads, h = item % heads;
    if (packed) k = q + width * heads, v = q + 2 * width * heads;
    return {q + b * queries * q_row + h * width, k + b * keys * k_row + h * width,
            v + b * keys * v_row + h * value_width};
  }
  // The mask at the first query of a block.
  const T* mask_of(const T* mask, std::int64_t item, std::int64_t query) const {
    if (!masked) return nullptr;
    return mask + ((mask_per_example ? item / heads * queries : 0) + query) * keys;
  }
  // The number of keys that query i sees.
  std::int64_t seen(std::int64_t i) const { return causal ? i + 1 + keys - queries : keys; }
};

// The scores of a block of queries, and the values that turn them into weights.
template <class T>
struct Scores {
  T* s;  // rows of `row` elements
  const T* mask;
  T scale;
  std::int64_t rows, row, computed;  // computed: number of keys with scores
  std::int64_t seen, seen_step;      // keys that row 0 sees, and how many more each next row sees
};

// Turns scores into weights; log_sum[r] is log(sum(e^score)).
template <class T>
[[gnu::always_inline]] inline void softmax_scores(const Scores<T>& a, T* log_sum) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    T* s = a.s + r * a.row;
    const std::int64_t n = a.seen + r * a.seen_step;
    if (a.mask != nullptr) {
      const T* mask = a.mask + r * a.row;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) s[i] = s[i] * a.scale + mask[i];
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) s[i] *= a.scale;
    }
    const T largest = row_largest(s, n);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) {
      s[i] = exp_of(s[i] - largest);
      sum += s[i];
    }
    const T factor = T(1) / sum;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) s[i] *= factor;
    for (std::int64_t i = n; i < a.computed; ++i) s[i] = 0;
    log_sum[r] = largest + log_of(sum);
  }
}

// Turns scores into weights by softmax_scores' results, and the weights' gradient into the scores' gradient.
template <class T>
struct Returned {
  const T* log_sum;
  const T *y, *dy;  // rows of y_row elements; `width` of them belong to this head
  T* d;
  std::int64_t y_row, width;
};
template <class T>
[[gnu::always_inline]] inline void differentiate_scores(const Scores<T>& a, const Returned<T>& b) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    T *s = a.s + r * a.row, *d = b.d + r * a.row;
    const T *y = b.y + r * b.y_row, *dy = b.dy + r * b.y_row;
    T dot = 0;  // sum(weight * its gradient)
#pragma omp simd reduction(+ : dot)
    for (std::int64_t i = 0; i < b.width; ++i) dot += y[i] * dy[i];
    const std::int64_t n = a.seen + r * a.seen_step;
    const T log_sum = b.log_sum[r], scale = a.scale;
    if (a.mask != nullptr) {
      const T* mask = a.mask + r * a.row;
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) s[i] = s[i] * scale + mask[i];
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) s[i] *= scale;
    }
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const T weight = exp_of(s[i] - log_sum);
      s[i] = weight;
      d[i] = weight * (d[i] - dot) * scale;
    }
    for (std::int64_t i = n; i < a.computed; ++i) s[i] = 0, d[i] = 0;
  }
}

// Holds one table for each thread.
template <class T>
class Scratch {
 public:
  Scratch(std::int64_t elements, int threads) : each_((elements + 15) / 16 * 16), all_(each_ * size_of(threads)) {}
  T* of(int thread) { return all_.data() + size_of(thread) * each_; }

 private:
  static std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::size_t each_;
  std::vector<T> all_;
};

// ---- forward

template <class T>
class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const KernelSpec& spec)
      : a_(spec), keys_turned_(a_.width * a_.keys, a_.threads), scores_(kBlock * a_.keys, a_.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const std::size_t n = a_.packed ? 1 : 3;
    const T *q = input<T>(in, 0), *k = input<T>(in, n == 1 ? 0 : 1), *v = input<T>(in, n - 1);
    const T* mask = a_.masked ? input<T>(in, n) : nullptr;
    parallel_items(a_.batch * a_.heads, a_.threads, [&](std::int64_t begin, std::int64_t end, int part) {
      for (std::int64_t item = begin; item < end; ++item) {
        T* y = output<T>(out, 0) + item / a_.heads * a_.queries * a_.y_row + item % a_.heads * a_.value_width;
        run_head(a_.place(q, k, v, item), mask, item, y, output<T>(out, 1) + item * a_.queries, part);
      }
    });
  }

 private:
  void run_head(const typename Attention<T>::template Place<const T>& at, const T* mask, std::int64_t item, T* y,
                T* log_sum, int part) {
    T *turned = keys_turned_.of(part), *scores = scores_.of(part);
    transpose_copy(at.k, a_.k_row, a_.keys, a_.width, turned);
    for (std::int64_t i = 0; i < a_.queries; i += kBlock) {
      const std::int64_t rows = std::min(kBlock, a_.queries - i), keys = a_.seen(i + rows - 1);
      multiply(
          TileProduct<T>{rows, keys, a_.width, at.q + i * a_.q_row, a_.q_row, 1, turned, a_.keys, scores, a_.keys});
      const Scores<T> block{scores,     a_.mask_of(mask, item, i), a_.scale, rows, a_.keys, keys,
                            a_.seen(i), a_.causal ? 1 : 0};
      hot<T, softmax_scores<T>>(block, log_sum + i);
      multiply(
          TileProduct<T>{rows, a_.value_width, keys, scores, a_.keys, 1, at.v, a_.v_row, y + i * a_.y_row, a_.y_row});
    }
  }

  Attention<T> a_;
  Scratch<T> keys_turned_, scores_;
};

// ---- backward

void grad_attention(GradContext& c) {
  if (c.grad(1))
    fail(Code::kUnimplemented,
         "'" + c.output(1).name() + "' cannot be differentiated: it is what attention keeps for its gradient");
  const std::size_t n = operands(c.attrs());
  if (c.n_inputs() > n && c.wanted(n))
    fail(Code::kUnimplemented,
         "the mask '" + c.input(n).name() + "' of an attention has no gradient; use ops::stop_gradient");
  NodeBuilder node = c.graph().node("AttentionGrad");
  for (std::size_t i = 0; i < c.n_inputs(); ++i) node.in(c.input(i));
  node.in(c.output(0)).in(c.output(1)).in(c.grad());
  for (const char* flag : {"packed", "causal", "masked"}) node.attr(flag, c.attrs().flag(flag));
  node.attr("heads", c.attrs().integer("heads")).attr("scale", c.attrs().number("scale"));
  const Output gradient = node.output();
  for (std::size_t i = 0; i < n; ++i)
    if (c.wanted(i)) c.set(i, gradient.sibling(static_cast<std::uint32_t>(i)));
}

void infer_attention_grad(InferContext& c) {
  const std::size_t n = operands(c.attrs()), kept = n + (c.attrs().flag("masked") ? 1 : 0);
  if (c.n_inputs() != kept + 3) c.fail(fmt::format("there must be {} inputs, got {}", kept + 3, c.n_inputs()));
  const std::int64_t heads = c.attrs().integer("heads");
  const AttentionShapes s = attention_shapes(c, heads);
  if (kept > n) need_mask(c, n, s);
  const auto need = [&](std::size_t i, const char* what, const Dims& dims) {
    c.need_same_dtype(0, i);
    if (!Shape::compatible(c.shape(i), Shape(dims)))
      c.fail(std::string(what) + ", " + c.input_text(i) + ", must have the shape " + dims_text(dims));
  };
  need(kept, "the result", {s.batch, s.queries, s.value_width});
  need(kept + 1, "the logarithms of the sums", {s.batch, heads, s.queries});
  need(kept + 2, "the incoming gradient", {s.batch, s.queries, s.value_width});
  for (std::size_t i = 0; i < n; ++i) c.output(c.dtype(i), c.shape(i));
}

template <class T>
class AttentionGradKernel final : public Kernel {
 public:
  explicit AttentionGradKernel(const KernelSpec& spec)
      : a_(spec),
        keys_turned_(a_.width * a_.keys, a_.threads),
        values_turned_(a_.value_width * a_.keys, a_.threads),
        weights_(kBlock * a_.keys, a_.threads),
        gradient_(kBlock * a_.keys, a_.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const std::size_t n = a_.packed ? 1 : 3, kept = n + (a_.masked ? 1 : 0);
    const T *q = input<T>(in, 0), *k = input<T>(in, n == 1 ? 0 : 1), *v = input<T>(in, n - 1);
    const T* mask = a_.masked ? input<T>(in, n) : nullptr;
    T *dq = output<T>(out, 0), *dk = output<T>(out, n == 1 ? 0 : 1), *dv = output<T>(out, n - 1);
    parallel_items(a_.batch * a_.heads, a_.threads, [&](std::int64_t begin, std::int64_t end, int part) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t at = item / a_.heads * a_.queries * a_.y_row + item % a_.heads * a_.value_width;
        run_head({a_.place(q, k, v, item), a_.place(dq, dk, dv, item), mask, input<T>(in, kept) + at,
                  input<T>(in, kept + 2) + at, input<T>(in, kept + 1) + item * a_.queries, item},
                 part);
      }
    });
  }

 private:
  struct Head {
    typename Attention<T>::template Place<const T> at;
    typename Attention<T>::template Place<T> d;
    const T *mask, *y, *dy, *log_sum;
    std::int64_t item;
  };

  void run_head(const Head& h, int part) {
    T *turned = keys_turned_.of(part), *values = values_turned_.of(part);
    T *weights = weights_.of(part), *gradient = gradient_.of(part);
    transpose_copy(h.at.k, a_.k_row, a_.keys, a_.width, turned);
    transpose_copy(h.at.v, a_.v_row, a_.keys, a_.value_width, values);
    for (std::int64_t j = 0; j < a_.keys; ++j) {
      std::fill_n(h.d.k + j * a_.k_row, a_.width, T(0));
      std::fill_n(h.d.v + j * a_.v_row, a_.value_width, T(0));
    }
    for (std::int64_t i = 0; i < a_.queries; i += kBlock) {
      const std::int64_t rows = std::min(kBlock, a_.queries - i), keys = a_.seen(i + rows - 1), row = a_.keys;
      const T *q = h.at.q + i * a_.q_row, *dy = h.dy + i * a_.y_row;
      multiply(TileProduct<T>{rows, keys, a_.width, q, a_.q_row, 1, turned, row, weights, row});
      multiply(TileProduct<T>{rows, keys, a_.value_width, dy, a_.y_row, 1, values, row, gradient, row});
      const Scores<T> block{weights,          a_.mask_of(h.mask, h.item, i), a_.scale, rows, row, keys, a_.seen(i),
                            a_.causal ? 1 : 0};
      const Returned<T> back{h.log_sum + i, h.y + i * a_.y_row, dy, gradient, a_.y_row, a_.value_width};
      hot<T, differentiate_scores<T>>(block, back);
      multiply(TileProduct<T>{keys, a_.value_width, rows, weights, 1, row, dy, a_.y_row, h.d.v, a_.v_row, true});
      multiply(
          TileProduct<T>{rows, a_.width, keys, gradient, row, 1, h.at.k, a_.k_row, h.d.q + i * a_.q_row, a_.q_row});
      multiply(TileProduct<T>{keys, a_.width, rows, gradient, 1, row, q, a_.q_row, h.d.k, a_.k_row, true});
    }
  }

  Attention<T> a_;
  Scratch<T> keys_turned_, values_turned_, weights_, gradient_;
};

std::vector<AttrDef> attention_attrs() {
  return {bool_attr("packed", "query, key and value are one tensor that holds them along its last dimension"),
          bool_attr("masked", "the last input is a mask"),
          bool_attr("causal", "a query sees the keys up to its own place, the last query all"),
          int_attr("heads", "how many parts the last dimension has").at_least(1).defaults_to(1),
          float_attr("scale", "0: 1 / sqrt(width of a head)").defaults_to(0)};
}

}  // namespace

void add_attention_ops(OpRegistry& r) {
  r.add({.name = "Attention",
         .doc = "softmax(query key^T * `scale` + mask) value for each of `heads` parts of the last dimension. Inputs: "
                "query [batch, queries, width], key and value [batch, keys, width], or with `packed` one tensor of all "
                "three, and with `masked` what is added to the scores. Output 1: the logarithms of the softmaxes' "
                "sums.",
         .inputs = "query, key, value, mask...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = attention_attrs(),
         .infer = infer_attention,
         .gradient = grad_attention,
         .kernel = make_typed<AttentionKernel>});
  r.add({.name = "AttentionGrad",
         .doc = "The gradients of Attention's query, key and value. Inputs: those of Attention, its outputs, the "
                "incoming gradient.",
         .inputs = "values...",
         .dtypes = "floats",
         .n_inputs = -1,
         .attrs = attention_attrs(),
         .infer = infer_attention_grad,
         .kernel = make_typed<AttentionGradKernel>});
}

}  // namespace belay::runtime
