// SPDX-License-Identifier: Apache-2.0
// An Estimator of a program's own functions, with the clock, the log and the directory of the test.
#pragma once

#include <belay/runtime/model_exporter.h>
#include <belay/runtime/train_and_evaluate.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/estimator/estimator_fixture.h"

namespace belay {

// The arguments of a call of an exporter: the step of the checkpoint, and whether it was the last.
using Exports = std::vector<std::pair<std::int64_t, bool>>;

class KeepingExporter final : public ModelExporter {
 public:
  KeepingExporter(std::string name, Exports& exports) : name_(std::move(name)), exports_(exports) {}
  std::string name() const override { return name_; }
  std::string export_model(const ModelExport& model) override {
    const std::int64_t step = TensorView(model.metrics.at("global_step")).scalar<std::int64_t>();
    exports_.emplace_back(step, model.is_final);
    return model.directory + "/" + std::to_string(step);
  }

 private:
  const std::string name_;
  Exports& exports_;
};

// Calls f after each run.
class Behind final : public Hook {
 public:
  explicit Behind(std::function<void()> f) : f_(std::move(f)) {}
  void after_run(RunContext&, const RunValues&) override { f_(); }

 private:
  const std::function<void()> f_;
};

class ProgramEstimatorTest : public runtime::testing::EstimatorTest {
 protected:
  using Insides = Estimator::Insides;

  std::unique_ptr<Estimator> estimator(runtime::RunConfigOptions config = {.save_checkpoints_steps = 10}) {
    return std::make_unique<Estimator>(std::make_unique<Insides>(ModelFn(counting), options(std::move(config))));
  }
  // In a task, as in the environment: {"cluster": ..., "task": ...}.
  std::unique_ptr<Estimator> task(const std::string& json,
                                  runtime::RunConfigOptions config = {.save_checkpoints_steps = 10}) {
    runtime::EstimatorSetup o = options();
    config.threads = 1;
    o.config = runtime::RunConfig(std::move(config), runtime::testing::variables({{"BELAY_CONFIG", json}}));
    return std::make_unique<Estimator>(std::make_unique<Insides>(ModelFn(counting), std::move(o)));
  }
  static std::string alone(const std::string& job) {
    return R"({"cluster": {")" + job + R"(": ["localhost:0"]}, "task": {"type": ")" + job + R"(", "index": 0}})";
  }
  static constexpr const char* kEvaluator =
      R"({"cluster": {"chief": ["localhost:0"]}, "task": {"type": "evaluator", "index": 0}})";

  // Never ends.
  static InputResult ones(const InputArgs& in) {
    return {.features = {{"x", ops::constant(in.graph, Tensor({1, 1}, {1.0f}))}}};
  }
  static EstimatorSpec counting(const ModelArgs& m) {
    const Output one = ops::variable(m.graph, "one", Tensor(1.0f));
    EstimatorPieces p;
    p.predictions = {{"", m.feature() + one}};
    p.loss = ops::identity(one);
    p.train_op =
        ops::assign_add(m.graph.global_step_if_exists(), ops::constant(m.graph, Tensor(std::int64_t{1}))).operation();
    return {m, p};
  }
  static std::int64_t step_of(const EvalMetrics& metrics) {
    return TensorView(metrics.at("global_step")).scalar<std::int64_t>();
  }

  ModelExporters keeping(const std::vector<std::string>& names = {"kept"}) {
    ModelExporters all;
    for (const std::string& name : names) all.push_back(std::make_shared<KeepingExporter>(name, exports));
    return all;
  }
  // One step of evaluation after each checkpoint, exported.
  EvalSpecOptions at_once() { return {.steps = 1, .exporters = keeping(), .start_delay_secs = 0, .throttle_secs = 0}; }
  OwnHook behind(const std::string& name, std::function<void()> f) {
    return own_hook(name, [f = std::move(f)] { return std::make_unique<Behind>(f); });
  }
  void pass(std::int64_t seconds) { clock.advance(seconds * 1'000'000'000); }

  Exports exports;
};

}  // namespace belay
