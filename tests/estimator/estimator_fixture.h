// SPDX-License-Identifier: Apache-2.0
// A program with an Estimator: models that are small enough to know their results, and inputs that end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belay/ops/control.h"
#include "belay/ops/losses.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/summaries.h"
#include "belay/ops/variables.h"
#include "belay/testing/error_of.h"
#include "plugins/default_plugins.h"
#include "runtime/estimator/estimator/estimator.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/conformance/hooks_fixture.h"  // KeptLog

namespace belay::runtime::testing {

// Environment variables of a test.
inline Environment variables(std::map<std::string, std::string> all) {
  return [all = std::move(all)](const std::string& name) -> std::optional<std::string> {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  };
}

// With the log and the clock of the test.
class Estimator : public belay::Estimator {
 public:
  Estimator(ModelFn model, EstimatorSetup setup)
      : belay::Estimator(std::make_unique<Insides>(std::move(model), std::move(setup))) {}
};

class EstimatorTest : public ::testing::Test {
 protected:
  EstimatorSetup options(RunConfigOptions config = {}) {
    EstimatorSetup o;
    config.threads = 1;
    o.plugins = default_plugins();
    o.model_dir = temp / "model";
    o.config = RunConfig(std::move(config), variables({}));
    o.logger = &log;
    o.clock = &clock;
    return o;
  }
  OwnHook probe(const std::string& name) { return own_hook(name, std::make_unique<Probe>(name, timeline)); }
  int count(const std::string& event) const {
    return static_cast<int>(std::count(timeline.begin(), timeline.end(), event));
  }
  // Returns the log's lines about the run itself.
  std::string logged() const {
    std::string all;
    for (const std::string& text : log.of("")) all += text + "\n";
    return all;
  }
  static double number(const EvalMetrics& metrics, const std::string& name) {
    return TensorView(metrics.at(name)).number(0);
  }

  // ---- inputs
  static InputResult one(const InputArgs& in) {
    return {.features = {{"x", ops::constant(in.graph, Tensor({1, 1}, {1.0f}))}},
            .labels = {{"y", ops::constant(in.graph, Tensor({1, 1}, {10.0f}))}}};
  }
  static InputFn numbers(const Tensor& x, std::int64_t batch) {
    return tensor_input({{"x", x}}, {}, {.batch_size = batch});
  }
  static InputFn counted(std::int64_t n, std::int64_t batch) {
    std::vector<float> x;
    for (std::int64_t i = 1; i <= n; ++i) x.push_back(static_cast<float>(i));
    return numbers(Tensor({n, 1}, x), batch);
  }

  // ---- models
  // Counts steps. Its variables are 1 and 3; it predicts x + 2 * one, and the loss is that variable.
  static EstimatorSpec counting(const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 1, 3)); }
  static EstimatorPieces pieces(const ModelArgs& m, float one, float three) {
    const Graph& g = m.graph;
    const Output a = ops::variable(g, "one", Tensor(one));
    ops::variable(g, "three", Tensor(three));
    EstimatorPieces p;
    p.predictions = {{"", m.feature() + a * 2.0}};
    p.loss = ops::identity(a);
    p.train_op = ops::assign_add(g.global_step_if_exists(), ops::constant(g, Tensor(std::int64_t{1}))).operation();
    return p;
  }

  TempDir temp;
  JumpingClock clock;
  KeptLog log;
  Timeline timeline;
};

}  // namespace belay::runtime::testing
