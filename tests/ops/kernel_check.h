// SPDX-License-Identifier: Apache-2.0
// Checks of operations: gradients against finite differences in float64, and float32 kernels against the float64 ones,
// forward and backward, at one and two threads.
//
//   check_gradients([](const Inputs& in) { return ops::mul(in[0], in[1]); }, {{{2, 3}}, {{3}}});
//   check_float32([](const Inputs& in) { return ops::exp(in[0]); }, {{{1000}, -5, 5}});
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime::testing {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Inputs = std::vector<Output>;
// Builds what is checked, from inputs of the operands' dtypes.
using Build = std::function<Output(const Inputs&)>;

// An input of a check: random elements in [low, high), the same at every run. float: the dtype under check.
struct Operand {
  Dims dims;
  double low = -2;
  double high = 2;
  std::vector<double> kinks = {};  // the elements keep 0.05 away from these: no derivative there
  DType dtype = DType::kInvalid;   // of an input that is not differentiated; elements are whole numbers then
};

struct Evaluated {
  Dims dims;
  std::vector<double> value;
  std::vector<std::vector<double>> gradients;  // of each float operand, in order; empty where none passes
};

// A graph of placeholders and the nodes on them, in a separate session.
class Evaluator {
 public:
  struct Options {
    DType dtype = DType::kFloat64;
    int threads = 1;
    bool gradients = true;
    bool known_shapes = true;  // false: only the ranks are known while the graph is built
  };
  Evaluator(const Build& build, const std::vector<Operand>& operands, const Options& options);
  ~Evaluator();
  // The value, and the gradients of its elements weighted by weight(i).
  Evaluated run(const std::vector<std::vector<double>>& values);
  static double weight(std::size_t i);

 private:
  Options options_;
  std::vector<Operand> operands_;
  std::unique_ptr<OpRegistry> ops_;
  NodeGraph graph_;
  std::vector<Output> inputs_;
  Output value_, weights_;
  std::vector<Output> gradients_;  // of float operands; empty Outputs where none passes
  std::unique_ptr<DirectSession> session_;
};

// The elements of each operand.
std::vector<std::vector<double>> elements_of(const std::vector<Operand>& operands);

void check_gradients(const Build& build, const std::vector<Operand>& operands, double tolerance = 1e-6);
void check_float32(const Build& build, const std::vector<Operand>& operands, double tolerance = 1e-5);

// The value in one dtype for given tensors. T: its element type, bool as std::uint8_t.
template <class T>
std::vector<T> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads = 1);
template <>
std::vector<float> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads);
template <>
std::vector<double> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads);
template <>
std::vector<std::int32_t> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads);
template <>
std::vector<std::int64_t> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads);
template <>
std::vector<std::uint8_t> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads);
template <>
std::vector<bool> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads);

// "no error", or the error of building on placeholders of these dtypes and dims.
struct Spec {
  DType dtype;
  Dims dims;
};
std::string build_error(const Build& build, const std::vector<Spec>& inputs);
// The same of float32 inputs with these dims, but for input i.
std::string error_with_input(const Build& build, std::vector<Dims> inputs, std::size_t i, const Dims& dims);

// The error of running it on these tensors, placeholders being of unknown rank.
std::string run_error(const Build& build, const std::vector<Tensor>& inputs);

}  // namespace belay::runtime::testing
