// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/model_driver.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "belay/ops/control.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "belay/testing/plugin_library.h"
#include "runtime/data/input_service.h"
#include "runtime/data/make_queue.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/monitored/model/model_service.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"
#include "runtime/session/session_service.h"
#include "runtime/testing/module_ops.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct ModelDriver::Engine {
  Engine() : ops(runtime::make_op_registry()), graph(*ops) {
    host.set_service("graph", runtime::graph_service());
    host.set_service("session", runtime::session_service());
    host.set_service("model", runtime::model_service());
  }

  std::vector<std::pair<Output, Tensor>> feeds(const ModelBatch& batch) const {
    std::vector<std::pair<Output, Tensor>> out;
    for (const auto& [name, tensor] : batch) {
      if (mode == Mode::kPredict && is_label(name)) continue;
      const auto it = inputs.find(name);
      if (it == inputs.end()) fail(Code::kInvalidArgument, "the model has no feature or label '" + name + "'");
      out.emplace_back(it->second, tensor);
    }
    return out;
  }
  bool is_label(const std::string& name) const {
    return std::any_of(declared.begin(), declared.end(),
                       [&](const runtime::InputComponent& c) { return c.label && c.name == name; });
  }
  // Adds the features, and the labels unless they are to be predicted, in the order of their declaration.
  void add_placeholders() {
    for (const runtime::InputComponent& c : declared) {
      if (c.label && mode == Mode::kPredict) continue;
      inputs[c.name] = ops::placeholder(graph.handle(), c.dtype, c.dims, c.name);
      (c.label ? labels : features).push_back({c.name, inputs[c.name], c.classes});
    }
  }
  RunResult run(const std::vector<FetchRef>& fetches, const ModelBatch& batch) {
    if (session == nullptr) fail(Code::kFailedPrecondition, "call build first");
    return session->handle().run(fetches, feeds(batch));
  }

  FakeHost host;
  Handle<belay_model_api> model;
  belay_model_api table{};
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::ModuleOps module_ops;
  runtime::NodeGraph graph;
  Mode mode = Mode::kTrain;
  std::vector<runtime::InputComponent> declared;
  std::vector<DeclaredLabel> declared_labels;
  std::map<std::string, Output> inputs;
  std::vector<NamedOutput> features, labels;
  runtime::ModelOutputs outputs;
  std::shared_ptr<runtime::VariableStore> store = std::make_shared<runtime::VariableStore>();
  std::shared_ptr<runtime::DirectSession> session;
  std::vector<Output> trainable, gradients;
  Output learning_rate_feed, train_op;
};

ModelDriver::ModelDriver(const belay_module& module, const OptionValues& options, const std::string& plugin)
    : engine_(std::make_unique<Engine>()) {
  engine_->table = detail::adopt<detail::Absent::kSkip>(find_table<belay_model_api>(module, plugin));
  engine_->model = options.create(engine_->host, &engine_->table);
  add_ops(module);
}

ModelDriver::~ModelDriver() = default;

void ModelDriver::add_ops(const belay_module& module) { engine_->module_ops.add(*engine_->ops, module); }

void ModelDriver::feature(const std::string& name, DType dtype, const Dims& dims, std::int64_t classes) {
  engine_->declared.push_back({false, name, dtype, dims, classes, {}});
}

void ModelDriver::label(const std::string& name, DType dtype, const Dims& dims, std::int64_t classes) {
  label(DeclaredLabel{name, dtype, dims, classes});
}

void ModelDriver::label(const DeclaredLabel& label) {
  engine_->declared.push_back({true, label.name, label.dtype, label.dims, label.classes, label.class_names});
  engine_->declared_labels.push_back(label);
}

