// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/optimizer_driver.h"

#include "belay/ops/control.h"
#include "belay/ops/variables.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/session/direct_session.h"
#include "runtime/testing/module_instance.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct OptimizerDriver::Engine {
  Engine(const belay_module& module, const std::string& plugin, const OptionValues& options)
      : optimizer(runtime::PluginKind::kOptimizer, module, plugin, options),
        ops(runtime::make_op_registry()),
        graph(*ops) {}

  runtime::Variable& find(const std::string& name) const {
    runtime::Variable* variable = store->find(name);
    if (variable == nullptr) fail(Code::kNotFound, "the driver has no variable '" + name + "'; call build first");
    return *variable;
  }

  runtime::ModuleInstance optimizer;
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::NodeGraph graph;
  // A gradient of a variable that the test feeds: the whole one, or rows with their ids.
  struct Fed {
    Output variable, gradient, ids;
    bool sparse = false;
  };
  std::vector<Fed> variables;
  Output rate, train_op;
  std::shared_ptr<runtime::VariableStore> store = std::make_shared<runtime::VariableStore>();
  std::shared_ptr<runtime::DirectSession> session;
};

OptimizerDriver::OptimizerDriver(const belay_module& module, const OptionValues& options, const std::string& plugin)
    : engine_(std::make_unique<Engine>(module, plugin, options)) {}

OptimizerDriver::~OptimizerDriver() = default;

void OptimizerDriver::variable(const std::string& name, const Tensor& initial_value) {
  if (engine_->session != nullptr) fail(Code::kFailedPrecondition, "the graph is built: variables come before build");
  engine_->variables.push_back({ops::variable(engine_->graph.handle(), name, initial_value), {}, {}});
}

void OptimizerDriver::sparse_variable(const std::string& name, const Tensor& initial_value) {
  if (initial_value.dims().empty())
    fail(Code::kInvalidArgument, "the sparse variable '" + name + "' has no rows: it needs at least one dimension");
  variable(name, initial_value);
  engine_->variables.back().sparse = true;
}

void OptimizerDriver::build(int threads) {
  Engine& e = *engine_;
  const Graph g = e.graph.handle();
  const Output step = ops::get_or_create_global_step(g);
  std::vector<runtime::VariableGradient> gradients;
  for (Engine::Fed& fed : e.variables) {
    const std::string name = "driver/gradient_" + std::to_string(gradients.size());
    Dims dims = fed.variable.dims();
    if (fed.sparse) dims[0] = -1;
    fed.gradient = ops::placeholder(g, fed.variable.dtype(), dims, name);
    Output gradient = fed.gradient;
    if (fed.sparse) {
      fed.ids = ops::placeholder(g, DType::kInt64, {-1}, name + "_ids");
      gradient = g.node("GatherGrad", name + "_of_gather")
                     .in(fed.gradient)
                     .in(fed.ids)
                     .in(fed.variable)
                     .attr("axis", 0)
                     .output();
    }
    gradients.push_back({fed.variable, gradient});
  }
  if (gradients.empty()) fail(Code::kFailedPrecondition, "the driver has no variables: call variable before build");
  e.rate = ops::placeholder(g, e.variables[0].variable.dtype(), {}, "driver/learning_rate");
  e.train_op = runtime::apply_gradients(g, gradients, e.rate, step, *e.optimizer);
  e.graph.finalize();
  runtime::DirectSessionOptions options;
  options.threads = threads;
  e.session = std::make_shared<runtime::DirectSession>(e.graph, e.store, options);
  std::vector<runtime::Port> inits = e.graph.collection("variable_init");
  for (const runtime::Port& p : e.graph.collection("local_variable_init")) inits.push_back(p);
  e.session->run_once(inits);
}

void OptimizerDriver::step(const VariableGradients& gradients, double learning_rate) {
  step(gradients, {}, learning_rate);
}

void OptimizerDriver::step(const VariableGradients& gradients, const RowGradients& rows, double learning_rate) {
  Engine& e = *engine_;
  if (e.session == nullptr) fail(Code::kFailedPrecondition, "call build first");
  std::vector<std::pair<Output, Tensor>> feeds;
  feeds.emplace_back(
      e.rate, e.rate.dtype() == DType::kFloat64 ? Tensor(learning_rate) : Tensor(static_cast<float>(learning_rate)));
  for (const Engine::Fed& fed : e.variables) {
    const std::string name = e.graph.handle().node_name_of(fed.variable);
    const auto whole = gradients.find(name);
    const auto some = rows.find(name);
    if (fed.sparse ? some == rows.end() : whole == gradients.end())
      fail(Code::kInvalidArgument,
           "the step has no " + std::string(fed.sparse ? "rows" : "gradient") + " for '" + name + "'");
    feeds.emplace_back(fed.gradient, fed.sparse ? some->second.rows : whole->second);
    if (fed.sparse)
      feeds.emplace_back(fed.ids, Tensor({static_cast<std::int64_t>(some->second.ids.size())}, some->second.ids));
  }
  e.session->handle().run({e.train_op}, feeds);
}

bool OptimizerDriver::takes_sparse(const std::string& name) const {
  return engine_->graph.find_node("sparse_gradients/" + name) != nullptr;
}

std::vector<std::string> OptimizerDriver::slots() const {
  const Graph g = engine_->graph.handle();
  std::vector<std::string> names;
  for (const Output& v : g.collection(collections::kGlobalVariables)) {
    bool own = v == g.global_step_if_exists();
    for (const Engine::Fed& other : engine_->variables) own = own || v == other.variable;
    if (!own) names.push_back(g.node_name_of(v));
  }
  return names;
}

Tensor OptimizerDriver::value(const std::string& name) const {
  return Tensor(TensorView(engine_->find(name).value.view()));
}

std::vector<double> OptimizerDriver::values(const std::string& name) const {
  const TensorView view(engine_->find(name).value.view());
  std::vector<double> numbers;
  for (std::size_t i = 0; i < view.size(); ++i) numbers.push_back(view.number(i));
  return numbers;
}

void OptimizerDriver::set_value(const std::string& name, const Tensor& value) {
  engine_->find(name);
  engine_->store->assign(name, value);
}

std::int64_t OptimizerDriver::global_step() const { return engine_->find("global_step").value.data<std::int64_t>()[0]; }

Graph OptimizerDriver::graph() const { return engine_->graph.handle(); }

}  // namespace testing
}  // namespace v0
}  // namespace belay
