// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/watched_metric.h>

#include <cmath>
#include <string>

namespace {

// Its state is the last evaluation that it used. So a resumed run sets the variable after the same evaluations.
class AssignMetric final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor;
    belay::Str variable;
  };
  static constexpr auto about = belay::about(
      "assign_metric", "Gives a variable the value of a metric after each evaluation",
      belay::option("tensor", &Options::tensor, "metric of the evaluation, such as \"eval/best_threshold\"")
          .required()
          .example("loss"),
      belay::option("variable", &Options::variable, "name of a float32 scalar variable that is not trained")
          .required()
          .example("learning_rate"));

  explicit AssignMetric(const Options& o) : o_(o), metric_(o.tensor.string(), 1) {}

  void begin(belay::Graph& graph) override {
    try {
      metric_.begin(graph, "assign_metric", "the variable '" + o_.variable.string() + "' keeps its value");
    } catch (const belay::Error& e) {
      belay::fail(e.code(), std::string(e.message()) + "; the variable '" + o_.variable.string() +
                                "' gets its value from evaluations, so the "
                                "manifest needs the evaluation's input, and every_steps in [eval]");
    }
    value_ = belay::Fetch<float>(graph.fetch<float>(o_.variable));
  }
  void after_create_session(belay::Session& session) override { metric_.session_created(session); }
  belay::RunArgs before_run(belay::RunContext&) override { return metric_.fetches(); }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (const auto look = metric_.look(run.session(), values, host())) assign(run.session(), look->value);
  }
  void save_state(belay::StateWriter& state) const override { metric_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { metric_.load(state, host()); }

 private:
  // The variable keeps its value if the metric is not finite, since a checkpoint must be usable.
  void assign(const belay::Session& session, double metric) const {
    const auto value = static_cast<float>(metric);
    if (!std::isfinite(value) || session.value(value_) == value) return;
    session.assign(o_.variable, belay::Tensor(value));
  }

  const Options o_;
  belay::WatchedMetric metric_;
  belay::Fetch<float> value_;
};

}  // namespace

BELAY_MODULE("1.0.0", AssignMetric)