void ModelDriver::build(Mode mode, std::uint64_t seed) {
  Engine& e = *engine_;
  const Graph g = e.graph.handle();
  e.mode = mode;
  e.add_placeholders();
  e.outputs = runtime::build_model(e.model, e.graph, mode, e.features, e.labels, e.declared_labels);
  const Output step = ops::get_or_create_global_step(g);
  e.trainable = g.collection(collections::kTrainableVariables);
  if (e.outputs.loss && !e.trainable.empty()) {
    e.gradients = g.gradients({e.outputs.loss}, e.trainable);
    e.learning_rate_feed = ops::placeholder(g, DType::kFloat32, {}, "driver_learning_rate");
    std::vector<Output> updates;
    for (std::size_t i = 0; i < e.trainable.size(); ++i)
      if (e.gradients[i])
        updates.push_back(ops::apply_gradient_descent(e.trainable[i], e.learning_rate_feed, e.gradients[i]));
    const auto after = g.after(updates);
    e.train_op = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1}))).operation();
  }
  runtime::SessionScaffold scaffold;
  scaffold.finalize(e.graph);
  runtime::DirectSessionOptions options;
  options.seed = seed;
  options.queues = runtime::make_queue;
  e.session = std::make_shared<runtime::DirectSession>(e.graph, e.store, options);
  const runtime::GivenValues values(*e.session, e.outputs.initial_values);
  e.session->run_once({e.graph.resolve(scaffold.init_op().raw())});
  values.set(*e.session);
  e.session->run_once({e.graph.resolve(scaffold.local_init_op().raw())});
}

std::string foreign_variables(const ModelDriver& training, const ModelDriver& other) {
  std::string text;
  const std::vector<VariableInfo> known = training.variables();
  for (const VariableInfo& v : other.variables()) {
    const auto same = [&](const VariableInfo& k) { return k.name == v.name && k.dtype == v.dtype && k.dims == v.dims; };
    if (std::none_of(known.begin(), known.end(), same))
      text += (text.empty() ? "" : ", ") + v.name + " " + dtype_name(v.dtype) + " " + dims_text(v.dims);
  }
  return text;
}

std::string prediction_faults(const ModelDriver& training, ModelDriver& evaluating, ModelDriver& predicting,
                              const ModelBatch& batch) {
  std::string faults;
  for (const ModelDriver* model : {&evaluating, &predicting})
    if (const std::string foreign = foreign_variables(training, *model); !foreign.empty())
      faults += "not in the training: " + foreign + "; ";
  for (const std::string& name : predicting.metrics()) faults += "the metric '" + name + "' in a prediction; ";
  for (const std::string& name : predicting.predictions())
    if (predicting.values(name, batch) != evaluating.values(name, batch)) faults += "other values of '" + name + "'; ";
  return faults;
}

std::vector<std::string> ModelDriver::predictions() const {
  std::vector<std::string> names;
  for (const NamedOutput& p : engine_->outputs.predictions) names.push_back(p.name);
  return names;
}

std::vector<std::string> ModelDriver::metrics() const {
  std::vector<std::string> names;
  for (const runtime::ModelOutputs::Metric& m : engine_->outputs.metrics) names.push_back(m.name);
  return names;
}

const std::vector<Signature>& ModelDriver::signatures() const { return engine_->outputs.signatures; }

std::vector<std::string> ModelDriver::hooks() const {
  std::vector<std::string> names;
  for (const runtime::ModelOutputs::Hook& h : engine_->outputs.hooks) names.push_back(h.use.name);
  return names;
}

const std::vector<std::string>& ModelDriver::pieces() const { return engine_->outputs.pieces; }

std::string ModelDriver::spec(const std::string& name) const {
  const auto& [dtype, shape] = engine_->graph.spec(engine_->graph.find(name));
  return std::string(dtype_name(dtype)) + " " + shape.text();
}

double ModelDriver::loss(const ModelBatch& batch) { return value("loss", batch); }

std::vector<double> ModelDriver::values(const std::string& name, const ModelBatch& batch) {
  const RunResult result = engine_->run({engine_->graph.handle().find(name)}, batch);
  const TensorView t = result[0];
  std::vector<double> out;
  for (std::size_t i = 0; i < t.size(); ++i) out.push_back(t.number(i));
  return out;
}

