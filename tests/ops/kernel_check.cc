// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/kernel_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "belay/ops/control.h"
#include "belay/philox.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Tensor tensor_of(DType dtype, const Dims& dims, const std::vector<double>& values) {
  Tensor t(dtype, dims);
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (dtype) {
      case DType::kFloat32: t.data<float>()[i] = static_cast<float>(values[i]); break;
      case DType::kFloat64: t.data<double>()[i] = values[i]; break;
      case DType::kInt32: t.data<std::int32_t>()[i] = static_cast<std::int32_t>(values[i]); break;
      case DType::kInt64: t.data<std::int64_t>()[i] = static_cast<std::int64_t>(values[i]); break;
      case DType::kBool: t.data<bool>()[i] = values[i] != 0; break;
      default: ADD_FAILURE() << "no operand of this dtype";
    }
  }
  return t;
}

std::vector<double> numbers_of(const TensorView& t) {
  std::vector<double> numbers(t.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = t.number(i);
  return numbers;
}

double fraction(std::uint64_t key, std::uint64_t i) {
  const PhiloxBlock b = philox(key, i, 0);
  return uniform_double(b[0], b[1]);
}

// A run with a team of the session's size.
Run run_with(DirectSession& session, FetchSet& fetches, const std::vector<belay_feed>& feeds) {
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = feeds;
  request.full_team = true;
  return session.run(request);
}

void expect_close(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(got[i])) continue;
    if (got[i] == wanted[i]) continue;
    ASSERT_LE(std::fabs(got[i] - wanted[i]), tolerance * (1 + std::fabs(wanted[i])))
        << what << ", element " << i << ": " << got[i] << " instead of " << wanted[i];
  }
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool is_float(const Operand& operand) { return operand.dtype == DType::kInvalid; }

}  // namespace

double Evaluator::weight(std::size_t i) { return fraction(77, i) * 2 - 0.9; }

Evaluator::Evaluator(const Build& build, const std::vector<Operand>& operands, const Options& options)
    : options_(options), operands_(operands), ops_(make_op_registry()), graph_(*ops_) {
  const Graph g = graph_.handle();
  std::vector<Output> differentiated;
  for (const Operand& o : operands) {
    const Dims dims = options.known_shapes ? o.dims : Dims(o.dims.size(), -1);
    inputs_.push_back(ops::placeholder(g, is_float(o) ? options.dtype : o.dtype, dims, "input"));
    if (is_float(o)) differentiated.push_back(inputs_.back());
  }
  value_ = build(inputs_);
  if (options.gradients) {
    weights_ = options.known_shapes ? ops::placeholder(g, value_.dtype(), value_.dims(), "weights")
                                    : ops::placeholder_of_any_rank(g, value_.dtype(), "weights");
    gradients_ = g.gradients({value_}, differentiated, {weights_});
  }
  graph_.finalize();
  DirectSessionOptions session;
  session.threads = options.threads;
  session_ = std::make_unique<DirectSession>(graph_, std::make_shared<VariableStore>(), session);
}

Evaluator::~Evaluator() = default;

Evaluated Evaluator::run(const std::vector<std::vector<double>>& values) {
  std::vector<Tensor> tensors;
  std::vector<belay_feed> feeds;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    tensors.push_back(
        tensor_of(is_float(operands_[i]) ? options_.dtype : operands_[i].dtype, operands_[i].dims, values[i]));
  }
  for (std::size_t i = 0; i < operands_.size(); ++i) feeds.push_back({inputs_[i].raw(), tensors[i].view()});
  Evaluated result;
  FetchSet value(std::vector<FetchRef>{value_});
  {
    const Run run = run_with(*session_, value, feeds);
    const TensorView y(run.result(value, 0));
    result.dims = y.dims();
    result.value = numbers_of(y);
  }
  if (!options_.gradients) return result;
  std::vector<double> weights;
  for (std::size_t i = 0; i < result.value.size(); ++i) weights.push_back(weight(i));
  const Tensor weight_tensor = tensor_of(value_.dtype(), result.dims, weights);
  feeds.push_back({weights_.raw(), weight_tensor.view()});
  std::vector<FetchRef> existing;
  for (const Output& g : gradients_)
    if (g) existing.push_back(g);
  FetchSet fetches(existing);
  const Run run = run_with(*session_, fetches, feeds);
  std::size_t next = 0;
  for (const Output& g : gradients_)
    result.gradients.push_back(g ? numbers_of(run.result(fetches, next++)) : std::vector<double>{});
  return result;
}

