// SPDX-License-Identifier: Apache-2.0
#include <belay/improvement.h>
#include <belay/plugin.h>
#include <belay/watched_metric.h>

#include <cstdint>
#include <optional>
#include <string>

namespace {

class EarlyStopping final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    belay::Str mode = "auto";
    std::optional<std::int64_t> patience;
    std::optional<std::int64_t> patience_steps;
    double min_delta = 0;
    std::optional<double> higher_than;
    std::optional<double> lower_than;
    std::int64_t every_n_steps = 100;
    std::int64_t start_from_step = 0;
  };
  static constexpr auto about = belay::about(
      "early_stopping", "Stops the run when a metric has not improved for some time, or is beyond a limit",
      belay::option("tensor", &Options::tensor,
                    "scalar to watch: \"loss\" of each step, or a metric of the evaluation such as \"eval/loss\"")
          .watching(),
      belay::option("mode", &Options::mode,
                    "min: smaller values are better; max: larger values are better; auto: the scalar's name decides")
          .choices("auto", "min", "max")
          .watching(),
      belay::option("patience", &Options::patience,
                    "checks without an improvement before the run stops; 5 if no other condition is set")
          .min(1)
          .watching(),
      belay::option("patience_steps", &Options::patience_steps, "steps without an improvement before the run stops")
          .min(1)
          .watching(),
      belay::option("min_delta", &Options::min_delta, "a change is an improvement only if it is larger than this")
          .min(0)
          .watching(),
      belay::option("higher_than", &Options::higher_than, "the run stops when the value is higher than this")
          .watching(),
      belay::option("lower_than", &Options::lower_than, "the run stops when the value is lower than this").watching(),
      belay::option("every_n_steps", &Options::every_n_steps,
                    "period of the checks, in steps; a metric of the evaluation is checked at each new value instead")
          .min(1)
          .watching(),
      belay::option("start_from_step", &Options::start_from_step, "global step at which the checks begin")
          .min(0)
          .watching());

  explicit EarlyStopping(const Options& o)
      : o_(o),
        patience_(o.patience || o.patience_steps || o.higher_than || o.lower_than ? o.patience : std::int64_t{5}),
        metric_(o.tensor.string(), o.every_n_steps, o.start_from_step),
        improvement_(belay::Better::kSmaller, o.min_delta) {}

  void begin(belay::Graph& graph) override {
    metric_.begin(graph, "early_stopping");
    // If the hook watches only limits, nothing has to improve.
    if (patience_ || o_.patience_steps) improvement_.set_better(belay::better_by_mode(o_.mode, o_.tensor));
  }

  void after_create_session(belay::Session& session) override {
    metric_.session_created(session);
    // If this hook stopped a run and it is started again, it makes no step, unless it gets more patience.
    if (const std::string reason = reason_to_stop(); !reason.empty()) session.coordinator().request_stop(reason);
  }

  belay::RunArgs before_run(belay::RunContext&) override { return metric_.fetches(); }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto look = metric_.look(run.session(), values, host());
    if (!look) return;
    improvement_.look(look->value, look->step);
    last_ = look;
    if (const std::string reason = reason_to_stop(); !reason.empty()) run.request_stop(reason);
  }

  void save_state(belay::StateWriter& state) const override {
    improvement_.save(state);
    metric_.save(state, host());
    if (!last_) return;
    state.put("last_value", last_->value);
    state.put("last_step", last_->step);
  }
  void load_state(const belay::StateReader& state) override {
    improvement_.load(state);
    metric_.load(state, host());
    last_.reset();
    if (state.has("last_step")) last_ = {state.number("last_value"), state.integer("last_step")};
  }

 private:
  // Returns the reason after the last look; empty: there is none.
  std::string reason_to_stop() const {
    if (patience_ && improvement_.looks_without() >= *patience_)
      return not_improved(metric_.count_text(improvement_.looks_without()), "patience", *patience_);
    if (!last_) return "";
    const std::int64_t steps = improvement_.steps_without(last_->step);
    if (o_.patience_steps && steps >= *o_.patience_steps)
      return not_improved(std::to_string(steps) + " steps", "patience_steps", *o_.patience_steps);
    if (o_.higher_than && last_->value > *o_.higher_than) return beyond("higher_than", *o_.higher_than);
    if (o_.lower_than && last_->value < *o_.lower_than) return beyond("lower_than", *o_.lower_than);
    return "";
  }
  std::string not_improved(const std::string& for_how_long, const char* option, std::int64_t limit) const {
    std::string text = "'" + metric_.name() + "' has not improved for " + for_how_long;
    if (improvement_.best())
      text += "; best " + belay::rounded_text(*improvement_.best()) + " at step " +
              std::to_string(improvement_.best_step());
    else
      text += "; it was never a number";
    return text + " (" + option + " = " + std::to_string(limit) + ")";
  }
  std::string beyond(const char* option, double limit) const {
    return "'" + metric_.name() + "' is " + belay::rounded_text(last_->value) + " at step " +
           std::to_string(last_->step) + " (" + option + " = " + belay::rounded_text(limit) + ")";
  }

  const Options o_;
  const std::optional<std::int64_t> patience_;
  belay::WatchedMetric metric_;
  belay::Improvement improvement_;
  std::optional<belay::WatchedMetric::Look> last_;
};

}  // namespace

BELAY_MODULE("1.0.0", EarlyStopping)
