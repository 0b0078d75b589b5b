// SPDX-License-Identifier: Apache-2.0
// Random numbers and dropout from Philox streams. The key is the seed and the node's name, the counter the global step
// and the element. So neither threads nor the order of steps matter.
#include "belay/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belay/philox.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/random_numbers.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kGrain = 4096;

std::uint64_t stream_key(const KernelSpec& spec) { return mix_key(spec.seed, stream_id(spec.node.name)); }

// Calls f(begin, end, words) over [0, n) on the team, in pieces whose words fit the stack.
template <class F>
void with_words(std::int64_t n, int words_per_element, int threads, const RandomStream& stream, F f) {
  constexpr std::int64_t kPiece = 256;
  parallel_for((n + kPiece - 1) / kPiece, kGrain / kPiece, threads, [&](std::int64_t first, std::int64_t last, int) {
    std::uint32_t words[kPiece * 4];
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t begin = piece * kPiece, end = std::min(n, begin + kPiece);
      random_words(stream, begin * words_per_element, end * words_per_element, words);
      f(begin, end, words);
    }
  });
}

void infer_random(InferContext& c) {
  Shape shape(c.attrs().integers("shape"));
  const DType dtype = c.attrs().dtype("dtype");
  if (!shape.fully_known()) c.fail("attribute 'shape' must be known, got " + shape.text());
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) c.fail("random numbers are float32 or float64");
  c.output(dtype, std::move(shape));
}

void infer_uniform(InferContext& c) {
  infer_random(c);
  const double low = c.attrs().number("low"), high = c.attrs().number("high");
  if (!(low <= high))
    c.fail("attribute 'low' must not be above 'high', got " + std::to_string(low) + " and " + std::to_string(high));
}

RandomNumbers numbers_of(const KernelSpec& spec, Distribution distribution) {
  const Attrs& attrs = spec.attrs();
  if (distribution != Distribution::kUniform) return {distribution, attrs.number("mean"), attrs.number("stddev")};
  const double low = attrs.number("low"), high = attrs.number("high");
  RandomNumbers numbers{distribution, low, high - low, static_cast<float>(high)};
  // This is the largest number below the end, which rounding can reach.
  if (numbers.last >= high && low < high)
    numbers.last = std::nextafter(numbers.last, -std::numeric_limits<float>::infinity());
  return numbers;
}

class RandomFloats final : public Kernel {
 public:
  RandomFloats(const KernelSpec& spec, Distribution distribution)
      : n_(spec.outputs[0].elements()),
        threads_(spec.threads),
        key_(stream_key(spec)),
        numbers_(numbers_of(spec, distribution)) {}
  void run(void* const*, void* const* out, const KernelContext& context) override {
    auto* y = output<float>(out, 0);
    parallel_for(n_, kGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      random_floats({key_, context.counter}, numbers_, begin, end, y + begin);
    });
  }

 private:
  std::int64_t n_;
  int threads_;
  std::uint64_t key_;
  RandomNumbers numbers_;
};

// Makes each element from four words: two 53-bit uniforms. The float32 numbers are these, rounded.
class RandomDoubles final : public Kernel {
 public:
  RandomDoubles(const KernelSpec& spec, Distribution distribution)
      : n_(spec.outputs[0].elements()),
        threads_(spec.threads),
        key_(stream_key(spec)),
        numbers_(numbers_of(spec, distribution)) {
    if (distribution != Distribution::kUniform) return;
    last_ = spec.attrs().number("high");
    if (numbers_.a < last_) last_ = std::nextafter(last_, -std::numeric_limits<double>::infinity());
  }
  void run(void* const*, void* const* out, const KernelContext& context) override {
    auto* y = output<double>(out, 0);
    with_words(n_, 4, threads_, {key_, context.counter},
               [&](std::int64_t begin, std::int64_t end, const std::uint32_t* w) {
                 for (std::int64_t i = begin; i < end; ++i, w += 4) {
                   const double u = uniform_double(w[0], w[1]);
                   const bool uniform = numbers_.distribution == Distribution::kUniform;
                   const double z = uniform ? u : normal(i, u, uniform_double(w[2], w[3]), context);
                   y[i] = std::min(numbers_.a + numbers_.b * z, last_);
                 }
               });
  }