std::vector<std::vector<double>> elements_of(const std::vector<Operand>& operands) {
  std::vector<std::vector<double>> all;
  for (const Operand& o : operands) {
    std::vector<double> values(static_cast<std::size_t>(count_of(o.dims)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      double x = o.low + (o.high - o.low) * fraction(1000 + all.size(), i);
      for (const double kink : o.kinks)
        if (std::fabs(x - kink) < 0.05) x = x < kink ? kink - 0.05 : kink + 0.05;
      values[i] = is_float(o) ? static_cast<double>(static_cast<float>(x)) : std::floor(x);
    }
    all.push_back(std::move(values));
  }
  return all;
}

void check_gradients(const Build& build, const std::vector<Operand>& operands, double tolerance) {
  std::vector<std::vector<double>> values = elements_of(operands);
  Evaluator forward(build, operands, {.gradients = false});
  const auto weighted = [&] {
    const Evaluated e = forward.run(values);
    double sum = 0;
    for (std::size_t i = 0; i < e.value.size(); ++i) sum += Evaluator::weight(i) * e.value[i];
    return sum;
  };
  std::vector<std::vector<double>> numeric;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    if (!is_float(operands[o])) continue;
    numeric.emplace_back();
    for (double& x : values[o]) {
      const double before = x, h = 1e-5;
      x = before + h;
      const double above = weighted();
      x = before - h;
      const double below = weighted();
      x = before;
      numeric.back().push_back((above - below) / (2 * h));
    }
  }
  for (const bool known : {true, false}) {
    Evaluator whole(build, operands, {.known_shapes = known});
    const Evaluated e = whole.run(values);
    ASSERT_EQ(e.gradients.size(), numeric.size());
    for (std::size_t i = 0; i < numeric.size(); ++i)
      expect_close(e.gradients[i].empty() ? std::vector<double>(numeric[i].size(), 0) : e.gradients[i], numeric[i],
                   tolerance, "gradient of float operand " + std::to_string(i) + (known ? "" : ", shapes unknown"));
  }
}

void check_float32(const Build& build, const std::vector<Operand>& operands, double tolerance) {
  const std::vector<std::vector<double>> values = elements_of(operands);
  const Evaluated wanted = Evaluator(build, operands, {}).run(values);
  for (const int threads : {1, 2}) {
    Evaluator evaluator(build, operands, {.dtype = DType::kFloat32, .threads = threads});
    const Evaluated got = evaluator.run(values);
    const std::string with = " with " + std::to_string(threads) + " threads";
    EXPECT_EQ(got.dims, wanted.dims);
    expect_close(got.value, wanted.value, tolerance, "value" + with);
    for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
      expect_close(got.gradients[i], wanted.gradients[i], tolerance,
                   "gradient of float operand " + std::to_string(i) + with);
    // The same again, bit by bit.
    EXPECT_TRUE(same_bits(got.value, evaluator.run(values).value)) << "a second run" << with;
  }
}

namespace {

std::vector<double> run_numbers(const Build& build, const std::vector<Tensor>& inputs, int threads, DType wanted) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  std::vector<Output> placeholders;
  for (const Tensor& t : inputs)
    placeholders.push_back(wanted == DType::kInvalid ? ops::placeholder_of_any_rank(graph.handle(), t.dtype())
                                                     : ops::placeholder(graph.handle(), t.dtype(), t.dims()));
  const Output y = build(placeholders);
  EXPECT_TRUE(wanted == DType::kInvalid || wanted == y.dtype()) << dtype_name(y.dtype());
  graph.finalize();
  DirectSessionOptions options;
  options.threads = threads;
  DirectSession session(graph, std::make_shared<VariableStore>(), options);
  std::vector<belay_feed> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds.push_back({placeholders[i].raw(), inputs[i].view()});
  FetchSet fetches(std::vector<FetchRef>{y});
  const Run run = run_with(session, fetches, feeds);
  return numbers_of(run.result(fetches, 0));
}

template <class T>
std::vector<T> run_as(const Build& build, const std::vector<Tensor>& inputs, int threads, DType dtype) {
  std::vector<T> out;
  for (const double number : run_numbers(build, inputs, threads, dtype)) out.push_back(static_cast<T>(number));
  return out;
}

}  // namespace

template <>
std::vector<float> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads) {
  return run_as<float>(build, inputs, threads, DType::kFloat32);
}
template <>
std::vector<double> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads) {
  return run_as<double>(build, inputs, threads, DType::kFloat64);
}
template <>
std::vector<std::int32_t> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads) {
  return run_as<std::int32_t>(build, inputs, threads, DType::kInt32);
}
template <>
std::vector<std::int64_t> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads) {
  return run_as<std::int64_t>(build, inputs, threads, DType::kInt64);
}
template <>
std::vector<std::uint8_t> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads) {
  return run_as<std::uint8_t>(build, inputs, threads, DType::kUInt8);
}
template <>
std::vector<bool> run_op(const Build& build, const std::vector<Tensor>& inputs, int threads) {
  return run_as<bool>(build, inputs, threads, DType::kBool);
}

std::string build_error(const Build& build, const std::vector<Spec>& inputs) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  std::vector<Output> placeholders;
  for (const Spec& s : inputs) placeholders.push_back(ops::placeholder(graph.handle(), s.dtype, s.dims));
  return error_of([&] { build(placeholders); });
}

std::string error_with_input(const Build& build, std::vector<Dims> inputs, std::size_t i, const Dims& dims) {
  inputs[i] = dims;
  std::vector<Spec> specs;
  for (const Dims& d : inputs) specs.push_back({DType::kFloat32, d});
  return build_error(build, specs);
}

std::string run_error(const Build& build, const std::vector<Tensor>& inputs) {
  return error_of([&] { run_numbers(build, inputs, 1, DType::kInvalid); });
}

}  // namespace belay::runtime::testing
