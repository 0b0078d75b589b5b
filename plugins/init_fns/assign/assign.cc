// SPDX-License-Identifier: Apache-2.0
// Sets variables, by their names, to a number, an array, or random numbers.
#include <belay/data_file.h>
#include <belay/plugin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "../name_patterns.h"
#include "initializer.h"
#include "npy_value.h"

namespace assign_init {
namespace {

using belay::Code;
using belay::DType;
using belay::exact_text;
using belay::fail;
using belay::VariableInfo;

[[noreturn]] void fail_constant(double value, const VariableInfo& v) {
  fail(Code::kInvalidArgument, "constant = " + exact_text(value) + " is no value for variable '" + v.name +
                                   "', which is " + belay::dtype_name(v.dtype) + "; leave it out of 'vars'");
}

template <class T>
void fill_whole(double value, const VariableInfo& v, belay::Tensor& tensor) {
  // Above 2^53 a number in the manifest is not exact.
  constexpr double kMost = 9007199254740992.0;
  const bool fits = value == std::floor(value) && std::abs(value) <= kMost &&
                    value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                    value <= static_cast<double>(std::numeric_limits<T>::max());
  if (!fits) fail_constant(value, v);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data<T>()[i] = static_cast<T>(value);
}

template <class T>
void fill_float(double value, belay::Tensor& tensor) {
  T* x = tensor.data<T>();
  for (std::size_t i = 0; i < tensor.size(); ++i) x[i] = static_cast<T>(value);
}

belay::Tensor constant_value(double value, const VariableInfo& v) {
  belay::Tensor tensor(v.dtype, v.dims);
  switch (v.dtype) {
    case DType::kFloat32: fill_float<float>(value, tensor); break;
    case DType::kFloat64: fill_float<double>(value, tensor); break;
    case DType::kInt32: fill_whole<std::int32_t>(value, v, tensor); break;
    case DType::kInt64: fill_whole<std::int64_t>(value, v, tensor); break;
    case DType::kUInt8: fill_whole<std::uint8_t>(value, v, tensor); break;
    case DType::kBool: fill_whole<bool>(value, v, tensor); break;
    default: fail_constant(value, v);
  }
  return tensor;
}

class Assign final : public belay::InitFn {
 public:
  struct Options {
    belay::List<belay::Str> vars;
    std::optional<double> constant;
    belay::Path npy;
    std::optional<belay::Str> initializer;
    std::optional<double> low, high, mean, stddev;
  };
  static constexpr auto about = belay::about(
      "assign", "Sets variables to a number, to an array of a file, or to random numbers when a run begins",
      belay::option("vars", &Options::vars,
                    "regular expressions for the names of the variables, matched from the start of a name")
          .required()
          .example("dense/bias"),
      belay::option("constant", &Options::constant, "number for all elements of the variables").example(0.1),
      belay::option("npy", &Options::npy, ".npy file with an array of the variables' shape"),
      belay::option("initializer", &Options::initializer,
                    "distribution of random numbers, as the operation of this name draws them; the run's seed and a "
                    "variable's name decide its numbers")
          .choices("random_uniform", "random_normal", "truncated_normal", "glorot_uniform", "he_normal"),
      belay::option("low", &Options::low, "lower limit of random_uniform; 0 if not set"),
      belay::option("high", &Options::high, "upper limit of random_uniform, which is never drawn; 1 if not set"),
      belay::option("mean", &Options::mean, "mean of random_normal and truncated_normal; 0 if not set"),
      belay::option("stddev", &Options::stddev,
                    "standard deviation of random_normal and truncated_normal; 1 if not set")
          .min(0));

  explicit Assign(const Options& o) : vars_("vars", o.vars), constant_(o.constant), npy_(o.npy) {
    if (vars_.empty()) fail(Code::kInvalidArgument, "'vars' has no regular expression; \".*\" is all variables");
    const int given = (o.constant ? 1 : 0) + (o.npy.empty() ? 0 : 1) + (o.initializer ? 1 : 0);
    if (given != 1)
      fail(Code::kInvalidArgument, std::string(given == 0 ? "no option sets" : "more than one option sets") +
                                       " the value of the variables; give one of 'constant', 'npy' and 'initializer'");
    const Initializer::Parameters parameters{o.low, o.high, o.mean, o.stddev};
    if (o.initializer) {
      initializer_.emplace(*o.initializer, parameters);
    } else if (o.low || o.high || o.mean || o.stddev) {
      fail(Code::kInvalidArgument, "'low', 'high', 'mean' and 'stddev' are for an 'initializer'; take them out");
    }
    if (!npy_.empty()) belay::data_file_size("npy", npy_);
  }

  void run(belay::Graph&, belay::Session& session) override {
    std::vector<std::string> all, set;
    for (const VariableInfo& v : session.variables()) {
      all.push_back(v.name);
      if (!vars_.matches(v.name)) continue;
      session.assign(v.name, value_for(v));
      set.push_back(v.name);
    }
    const std::vector<std::string> unused = vars_.unused();
    if (!unused.empty()) fail(Code::kNotFound, unused[0] + "; there are: " + init_fns::joined(all));
    host().info("set to " + value_text() + ": " + init_fns::joined(set));
  }

 private:
  belay::Tensor value_for(const VariableInfo& v) const {
    if (constant_) return constant_value(*constant_, v);
    if (initializer_) return initializer_->value(v, host().seed());
    return read_npy_value(npy_, v);
  }
  std::string value_text() const {
    if (constant_) return exact_text(*constant_);
    return initializer_ ? initializer_->text() : "'" + npy_ + "'";
  }

  init_fns::NamePatterns vars_;
  const std::optional<double> constant_;
  const std::string npy_;
  std::optional<Initializer> initializer_;
};

}  // namespace
}  // namespace assign_init

BELAY_MODULE("1.0.0", assign_init::Assign)