 private:
  double normal(std::int64_t i, double u, double v, const KernelContext& context) const {
    double z = box_muller(u, v);
    // It is drawn again from a separate stream of the element until it fits; 4.6 % of the first draws do not.
    const bool truncated = numbers_.distribution == Distribution::kTruncatedNormal;
    for (std::uint64_t again = 1; truncated && !(z >= -2 && z <= 2); ++again) {
      const PhiloxBlock b = philox(mix_key(key_, again), static_cast<std::uint64_t>(i), context.counter);
      z = box_muller(uniform_double(b[0], b[1]), uniform_double(b[2], b[3]));
    }
    return z;
  }

  std::int64_t n_;
  int threads_;
  std::uint64_t key_;
  RandomNumbers numbers_;
  double last_ = std::numeric_limits<double>::infinity();
};

template <Distribution distribution>
std::unique_ptr<Kernel> make_random(const KernelSpec& spec) {
  if (spec.outputs[0].dtype == DType::kFloat64) return std::make_unique<RandomDoubles>(spec, distribution);
  return std::make_unique<RandomFloats>(spec, distribution);
}

void infer_dropout(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), c.shape(0));
  c.output(DType::kUInt8, c.shape(0));
}

// An element is kept if its 32-bit word is at least rate * 2^32. A rate just below 1 stays below 2^32.
std::uint32_t threshold_of(double rate) {
  return static_cast<std::uint32_t>(std::min(std::llround(rate * 4294967296.0), 4294967295ll));
}

template <class T>
BELAY_HOT void drop(const T* x, const std::uint32_t* words, std::int64_t n, std::uint32_t threshold, T scale, T* y,
                    std::uint8_t* mask) {
  for (std::int64_t i = 0; i < n; ++i) {
    const bool keep = words[i] >= threshold;
    mask[i] = keep ? 1 : 0;
    y[i] = keep ? x[i] * scale : T(0);
  }
}

template <class T>
class DropoutKernel final : public Kernel {
 public:
  explicit DropoutKernel(const KernelSpec& spec)
      : n_(spec.outputs[0].elements()),
        threads_(spec.threads),
        key_(stream_key(spec)),
        threshold_(threshold_of(spec.attrs().number("rate"))),
        scale_(static_cast<T>(1 / (1 - spec.attrs().number("rate")))) {}
  void run(void* const* in, void* const* out, const KernelContext& context) override {
    const T* x = input<T>(in, 0);
    T* y = output<T>(out, 0);
    auto* mask = output<std::uint8_t>(out, 1);
    with_words(n_, 1, threads_, {key_, context.counter},
               [&](std::int64_t begin, std::int64_t end, const std::uint32_t* w) {
                 drop(x + begin, w, end - begin, threshold_, scale_, y + begin, mask + begin);
               });
  }

 private:
  std::int64_t n_;
  int threads_;
  std::uint64_t key_;
  std::uint32_t threshold_;
  T scale_;
};

std::unique_ptr<Kernel> make_dropout(const KernelSpec& spec) {
  if (spec.inputs[0].dtype == DType::kFloat64) return std::make_unique<DropoutKernel<double>>(spec);
  return std::make_unique<DropoutKernel<float>>(spec);
}

void grad_dropout(GradContext& c) {
  c.set(0, c.graph().node("DropoutGrad").in(c.grad()).in(c.output(1)).attr("rate", c.attrs().number("rate")).output());
}

void infer_dropout_grad(InferContext& c) {
  c.need_float(0);
  c.need_dtype(1, DType::kUInt8);
  bool ok = true;
  Shape shape = Shape::merged(c.shape(0), c.shape(1), ok);
  if (!ok) c.fail(c.input_text(0) + " and " + c.input_text(1) + " must have the same shape");
  c.output(c.dtype(0), std::move(shape));
}

