// SPDX-License-Identifier: Apache-2.0
// Measures the cost of predicting on top of the forward pass: an mlp of 784-128-10 on BATCHES batches of 64, on one
// thread. bench/predict.py counts the instructions of both.
//
//   bench_predict forward BATCHES     runs of a session, the batch fed
//   bench_predict predict BATCHES     runtime/estimator/prediction/predictions.h, the batch from an input
//   bench_predict estimator BATCHES   the rows that Estimator::predict returns, from the same input
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "belay/ops/control.h"
#include "belay/ops/matmul.h"
#include "belay/plugin.h"
#include "plugins/default_plugins.h"
#include "runtime/data/make_queue.h"
#include "runtime/estimator/estimator/estimator.h"
#include "runtime/estimator/prediction/predictions.h"
#include "runtime/loader/library/registry.h"
#include "runtime/monitored/services/host_services.h"
#include "runtime/ops/registry.h"

namespace {

namespace ops = belay::ops;
using belay::DType;
using belay::Output;
using belay::Tensor;

constexpr std::int64_t kBatch = 64, kPixels = 784;

Output logits_of(const Output& x) {
  const Output hidden = ops::dense(x, 128, {.activation = ops::Activation::kRelu});
  return ops::dense(hidden, 10);
}

const Tensor& pixels() {
  static const Tensor values({kBatch, kPixels}, std::vector<float>(kBatch * kPixels, 0.5f));
  return values;
}

class Pixels final : public belay::Input {
 public:
  static constexpr auto about = belay::about("pixels", "The same batch for ever");
  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("x", DType::kFloat32, {-1, kPixels}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    const belay::TensorView from(pixels());
    std::memcpy(batch.tensor(slot_, {kBatch, kPixels}).mutable_data(), from.data(), from.bytes());
    position = {0, at_ += kBatch};
    return true;
  }
  void seek(const belay::Position& position) override { at_ = position.index; }

 private:
  std::uint32_t slot_ = 0;
  std::int64_t at_ = 0;
};

class Mlp final : public belay::Model {
 public:
  static constexpr auto about = belay::about("mlp", "784-128-10");
  void build(belay::ModelContext& model) override { model.prediction("logits", logits_of(model.feature())); }
};

}  // namespace

BELAY_MODULE("1.0.0", Pixels, Mlp)

namespace belay::runtime {
namespace {

void forward(int batches) {
  const auto registry = make_op_registry();
  NodeGraph graph(*registry);
  const Output x = ops::placeholder(graph.handle(), DType::kFloat32, {kBatch, kPixels}, "x");
  const Output logits = logits_of(x);
  const std::vector<Port> initializers = graph.collection("variable_init");
  graph.finalize();
  const auto session =
      std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), DirectSessionOptions{});
  session->run_once(initializers);
  const belay_feed feed{x.raw(), pixels().view()};
  FetchSet fetches(std::vector<FetchRef>{logits});
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = {&feed, 1};
  request.full_team = true;
  for (int i = 0; i < batches; ++i) session->run(request);
}

PluginInstance& create(PluginInstances& instances, const Registry& registry, PluginKind kind, const std::string& name,
                       const HostServices& services, CallMonitor& monitor) {
  const RegisteredPlugin* plugin = registry.find(kind, name, "");
  ResolvedPlugin resolved;
  resolved.info = plugin->info;
  resolved.instance_name = name;
  return instances.create(*plugin, resolved, services, monitor);
}

void predict(int batches) {
  const auto log = make_stderr_logger(LogFormat::kText, LogLevel::kWarning, system_clock());
  StoreTargets targets;
  CancellationSource interrupt;
  DirectSessionOptions options;
  options.queues = make_queue;
  RunEnvironment environment{system_clock(), *log, posix_file_system(), targets, interrupt, options};
  HostServices services(*log, system_clock(), "", 42);
  add_session_services(services);
  services.set_context(&environment);
  Registry registry;
  registry.add_linked(&belay_module_v0);
  CallMonitor monitor, input_monitor;
  PluginInstances instances;
  const auto op_registry = make_op_registry();
  HookSet hooks;
  Predictions predictions(
      *op_registry, environment, create(instances, registry, PluginKind::kModel, "mlp", services, monitor),
      InputFeed::open(create(instances, registry, PluginKind::kInput, "pixels", services, input_monitor),
                      {.name = "predict"}),
      hooks);
  for (int i = 0; i < batches; ++i) predictions.next_batch();
}

// There is no checkpoint, so the weights are the initial values.
void estimator(int batches) {
  const auto log = make_stderr_logger(LogFormat::kText, LogLevel::kWarning, system_clock());
  EstimatorSetup options;
  options.plugins = default_plugins();
  options.plugins.push_back(&belay_module_v0);
  options.model_dir = "/there/is/none";
  options.config = RunConfig({.threads = 1});
  options.logger = log.get();
  Estimator of_mlp(std::make_unique<Estimator::Insides>(
      [](const ModelArgs& model) {
        return EstimatorSpec(model, {.predictions = {{"logits", logits_of(model.feature())}}});
      },
      std::move(options)));
  EstimatorPredictions predictions = of_mlp.predict(input_plugin("pixels"));
  for (std::int64_t i = 0; i < batches * kBatch; ++i) predictions.next();
  predictions.close();
}

}  // namespace
}  // namespace belay::runtime

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  const int batches = argc == 3 ? std::atoi(argv[2]) : 0;
  if (mode == "forward") {
    belay::runtime::forward(batches);
  } else if (mode == "predict") {
    belay::runtime::predict(batches);
  } else if (mode == "estimator") {
    belay::runtime::estimator(batches);
  } else {
    std::cerr << "use: bench_predict forward|predict|estimator BATCHES\n";
    return 2;
  }
  return 0;
}
