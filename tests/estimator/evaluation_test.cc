// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluate.h"

#include <algorithm>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/plugin.h"
#include "runtime/loader/registry.h"
#include "tests/monitored/monitored_fixture.h"

namespace {

namespace ops = belay::ops;
using belay::Dims;
using belay::DType;
using belay::Output;
using belay::Tensor;

// 1, 2, 3, 4, 5 in batches of two: the last one is smaller.
class Numbers final : public belay::Input {
 public:
  static constexpr auto about = belay::about("numbers", "Counts to five");

  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("x", DType::kFloat32, {-1}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::int64_t n = std::min<std::int64_t>(2, kLast - at_);
    if (n == 0) return false;
    float* x = batch.tensor(slot_, {n}).data<float>();
    for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(++at_);
    position = {0, at_};
    return true;
  }
  void seek(const belay::Position& position) override { at_ = position.index; }

 private:
  static constexpr std::int64_t kLast = 5;
  std::uint32_t slot_ = 0;
  std::int64_t at_ = 0;
};

// The loss is the mean of scale * x; two metrics by batches, one that counts in a variable of its own.
class Scaled final : public belay::Model {
 public:
  static constexpr auto about = belay::about("scaled", "Multiplies its input");

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    ops::get_or_create_global_step(g);
    const Output x = model.feature();
    const Output scale = ops::variable(g, "scale", Tensor(1.0f));
    const Output total = ops::variable(g, "total", Tensor(0.0f), ops::VariableKind::kLocal);
    model.loss(ops::reduce_mean(x * scale));
    model.metric("largest", ops::reduce_max(x));
    model.metric("total", total, ops::assign_add(total, ops::reduce_sum(x)));
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Numbers, Scaled)

namespace belay::runtime::testing {
namespace {

using Metrics = std::vector<std::pair<std::string, double>>;

class Evaluation : public MonitoredTest {
 protected:
  Evaluation() {
    registry.add_linked(&belay_module_v0);
    input = InputFeed::open(create(PluginKind::kInput, "numbers", input_monitor), {.name = "eval"});
    model = &create(PluginKind::kModel, "scaled", monitor);
    trained.find_or_create("scale", DType::kFloat32, {}, true);
    trained.find_or_create("global_step", DType::kInt64, {}, false);
    set("scale", Tensor(2.0f));
    set("global_step", Tensor(std::int64_t{70}));
  }
  PluginInstance& create(PluginKind kind, const std::string& name, CallMonitor& of) {
    const RegisteredPlugin* plugin = registry.find(kind, name, "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = name;
    return instances.create(*plugin, resolved, services, of);
  }
  void set(const std::string& name, const Tensor& value) { trained.assign(name, TensorView(value.view())); }
  EvalResult run(const std::function<bool()>& keep_going = [] { return true; }) {
    return evaluate(*ops, environment, *model, input, trained, keep_going);
  }

  CallMonitor input_monitor;
  std::shared_ptr<InputFeed> input;
  PluginInstance* model = nullptr;
  VariableStore trained;
};

TEST_F(Evaluation, WeighsEachBatchByItsExamples) {
  const EvalResult result = run();
  EXPECT_EQ(result.global_step, 70);
  EXPECT_EQ(result.examples, 5);
  EXPECT_EQ(result.batches, 3);
  // Losses of the batches: 3, 7, 10; their largest numbers: 2, 4, 5.
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 6.0}, {"largest", 3.4}, {"total", 15.0}}));
}

TEST_F(Evaluation, BeginsAnewEachTimeWithTheVariablesOfThen) {
  run();
  set("scale", Tensor(3.0f));
  const EvalResult result = run();
  EXPECT_EQ(result.examples, 5);
  EXPECT_EQ(result.metrics, (Metrics{{"loss", 9.0}, {"largest", 3.4}, {"total", 15.0}}));
}

TEST_F(Evaluation, LeavesTheTrainedVariablesAlone) {
  const std::uint64_t version = trained.find("scale")->version;
  run();
  EXPECT_EQ(trained.find("scale")->version, version);
  EXPECT_EQ(trained.find("total"), nullptr);
  EXPECT_TRUE(trained.positions().empty());
}

TEST_F(Evaluation, AVariableThatTrainingHasNotGotIsAnError) {
  VariableStore without_scale;
  without_scale.find_or_create("global_step", DType::kInt64, {}, false);
  without_scale.assign("global_step", TensorView(Tensor(std::int64_t{1}).view()));
  EXPECT_EQ(error_of([&] { evaluate(*ops, environment, *model, input, without_scale, [] { return true; }); }),
            "FAILED_PRECONDITION: the model in mode eval has the variable 'scale', which training has not got; a model "
            "must make the same variables in both");
  trained.find("scale")->initialized = false;
  EXPECT_EQ(error_of([&] { run(); }),
            "FAILED_PRECONDITION: the model in mode eval has the variable 'scale', which training has not got; a model "
            "must make the same variables in both");
}

TEST_F(Evaluation, EndsBetweenTwoBatchesWhereItIsTold) {
  int asked = 0;
  EXPECT_EQ(error_of([&] { run([&] { return ++asked < 3; }); }), "CANCELLED: the evaluation was interrupted");
  EXPECT_EQ(asked, 3);
}

TEST(MetricsText, IsShort) {
  EvalResult result;
  EXPECT_EQ(metrics_text(result), "");
  result.metrics = {{"loss", 0.08123456789}, {"accuracy", 0.975}, {"count", 1e12}};
  EXPECT_EQ(metrics_text(result), "loss = 0.0812346, accuracy = 0.975, count = 1e+12");
}

}  // namespace
}  // namespace belay::runtime::testing