template <class T>
BELAY_HOT void scale_kept(const T* dy, const std::uint8_t* mask, std::int64_t n, T scale, T* dx) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = mask[i] != 0 ? dy[i] * scale : T(0);
}

template <class T>
class DropoutGradKernel final : public Kernel {
 public:
  explicit DropoutGradKernel(const KernelSpec& spec)
      : n_(spec.outputs[0].elements()),
        threads_(spec.threads),
        scale_(static_cast<T>(1 / (1 - spec.attrs().number("rate")))) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* dy = input<T>(in, 0);
    const auto* mask = input<std::uint8_t>(in, 1);
    T* dx = output<T>(out, 0);
    parallel_for(n_, 1 << 14, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      scale_kept(dy + begin, mask + begin, end - begin, scale_, dx + begin);
    });
  }

 private:
  std::int64_t n_;
  int threads_;
  T scale_;
};

std::unique_ptr<Kernel> make_dropout_grad(const KernelSpec& spec) {
  if (spec.inputs[0].dtype == DType::kFloat64) return std::make_unique<DropoutGradKernel<double>>(spec);
  return std::make_unique<DropoutGradKernel<float>>(spec);
}

// It is linear in dy: its gradient is the same operation on the incoming gradient.
void grad_dropout_grad(GradContext& c) {
  c.set(0, c.graph().node("DropoutGrad").in(c.grad()).in(c.input(1)).attr("rate", c.attrs().number("rate")).output());
}

// ---- attributes

AttrDef random_shape_attr() { return shape_attr("shape", "of the result").defaults_to(Dims{}); }
AttrDef random_dtype_attr() { return dtype_attr("dtype", "of the result").defaults_to(DType::kFloat32); }
std::vector<AttrDef> normal_attrs() {
  return {random_shape_attr(), random_dtype_attr(), float_attr("mean", "of the distribution").defaults_to(0),
          float_attr("stddev", "the standard deviation").at_least(0).defaults_to(1)};
}
AttrDef rate_attr() { return float_attr("rate", "the fraction that is dropped").at_least(0).below(1); }

}  // namespace

void add_random_ops(OpRegistry& r) {
  r.add({.name = "RandomUniform",
         .doc = "Uniform in [`low`, `high`).",
         .dtypes = "floats",
         .attrs = {random_shape_attr(), random_dtype_attr(), float_attr("low", "the least value").defaults_to(0),
                   float_attr("high", "the end of the range, not below low").defaults_to(1)},
         .effect = Effect::kRandom,
         .infer = infer_uniform,
         .stops_gradient = true,
         .kernel = make_random<Distribution::kUniform>});
  r.add({.name = "RandomNormal",
         .doc = "Normal with `mean` and `stddev`.",
         .dtypes = "floats",
         .attrs = normal_attrs(),
         .effect = Effect::kRandom,
         .infer = infer_random,
         .stops_gradient = true,
         .kernel = make_random<Distribution::kNormal>});
  r.add({.name = "TruncatedNormal",
         .doc = "Normal with `mean` and `stddev`, drawn again where it is more than two standard deviations away.",
         .dtypes = "floats",
         .attrs = normal_attrs(),
         .effect = Effect::kRandom,
         .infer = infer_random,
         .stops_gradient = true,
         .kernel = make_random<Distribution::kTruncatedNormal>});
  r.add({.name = "Dropout",
         .doc = "Sets a fraction `rate` of the elements to 0, scales the rest by 1 / (1 - rate); output 1 is the mask.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .attrs = {rate_attr()},
         .effect = Effect::kRandom,
         .in_place = 1,
         .infer = infer_dropout,
         .gradient = grad_dropout,
         .kernel = make_dropout});
  r.add({.name = "DropoutGrad",
         .doc = "The gradient of Dropout, by its mask.",
         .inputs = "dy, mask",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = {rate_attr()},
         .in_place = 1,
         .infer = infer_dropout_grad,
         .gradient = grad_dropout_grad,
         .kernel = make_dropout_grad});
}

}  // namespace belay::runtime
