// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/schedule_driver.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "belay/ops/variables.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/learning_rate.h"
#include "runtime/session/direct_session.h"
#include "runtime/testing/module_instance.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct ScheduleDriver::Engine {
  Engine(const belay_module& module, const std::string& plugin, const OptionValues& options)
      : schedule(runtime::PluginKind::kSchedule, module, plugin, options),
        ops(runtime::make_op_registry()),
        graph(*ops) {}

  void build() {
    const Graph g = graph.handle();
    runtime::add_learning_rate(g, settings, ops::create_global_step(g), &*schedule);
    rate = g.find("learning_rate_schedule/base_learning_rate");  // before its check: a test sees NaN and infinity
    graph.finalize();
    session = std::make_shared<runtime::DirectSession>(graph, store, runtime::DirectSessionOptions{});
    session->run_once(graph.collection("variable_init"));
  }

  runtime::ModuleInstance schedule;
  runtime::LearningRate settings;
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::NodeGraph graph;
  Output rate;
  std::shared_ptr<runtime::VariableStore> store = std::make_shared<runtime::VariableStore>();
  std::shared_ptr<runtime::DirectSession> session;
};

ScheduleDriver::ScheduleDriver(const belay_module& module, const OptionValues& options, const std::string& plugin)
    : engine_(std::make_unique<Engine>(module, plugin, options)) {}

ScheduleDriver::~ScheduleDriver() = default;

void ScheduleDriver::learning_rate(double rate) {
  if (engine_->session != nullptr)
    fail(Code::kFailedPrecondition, "the graph is built: learning_rate comes before the first rate");
  engine_->settings.learning_rate = rate;
}

double ScheduleDriver::rate(std::int64_t global_step) {
  if (engine_->session == nullptr) engine_->build();
  engine_->store->assign("global_step", Tensor(global_step));
  const RunResult result = engine_->session->handle().run({engine_->rate}, {});
  return TensorView(result[0]).number(0);
}

double ScheduleDriver::worst_error(const std::function<double(double)>& formula) {
  double worst = 0;
  for (const std::int64_t step :
       {0, 1, 2, 9, 10, 11, 99, 100, 101, 150, 199, 200, 201, 250, 300, 301, 999, 1000, 1001, 123457, 16777217}) {
    const double wanted = formula(static_cast<double>(step)), got = rate(step);
    worst = std::max(worst, std::fabs(got - wanted) / std::max(std::fabs(wanted), 1e-30));
    if (!std::isfinite(got)) return got;
  }
  return worst;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