double ModelDriver::metric_over(const std::string& name, const std::vector<ModelBatch>& batches) {
  for (const runtime::ModelOutputs::Metric& m : engine_->outputs.metrics) {
    if (m.name != name) continue;
    if (!m.update) fail(Code::kInvalidArgument, "the metric '" + name + "' has no update; use value()");
    for (const ModelBatch& batch : batches) engine_->run({m.update}, batch);
    return engine_->run({m.value}, {})[0].number(0);
  }
  fail(Code::kNotFound, "the model has no metric '" + name + "'");
}

std::string ModelDriver::changed_by_evaluation(const ModelBatch& batch) {
  const Engine& e = *engine_;
  std::vector<std::pair<std::string, Tensor>> before;
  for (const VariableInfo& v : variables())
    if (v.initialized && v.dtype != DType::kString) before.emplace_back(v.name, variable(v.name));
  std::vector<FetchRef> of_batch, totals;
  if (e.outputs.loss) of_batch.emplace_back(e.outputs.loss);
  for (const NamedOutput& p : e.outputs.predictions) of_batch.emplace_back(p.output);
  for (const runtime::ModelOutputs::Metric& m : e.outputs.metrics) {
    of_batch.emplace_back(m.update ? m.update : m.value);
    if (m.update) totals.emplace_back(m.value);
  }
  engine_->run(of_batch, batch);
  if (!totals.empty()) engine_->run(totals, {});
  std::string changed;
  for (const auto& [name, value] : before) {
    const Tensor now = variable(name);
    const TensorView a = value, b = now;
    if (a.bytes() != b.bytes() || std::memcmp(a.data(), b.data(), a.bytes()) != 0)
      changed += (changed.empty() ? "" : ", ") + name;
  }
  return changed;
}

void ModelDriver::train_step(const ModelBatch& batch, double learning_rate) {
  Engine& e = *engine_;
  if (!e.train_op) fail(Code::kFailedPrecondition, "the model has no loss or no trainable variables");
  auto feeds = e.feeds(batch);
  feeds.emplace_back(e.learning_rate_feed, Tensor(static_cast<float>(learning_rate)));
  e.session->handle().run({e.train_op}, feeds);
}

std::vector<VariableInfo> ModelDriver::variables() const { return engine_->session->handle().variables(); }

Tensor ModelDriver::variable(const std::string& name) const {
  const runtime::Variable* v = engine_->store->find(name);
  if (v == nullptr) fail(Code::kNotFound, "the model has no variable '" + name + "'");
  return Tensor(TensorView(v->value.view()));
}

void ModelDriver::set_variable(const std::string& name, const Tensor& value) { engine_->store->assign(name, value); }

double ModelDriver::worst_gradient_error(const ModelBatch& batch, int per_variable) {
  Engine& e = *engine_;
  double worst = 0;
  for (std::size_t v = 0; v < e.trainable.size(); ++v) {
    if (!e.gradients[v]) continue;
    const std::string name = e.graph.handle().node_name_of(e.trainable[v]);
    const Tensor gradient(e.run({e.gradients[v]}, batch)[0]);
    const Tensor before = variable(name);
    const auto n = static_cast<int>(before.size());
    for (int i = 0; i < n; i += std::max(1, n / per_variable)) {
      const auto at = static_cast<std::size_t>(i);
      const double x = TensorView(before).number(at), step = 1e-2 * std::max(1.0, std::abs(x));
      const auto loss_at = [&](double value) {
        Tensor moved = before;
        moved.data<float>()[at] = static_cast<float>(value);
        set_variable(name, moved);
        return loss(batch);
      };
      const double expected = (loss_at(x + step) - loss_at(x - step)) / (2 * step);
      const double got = TensorView(gradient).number(at);
      worst = std::max(worst, std::abs(got - expected) / std::max(1.0, std::abs(got)));
    }
    set_variable(name, before);
  }
  return worst;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
