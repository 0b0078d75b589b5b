// SPDX-License-Identifier: Apache-2.0
#include <belay/improvement.h>
#include <belay/plugin.h>
#include <belay/watched_metric.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace {

class ReduceLrOnPlateau final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    belay::Str mode = "auto";
    double factor = 0.1;
    std::optional<std::int64_t> patience;
    std::optional<std::int64_t> patience_steps;
    double min_delta = 1e-4;
    std::int64_t cooldown = 0;
    double min_scale = 0;
    std::int64_t every_n_steps = 100;
    belay::Str variable = "learning_rate_scale";
  };
  static constexpr auto about = belay::about(
      "reduce_lr_on_plateau", "Lowers the learning rate when a tensor has not improved for some time",
      belay::option("tensor", &Options::tensor,
                    "scalar to watch: \"loss\" of each step, or a metric of the evaluation such as \"eval/loss\""),
      belay::option("mode", &Options::mode,
                    "min: smaller values are better; max: larger values are better; auto: the scalar's name decides")
          .choices("auto", "min", "max"),
      belay::option("factor", &Options::factor, "factor by which the learning rate is multiplied")
          .range(1e-6, 0.999999),
      belay::option("patience", &Options::patience,
                    "checks without an improvement before the rate is lowered; 10 if patience_steps is not set")
          .min(1),
      belay::option("patience_steps", &Options::patience_steps,
                    "steps without an improvement, or since the rate was lowered last, before it is lowered")
          .min(1),
      belay::option("min_delta", &Options::min_delta, "a change is an improvement only if it is larger than this")
          .min(0),
      belay::option("cooldown", &Options::cooldown, "checks that do not count after the rate was lowered").min(0),
      belay::option("min_scale", &Options::min_scale,
                    "lower limit of the rate, as a share of the manifest's learning rate")
          .range(0, 1),
      belay::option("every_n_steps", &Options::every_n_steps,
                    "period of the checks, in steps; a metric of the evaluation is checked at each new value instead")
          .min(1),
      belay::option("variable", &Options::variable, "name of the variable that scales the learning rate"));

  explicit ReduceLrOnPlateau(const Options& o)
      : o_(o),
        patience_(o.patience || o.patience_steps ? o.patience : std::int64_t{10}),
        metric_(o.tensor.string(), o.every_n_steps),
        improvement_(belay::Better::kSmaller, o.min_delta) {}

  void begin(belay::Graph& graph) override {
    metric_.begin(graph, "reduce_lr_on_plateau");
    improvement_.set_better(belay::better_by_mode(o_.mode, o_.tensor));
    scale_ = belay::Fetch<float>(graph.fetch<float>(o_.variable));
  }

  void after_create_session(belay::Session& session) override { metric_.session_created(session); }

  belay::RunArgs before_run(belay::RunContext&) override { return metric_.fetches(); }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto look = metric_.look(run.session(), values, host());
    if (!look) return;
    improvement_.look(look->value, look->step);
    if (cooldown_left_ > 0) {
      --cooldown_left_;
      improvement_.restart(look->step);
    }
    const std::string for_how_long = patience_is_over(look->step);
    if (!for_how_long.empty()) lower(run.session(), look->step, for_how_long);
  }

  void save_state(belay::StateWriter& state) const override {
    improvement_.save(state);
    state.put("cooldown_left", cooldown_left_);
    metric_.save(state, host());
  }
  void load_state(const belay::StateReader& state) override {
    improvement_.load(state);
    cooldown_left_ = state.integer("cooldown_left");
    metric_.load(state, host());
  }

 private:
  // Returns the time without improvement, "10 looks" or "500 steps". Empty: patience is not over.
  std::string patience_is_over(std::int64_t step) const {
    if (patience_ && improvement_.looks_without() >= *patience_) return metric_.count_text(*patience_);
    const std::int64_t steps = improvement_.steps_without(step);
    return o_.patience_steps && steps >= *o_.patience_steps ? std::to_string(steps) + " steps" : "";
  }
  // The scale is a variable of the model, so checkpoints have it.
  void lower(const belay::Session& session, std::int64_t step, const std::string& for_how_long) {
    const double old_scale = static_cast<double>(session.value(scale_));
    const double new_scale = std::max(old_scale * o_.factor, o_.min_scale);
    improvement_.restart(step);
    cooldown_left_ = o_.cooldown;
    if (new_scale >= old_scale) return;
    session.assign(o_.variable, belay::Tensor(static_cast<float>(new_scale)));
    host().info("'" + metric_.name() + "' has not improved for " + for_how_long + " at step " + std::to_string(step) +
                "; the learning rate is now " + belay::rounded_text(new_scale) + " of the manifest's");
  }

  const Options o_;
  const std::optional<std::int64_t> patience_;
  belay::WatchedMetric metric_;
  belay::Fetch<float> scale_;
  belay::Improvement improvement_;
  std::int64_t cooldown_left_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", ReduceLrOnPlateau)
