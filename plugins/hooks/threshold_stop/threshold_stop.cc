// SPDX-License-Identifier: Apache-2.0
#include <belay/better.h>
#include <belay/plugin.h>
#include <belay/watched_metric.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace {

using belay::Better;
using belay::Code;

class ThresholdStop final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    belay::Str mode = "auto";
    std::optional<double> target;
    std::optional<double> diverged;
    std::int64_t patience = 1;
    std::int64_t every_n_steps = 100;
    std::int64_t start_from_step = 0;
  };
  static constexpr auto about = belay::about(
      "threshold_stop", "Stops the run when a metric has reached its target, or fails it when the metric has diverged",
      belay::option("tensor", &Options::tensor,
                    "scalar to watch: \"loss\" of each step, or a metric of the evaluation such as \"eval/loss\"")
          .watching(),
      belay::option("mode", &Options::mode,
                    "min: smaller values are better; max: larger values are better; auto: the scalar's name decides")
          .choices("auto", "min", "max")
          .watching(),
      belay::option("target", &Options::target, "the run stops when the value is this or better")
          .watching()
          .example(0.1),
      belay::option("diverged", &Options::diverged,
                    "the run fails with status 4 when the value is worse than this, or NaN")
          .watching(),
      belay::option("patience", &Options::patience, "checks in a row beyond a limit before the hook acts")
          .min(1)
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps,
                    "period of the checks, in steps; a metric of the evaluation is checked at each new value instead")
          .min(1)
          .watching(),
      belay::option("start_from_step", &Options::start_from_step, "global step at which the checks begin")
          .min(0)
          .watching());

  explicit ThresholdStop(const Options& o) : o_(o), metric_(o.tensor.string(), o.every_n_steps, o.start_from_step) {
    if (!o.target && !o.diverged) belay::fail(Code::kInvalidArgument, "give 'target', 'diverged' or both");
  }

  void begin(belay::Graph& graph) override {
    metric_.begin(graph, "threshold_stop", "the target is not reached");
    better_ = belay::better_by_mode(o_.mode, o_.tensor);
    const auto worse = [&](double a, double b) { return better_ == Better::kSmaller ? a > b : a < b; };
    if (o_.target && o_.diverged && !worse(*o_.diverged, *o_.target))
      belay::fail(Code::kInvalidArgument, "'diverged' is " + belay::rounded_text(*o_.diverged) +
                                              ", which is no worse than 'target', " + belay::rounded_text(*o_.target));
  }

  void after_create_session(belay::Session& session) override {
    metric_.session_created(session);
    // If a run has reached its target and is started again, it makes no step, unless the target changes.
    if (last_ && reached()) session.coordinator().request_stop(reached_text());
  }

  belay::RunArgs before_run(belay::RunContext&) override { return metric_.fetches(); }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto look = metric_.look(run.session(), values, host());
    if (!look) return;
    last_ = look;
    at_target_ = is_at_target() ? at_target_ + 1 : 0;
    is_beyond_ = is_diverged() ? is_beyond_ + 1 : 0;
    if (is_beyond_ >= o_.patience)
      belay::fail(Code::kDiverged, "[B5043] " + value_text() + ": training has diverged (diverged = " +
                                       belay::rounded_text(*o_.diverged) + patience_text() + ")");
    if (reached()) run.request_stop(reached_text());
  }

  void save_state(belay::StateWriter& state) const override {
    metric_.save(state, host());
    state.put("at_target", at_target_);
    state.put("beyond", is_beyond_);
    if (!last_) return;
    state.put("last_value", last_->value);
    state.put("last_step", last_->step);
  }
  void load_state(const belay::StateReader& state) override {
    metric_.load(state, host());
    at_target_ = state.integer("at_target");
    is_beyond_ = state.integer("beyond");
    last_.reset();
    if (state.has("last_step")) last_ = {state.number("last_value"), state.integer("last_step")};
  }

 private:
  bool is_at_target() const {
    if (!o_.target || std::isnan(last_->value)) return false;
    return better_ == Better::kSmaller ? last_->value <= *o_.target : last_->value >= *o_.target;
  }
  bool is_diverged() const {
    if (!o_.diverged) return false;
    if (std::isnan(last_->value)) return true;
    return better_ == Better::kSmaller ? last_->value > *o_.diverged : last_->value < *o_.diverged;
  }
  bool reached() const { return at_target_ >= o_.patience && is_at_target(); }
  std::string value_text() const {
    return "'" + metric_.name() + "' is " + belay::rounded_text(last_->value) + " at step " +
           std::to_string(last_->step);
  }
  std::string patience_text() const { return o_.patience == 1 ? "" : ", patience = " + std::to_string(o_.patience); }
  std::string reached_text() const {
    return value_text() + ", the target is reached (target = " + belay::rounded_text(*o_.target) + patience_text() +
           ")";
  }

  const Options o_;
  belay::WatchedMetric metric_;
  Better better_ = Better::kSmaller;
  std::optional<belay::WatchedMetric::Look> last_;
  std::int64_t at_target_ = 0;  // number of consecutive looks at the target
  std::int64_t is_beyond_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", ThresholdStop)
