// SPDX-License-Identifier: Apache-2.0
#include "initializer.h"

#include <belay/error.h>
#include <belay/philox.h>
#include <belay/tensor_text.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace assign_init {
namespace {

using belay::Code;
using belay::DType;
using belay::exact_text;
using belay::fail;

// Box and Muller's method, like random_normal (runtime/ops/kernels/random_numbers.h).
double normal(const belay::PhiloxBlock& b) {
  constexpr double kTurn = 6.283185307179586;
  const double u = belay::uniform_double(b[0], b[1]), v = belay::uniform_double(b[2], b[3]);
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(kTurn * v);
}

// Returns number i of the stream. A truncated one is drawn again, each time from another stream, until it fits.
double draw(std::uint64_t key, std::uint64_t i, bool uniform, bool truncated) {
  const belay::PhiloxBlock block = belay::philox(key, i, 0);
  if (uniform) return belay::uniform_double(block[0], block[1]);
  double z = normal(block);
  for (std::uint64_t again = 1; truncated && !(z >= -2 && z <= 2); ++again)
    z = normal(belay::philox(belay::mix_key(key, again), i, 0));
  return z;
}

template <class T>
void fill(T* out, std::size_t n, std::uint64_t key, double a, double b, double high, bool uniform, bool truncated) {
  T last = std::numeric_limits<T>::infinity();
  if (uniform) {
    // This is the largest number below the end, which rounding can reach.
    last = static_cast<T>(high);
    if (static_cast<double>(last) >= high && b > 0) last = std::nextafter(last, -std::numeric_limits<T>::infinity());
  }
  for (std::size_t i = 0; i < n; ++i) out[i] = std::min(static_cast<T>(a + b * draw(key, i, uniform, truncated)), last);
}

void refuse(const std::optional<double>& parameter, const char* option, std::string_view name, const char* of) {
  if (parameter)
    fail(Code::kInvalidArgument,
         "'" + std::string(option) + "' is no parameter of " + std::string(name) + ", but of " + of + "; take it out");
}

}  // namespace

Initializer::Initializer(std::string_view name, const Parameters& p)
    : name_(name),
      scaled_(name == "glorot_uniform" || name == "he_normal"),
      uniform_(name == "random_uniform" || name == "glorot_uniform"),
      truncated_(name == "truncated_normal" || name == "he_normal") {
  if (scaled_ || !uniform_) {
    refuse(p.low, "low", name, "random_uniform");
    refuse(p.high, "high", name, "random_uniform");
  }
  if (scaled_ || uniform_) {
    refuse(p.mean, "mean", name, "random_normal and truncated_normal");
    refuse(p.stddev, "stddev", name, "random_normal and truncated_normal");
  }
  a_ = (uniform_ ? p.low : p.mean).value_or(0);
  b_ = (uniform_ ? p.high : p.stddev).value_or(1);
  if (uniform_ && !(a_ <= b_))
    fail(Code::kInvalidArgument, "'low' is " + exact_text(a_) + ", which must not be above 'high', " + exact_text(b_));
}

Initializer::Numbers Initializer::numbers_for(const belay::VariableInfo& v) const {
  if (!scaled_) return {a_, uniform_ ? b_ - a_ : b_, b_};
  if (v.dims.size() < 2)
    fail(Code::kInvalidArgument, name_ + " needs a matrix, variable '" + v.name + "' has the shape " +
                                     belay::dims_text(v.dims) + "; leave it out of 'vars'");
  double receptive = 1;
  for (std::size_t i = 0; i + 2 < v.dims.size(); ++i) receptive *= static_cast<double>(v.dims[i]);
  const auto in = static_cast<double>(v.dims[v.dims.size() - 2]), out = static_cast<double>(v.dims.back());
  if (!uniform_) return {0, std::sqrt(2 / (in * receptive)), 0};
  const double limit = std::sqrt(6 / (receptive * (in + out)));
  return {-limit, limit - -limit, limit};
}

belay::Tensor Initializer::value(const belay::VariableInfo& v, std::uint64_t seed) const {
  if (v.dtype != DType::kFloat32 && v.dtype != DType::kFloat64)
    fail(Code::kInvalidArgument, name_ + " makes float32 and float64 numbers, variable '" + v.name + "' is " +
                                     belay::dtype_name(v.dtype) + "; leave it out of 'vars', or give a constant");
  const Numbers n = numbers_for(v);
  const std::uint64_t key = belay::mix_key(seed, belay::stream_id(v.name));
  belay::Tensor value(v.dtype, v.dims);
  if (v.dtype == DType::kFloat32) {
    fill(value.data<float>(), value.size(), key, n.a, n.b, n.high, uniform_, truncated_);
  } else {
    fill(value.data<double>(), value.size(), key, n.a, n.b, n.high, uniform_, truncated_);
  }
  return value;
}

std::string Initializer::text() const {
  return scaled_ ? name_ : name_ + "(" + exact_text(a_) + ", " + exact_text(b_) + ")";
}

}  // namespace assign_init
