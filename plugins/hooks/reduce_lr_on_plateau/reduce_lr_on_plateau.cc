// SPDX-License-Identifier: Apache-2.0
#include <belay/improvement.h>
#include <belay/plugin.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

namespace {

using belay::Code;

std::string number_text(double v) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), v, std::chars_format::general, 6).ptr);
}

class ReduceLrOnPlateau final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    belay::Str mode = "min";
    double factor = 0.1;
    std::int64_t patience = 10;
    double min_delta = 1e-4;
    std::int64_t cooldown = 0;
    double min_scale = 0;
    std::int64_t every_n_steps = 100;
    belay::Str variable = "learning_rate_scale";
  };
  static constexpr auto about = belay::about(
      "reduce_lr_on_plateau", "Lowers the learning rate when a tensor has not improved for some time",
      belay::option("tensor", &Options::tensor, "the scalar to watch"),
      belay::option("mode", &Options::mode, "whether smaller or larger values are better").choices("min", "max"),
      belay::option("factor", &Options::factor, "what the learning rate is multiplied by").range(1e-6, 0.999999),
      belay::option("patience", &Options::patience, "lower it after so many looks without an improvement").min(1),
      belay::option("min_delta", &Options::min_delta, "an improvement is a change by more than this").min(0),
      belay::option("cooldown", &Options::cooldown, "after lowering it, do not count for so many looks").min(0),
      belay::option("min_scale", &Options::min_scale, "never below this part of the manifest's learning rate")
          .range(0, 1),
      belay::option("every_n_steps", &Options::every_n_steps, "look every so many steps").min(1),
      belay::option("variable", &Options::variable, "the variable that scales the learning rate"));

  explicit ReduceLrOnPlateau(const Options& o)
      : o_(o),
        timer_({}, o.every_n_steps),
        improvement_(o.mode == "min" ? belay::Improvement::Better::kSmaller : belay::Improvement::Better::kLarger,
                     o.min_delta) {}

  void begin(belay::Graph& graph) override {
    tensor_ = graph.fetch(graph.find(o_.tensor));
    if (tensor_.is_operation() || tensor_.rank() > 0 || tensor_.dtype() == belay::DType::kString)
      belay::fail(Code::kInvalidArgument,
                  "reduce_lr_on_plateau watches a scalar number, " + tensor_.text() + " is none");
    step_ = belay::GlobalStep(graph);
    scale_ = belay::Fetch<float>(graph.fetch<float>(o_.variable));
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step_.read(session)) timer_.reset();
  }

  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch(), tensor_}; }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (!timer_.should_trigger_for_step(step_.predicted(values), host())) return;
    const std::int64_t step = step_.read(run.session());
    if (!timer_.should_trigger_for_step(step, host())) return;
    timer_.update_last_triggered_step(step, host().monotonic());
    const belay::TensorView value = values[tensor_];
    if (value.size() != 1)
      belay::fail(Code::kInvalidArgument, "reduce_lr_on_plateau watches a scalar, " + tensor_.text() +
                                              " had the shape " + belay::dims_text(value.dims()));
    improvement_.look(value.number(0), step);
    if (cooldown_left_ > 0) {
      --cooldown_left_;
      improvement_.restart();
    }
    if (improvement_.looks_without() >= o_.patience) lower(run.session(), step);
  }

  void save_state(belay::StateWriter& state) const override {
    improvement_.save(state);
    state.put("cooldown_left", cooldown_left_);
    timer_.save(state, host().monotonic());
  }
  void load_state(const belay::StateReader& state) override {
    improvement_.load(state);
    cooldown_left_ = state.integer("cooldown_left");
    timer_.load(state, host().monotonic());
  }

 private:
  // The scale itself is a variable of the model, and so in the checkpoint.
  void lower(const belay::Session& session, std::int64_t step) {
    const double old_scale = static_cast<double>(session.value(scale_));
    const double new_scale = std::max(old_scale * o_.factor, o_.min_scale);
    improvement_.restart();
    cooldown_left_ = o_.cooldown;
    if (new_scale >= old_scale) return;
    session.assign(o_.variable, belay::Tensor(static_cast<float>(new_scale)));
    host().info("'" + o_.tensor.string() + "' has not improved for " + std::to_string(o_.patience) + " looks at step " +
                std::to_string(step) + "; the learning rate is now " + number_text(new_scale) + " of the manifest's");
  }

  const Options o_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  belay::Output tensor_;
  belay::Fetch<float> scale_;
  belay::Improvement improvement_;
  std::int64_t cooldown_left_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", ReduceLrOnPlateau)
