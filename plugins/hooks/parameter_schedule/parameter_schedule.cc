// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using belay::Code;
using belay::DType;

class ParameterSchedule final : public belay::Hook {
 public:
  struct Options {
    belay::Str variable;
    belay::List<std::int64_t> steps;
    belay::List<double> values;
    bool linear = false;
  };
  static constexpr auto about = belay::about(
      "parameter_schedule",
      "Sets a scalar variable by the global step, such as a rate, a share or a temperature of the model",
      belay::option("variable", &Options::variable, "name of the float variable's node")
          .required()
          .example("learning_rate_scale"),
      belay::option("steps", &Options::steps, "global steps in ascending order").required().example(0),
      belay::option("values", &Options::values,
                    "values of the variable, one for each of the steps, from that step on; before the first step it "
                    "keeps its own value")
          .required()
          .example(1.0),
      belay::option(
          "linear", &Options::linear,
          "true: the value changes evenly from one of the steps to the next; false: it jumps at each of them"));

  explicit ParameterSchedule(const Options& o)
      : variable_(o.variable.string()),
        steps_(o.steps.begin(), o.steps.end()),
        values_(o.values.begin(), o.values.end()),
        linear_(o.linear) {
    if (steps_.empty() || steps_.size() != values_.size())
      belay::fail(Code::kInvalidArgument, "'steps' has " + std::to_string(steps_.size()) + " elements and 'values' " +
                                              std::to_string(values_.size()) + "; give a value for each step");
    if (std::adjacent_find(steps_.begin(), steps_.end(), std::greater_equal<>()) != steps_.end())
      belay::fail(Code::kInvalidArgument, "'steps' must rise from each element to the next");
  }

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    const belay::Output found = graph.find(variable_);
    const bool is_float = found.dtype() == DType::kFloat32 || found.dtype() == DType::kFloat64;
    if (found.is_operation() || !is_float || found.rank() != 0)
      belay::fail(Code::kInvalidArgument,
                  "parameter_schedule sets a float scalar variable, " + found.text() + " is none");
    name_ = graph.node_name_of(found);
    value_ = belay::Tensor(found.dtype(), {});
    old_ = {};
  }
  // The checkpoint has the value that this hook, or a later one, set. The hook sets it again if the manifest now has
  // another value, and if the variables begin anew.
  void after_create_session(belay::Session& session) override {
    step_.forget();
    const std::int64_t step = step_.read(session);
    if (!std::exchange(loaded_, false) && step < last_step_) was_set_ = false;
    set(session, step);
  }
  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch()}; }
  // Sets the value for the next run. That run begins with the step that this run reached.
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    set(run.session(), step_.predicted(values));
  }

  void save_state(belay::StateWriter& state) const override {
    if (was_set_) state.put("value", old_);
  }
  void load_state(const belay::StateReader& state) override {
    was_set_ = state.has("value");
    old_ = state.number("value");
    loaded_ = true;
  }

 private:
  double value_at(std::int64_t step) const {
    const auto next = std::upper_bound(steps_.begin(), steps_.end(), step);
    const auto i = static_cast<std::size_t>(next - steps_.begin()) - 1;
    if (!linear_ || next == steps_.end()) return values_[i];
    const double way = static_cast<double>(step - steps_[i]) / static_cast<double>(*next - steps_[i]);
    return values_[i] + way * (values_[i + 1] - values_[i]);
  }
  void set(const belay::Session& session, std::int64_t step) {
    last_step_ = step;
    if (step < steps_[0]) return;
    const double value = value_at(step);
    if (was_set_ && value == old_) return;
    if (value_.dtype() == DType::kFloat32) {
      *static_cast<float*>(value_.view().data) = static_cast<float>(value);
    } else {
      *static_cast<double*>(value_.view().data) = value;
    }
    session.assign(name_, value_.view());
    was_set_ = true;
    old_ = value;
  }

  const std::string variable_;
  const std::vector<std::int64_t> steps_;
  const std::vector<double> values_;
  const bool linear_;
  belay::GlobalStep step_;
  std::string name_;
  belay::Tensor value_;
  bool was_set_ = false;
  double old_ = 0;              // the value that was set last
  std::int64_t last_step_ = 0;  // the step of the last look
  bool loaded_ = false;         // since the last session
};

}  // namespace

BELAY_MODULE("1.0.0", ParameterSchedule)
