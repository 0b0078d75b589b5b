// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/node_driver.h"

#include <algorithm>
#include <cmath>

#include "belay/ops/control.h"
#include "belay/philox.h"
#include "runtime/data/make_queue.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"
#include "runtime/session/session_service.h"
#include "runtime/testing/module_ops.h"

namespace belay {
inline namespace v0 {
namespace testing {
namespace {

bool is_float(DType t) { return t == DType::kFloat32 || t == DType::kFloat64; }

void set_number(Tensor& tensor, std::size_t i, double value) {
  if (tensor.dtype() == DType::kFloat32)
    tensor.data<float>()[i] = static_cast<float>(value);
  else
    tensor.data<double>()[i] = value;
}

}  // namespace

struct NodeDriver::Engine {
  Engine(std::string name, const OptionValues& given)
      : registry(runtime::make_op_registry()), graph(*registry), operation(std::move(name)), attrs(given.all()) {}

  void add_node() {
    const std::vector<belay_output> raw = Graph::raws(inputs);
    auto def = detail::sized<belay_node_def>();
    def.op = detail::str(operation), def.name = detail::str("node");
    def.inputs = raw.data(), def.n_inputs = raw.size();
    def.attrs = attrs.data(), def.n_attrs = attrs.size();
    const Graph g = graph.handle();
    std::uint32_t node = 0;
    detail::Status status;
    status.check(g.api()->add_node(g.raw(), &def, &node, status));
    for (std::uint32_t i = 0; i < graph.node(node).outputs.size(); ++i) outputs.push_back(graph.output({node, i}));
  }

  // Adds the gradients of the sum of the outputs, with placeholders as weights.
  void add_gradients() {
    std::vector<Output> ys, xs;
    for (const Output& y : outputs)
      if (is_float(y.dtype())) ys.push_back(y);
    for (const Output& x : inputs)
      if (is_float(x.dtype())) xs.push_back(x);
    if (ys.empty() || xs.empty()) {
      gradient_error = "it has no input or no output of a floating-point type";
      return;
    }
    const Graph g = graph.handle();
    for (const Output& y : ys)
      weights.push_back(g.node("Placeholder", "weight").attr("dtype", y.dtype()).attr("unknown_rank", true).output());
    try {
      const std::vector<Output> found = g.gradients(ys, xs, weights);
      std::size_t next = 0;
      for (const Output& x : inputs) gradients.push_back(is_float(x.dtype()) ? found[next++] : Output());
      weighted = ys;
    } catch (const Error& e) {
      gradient_error = e.what();
    }
  }

  RunResult run(const std::vector<Output>& fetches, const std::vector<Tensor>& values,
                const std::vector<Tensor>& weight_values = {}) {
    if (session == nullptr) fail(Code::kFailedPrecondition, "call build first");
    if (values.size() != inputs.size())
      fail(Code::kInvalidArgument, "the node has " + std::to_string(inputs.size()) + " inputs, got " +
                                       std::to_string(values.size()) + " values");
    std::vector<std::pair<Output, Tensor>> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(inputs[i], values[i]);
    for (std::size_t i = 0; i < weight_values.size(); ++i) feeds.emplace_back(weights[i], weight_values[i]);
    return session->handle().run(std::vector<FetchRef>(fetches.begin(), fetches.end()), feeds);
  }

  // Makes numbers between 0.5 and 1.5, so that every output counts.
  std::vector<Tensor> weights_for(const std::vector<Tensor>& values) {
    const RunResult y = run(weighted, values);
    std::vector<Tensor> all;
    for (std::size_t o = 0; o < weighted.size(); ++o) {
      Tensor w(y[o].dtype(), y[o].dims());
      for (std::size_t i = 0; i < w.size(); ++i)
        set_number(w, i, 0.5 + static_cast<double>(mix_key(o + 1, i) % 1024) / 1024);
      all.push_back(std::move(w));
    }
    return all;
  }
  double weighted_sum(const std::vector<Tensor>& values, const std::vector<Tensor>& weight_values) {
    const RunResult y = run(weighted, values);
    double sum = 0;
    for (std::size_t o = 0; o < weighted.size(); ++o)
      for (std::size_t i = 0; i < y[o].size(); ++i) sum += y[o].number(i) * TensorView(weight_values[o]).number(i);
    return sum;
  }

  std::unique_ptr<runtime::OpRegistry> registry;
  runtime::ModuleOps ops;
  runtime::NodeGraph graph;
  std::string operation;
  RawOptions attrs;
  std::vector<Output> inputs, outputs;
  std::vector<Output> weighted, weights, gradients;  // weighted: the floating-point outputs; gradients: per input
  std::string gradient_error;
  std::shared_ptr<runtime::DirectSession> session;
};

NodeDriver::NodeDriver(const belay_module& module, const std::string& operation, const OptionValues& attrs)
    : engine_(std::make_unique<Engine>(operation, attrs)) {
  engine_->ops.add(*engine_->registry, module);
}

NodeDriver::~NodeDriver() = default;

void NodeDriver::input(DType dtype, const Dims& dims) {
  const Graph g = engine_->graph.handle();
  engine_->inputs.push_back(ops::placeholder(g, dtype, dims, "input_" + std::to_string(engine_->inputs.size())));
}

void NodeDriver::input_of_unknown_rank(DType dtype) {
  const Graph g = engine_->graph.handle();
  engine_->inputs.push_back(g.node("Placeholder", "input_" + std::to_string(engine_->inputs.size()))
                                .attr("dtype", dtype)
                                .attr("unknown_rank", true)
                                .output());
}

void NodeDriver::build(int threads, std::uint64_t seed) {
  engine_->add_node();
  engine_->add_gradients();
  engine_->graph.finalize();
  runtime::DirectSessionOptions options;
  options.threads = threads;
  options.seed = seed;
  options.queues = runtime::make_queue;
  engine_->session =
      std::make_shared<runtime::DirectSession>(engine_->graph, std::make_shared<runtime::VariableStore>(), options);
}

std::string NodeDriver::spec(std::uint32_t output) const {
  const auto& [dtype, shape] = engine_->graph.spec(engine_->graph.resolve(engine_->outputs.at(output).raw()));
  return std::string(dtype_name(dtype)) + " " + shape.text();
}

std::uint32_t NodeDriver::n_outputs() const { return static_cast<std::uint32_t>(engine_->outputs.size()); }

std::vector<Tensor> NodeDriver::run(const std::vector<Tensor>& inputs) {
  const RunResult result = engine_->run(engine_->outputs, inputs);
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < engine_->outputs.size(); ++i) values.emplace_back(result[i]);
  return values;
}

bool NodeDriver::has_gradient() const { return engine_->gradient_error.empty(); }
const std::string& NodeDriver::gradient_error() const { return engine_->gradient_error; }

std::vector<Tensor> NodeDriver::gradients(const std::vector<Tensor>& inputs) {
  Engine& e = *engine_;
  if (!has_gradient()) fail(Code::kFailedPrecondition, e.gradient_error);
  std::vector<Output> fetches;
  for (const Output& g : e.gradients)
    if (g) fetches.push_back(g);
  const RunResult result = e.run(fetches, inputs, e.weights_for(inputs));
  std::vector<Tensor> values;
  std::size_t next = 0;
  for (const Output& g : e.gradients) values.push_back(g ? Tensor(result[next++]) : Tensor());
  return values;
}

double NodeDriver::worst_gradient_error(const std::vector<Tensor>& inputs, int per_input) {
  Engine& e = *engine_;
  const std::vector<Tensor> gradients = this->gradients(inputs), weights = e.weights_for(inputs);
  const double here = e.weighted_sum(inputs, weights);
  double worst = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!is_float(inputs[k].dtype())) continue;
    const double part = inputs[k].dtype() == DType::kFloat64 ? 1e-5 : 1e-2;
    const auto n = static_cast<int>(inputs[k].size());
    for (int i = 0; i < n; i += std::max(1, n / per_input)) {
      const auto at = static_cast<std::size_t>(i);
      const double x = TensorView(inputs[k]).number(at), step = part * std::max(1.0, std::abs(x));
      const auto sum_at = [&](double value) {
        std::vector<Tensor> moved = inputs;
        set_number(moved[k], at, value);
        return e.weighted_sum(moved, weights);
      };
      const double right = (sum_at(x + step) - here) / step, left = (here - sum_at(x - step)) / step;
      // An input without a gradient must not influence the outputs.
      const double got = gradients[k].dtype() == DType::kInvalid ? 0 : TensorView(gradients[k]).number(at);
      const double nearest = std::clamp(got, std::min(left, right), std::max(left, right));
      const double error = std::abs(got - nearest) / std::max(1.0, std::abs(got));
      if (!(error <= worst)) worst = error;  // also NaN
    }
  }
  return worst;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
