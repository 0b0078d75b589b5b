// SPDX-License-Identifier: Apache-2.0
// A model that declares all that a model may about its graph, and a hook of the same library.
#include <belay/ops/math.h>
#include <belay/ops/metrics.h>
#include <belay/ops/reductions.h>
#include <belay/ops/summaries.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

namespace {

namespace ops = belay::ops;
using belay::Mode;
using belay::Output;

// Says what it is called with, and two variables: one that begins with the model's value, one of local init.
class Witness final : public belay::Hook {
 public:
  struct Options {
    belay::Str says = "nothing";
  };
  static constexpr auto about = belay::about(
      "witness", "Says what happens to it", belay::option("says", &Options::says, "what it says of itself").watching());
  explicit Witness(const Options& o) : says_(o.says.view()) {}

  void begin(belay::Graph& graph) override {
    slope_ = graph.find("slope");
    table_ = graph.find("table");
  }
  void after_create_session(belay::Session& session) override {
    const belay::RunResult values = session.run({slope_, table_});
    host().info(says_ + ": slope " + std::to_string(values[0].number(0)) + ", table " +
                std::to_string(values[1].number(0)));
  }
  void after_run(belay::RunContext&, const belay::RunValues&) override { ++runs_; }
  void end(belay::Session&) override { host().info(says_ + ": " + std::to_string(std::exchange(runs_, 0)) + " runs"); }

 private:
  const std::string says_;
  Output slope_, table_;
  int runs_ = 0;
};

class Whole final : public belay::Model {
 public:
  struct Options {
    belay::Str wrong = "nothing";
    bool queries = false;
    bool summary = false;
  };
  static constexpr auto about =
      belay::about("whole", "A line, with all that a model may say of its graph",
                   belay::option("wrong", &Options::wrong, "what it does wrong").watching(),
                   belay::option("queries", &Options::queries, "brings the hook c_queries in each mode").watching(),
                   belay::option("summary", &Options::summary, "has summaries of its own").watching());
  explicit Whole(const Options& o) : wrong_(o.wrong.view()), queries_(o.queries), summary_(o.summary) {}

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const Output x = model.feature();  // [examples, 4]
    const Output slope = ops::variable(g, "slope", belay::Tensor(1.0f));
    const Output y = ops::reduce_sum(x, {1}) * slope + ops::variable(g, "offset", belay::Tensor(0.5f));
    model.prediction("y", y);
    if (model.mode() != Mode::kPredict) {
      const Output loss = ops::reduce_mean(ops::square(y - model.label()));
      model.loss(loss);
      if (model.mode() == Mode::kEval) {
        const ops::Metric mean = ops::metrics::mean(y);
        model.metric("mean_y", mean.value, mean.update);
      }
    }
    bring_pieces(model, slope);
    bring_signatures(model, x, y);
    bring_hooks(model);
  }

  bool initial_value(std::string_view variable, const belay::TensorView& value) override {
    host().info("asked for " + std::string(variable));
    if (wrong_ == "initial value") belay::fail(belay::Code::kNotFound, "no file with values");
    if (wrong_ == "initial step" && variable == "global_step") {
      value.data<std::int64_t>()[0] = -1000;
      return true;
    }
    if (variable != "slope") return false;
    value.data<float>()[0] = 2.5f;
    return true;
  }

 private:
  void bring_pieces(belay::ModelContext& model, const Output& slope) const {
    const belay::Graph& g = model.graph();
    // Without an initializer: the local init operation is what fills it.
    const Output table =
        g.node("Variable", "table").attr("dtype", belay::DType::kFloat32).attr("shape", belay::Dims{}).output();
    g.collect(belay::collections::kLocalVariables, table);
    model.local_init_op(ops::assign(table, ops::constant(g, 7.0f), "fill_table"));
    model.ready_op(ops::report_uninitialized_variables(g, {slope, table}, "not_ready"));
    model.ready_for_local_init_op(ops::report_uninitialized_variables(g, {slope}, "not_ready_for_local_init"));
    if (summary_) model.summary_op(ops::merge_summary(g, {ops::scalar_summary("slope", slope)}, "own_summaries"));
    if (wrong_ == "two ready ops") model.ready_op(ops::report_uninitialized_variables(g, {slope}, "again"));
  }

  void bring_signatures(belay::ModelContext& model, const Output& x, const Output& y) const {
    model.signature({"serving_default", "predict", {{"x", x}}, {{"y", y}}});
    model.signature({"regression", "regress", {{"inputs", x}}, {{"outputs", y}}});
    if (wrong_ == "signature twice") model.signature({"regression", "predict", {{"x", x}}, {{"y", y}}});
    if (wrong_ == "method") model.signature({"guess", "guess", {{"x", x}}, {{"y", y}}});
    if (wrong_ == "unknown output") model.signature({"more", "predict", {{"x", x}}, {{"z", Output()}}});
    if (wrong_ == "output twice") model.signature({"more", "predict", {{"x", x}}, {{"y", y}, {"y", x}}});
  }

  void bring_hooks(belay::ModelContext& model) const {
    const char* mode = model.training() ? "training" : model.mode() == Mode::kEval ? "evaluation" : "prediction";
    model.hook({"witness", {{"says", mode}}, std::string("whole_") + mode});
    if (model.training()) model.hook({"witness", {{"says", "chief"}}, "whole_chief", true});
    if (queries_) model.hook({"c_queries", {}, std::string("queries_") + mode});
    if (wrong_ == "no such hook") model.hook({"witnes"});
    if (wrong_ == "no such option") model.hook({"witness", {{"sais", "x"}}});
    if (wrong_ == "taken name") model.hook({"witness", {}, "nan_tensor"});
    if (wrong_ == "hook twice") model.hook({"witness", {}, std::string("whole_") + mode});
  }

  const std::string wrong_;
  const bool queries_, summary_;
};

}  // namespace

BELAY_MODULE("1.0.0", Whole, Witness)
