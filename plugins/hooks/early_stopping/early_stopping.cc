// SPDX-License-Identifier: Apache-2.0
#include <belay/improvement.h>
#include <belay/plugin.h>

#include <charconv>
#include <cstdint>
#include <string>

namespace {

using belay::Code;

std::string number_text(double v) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), v, std::chars_format::general, 6).ptr);
}

class EarlyStopping final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    belay::Str mode = "min";
    std::int64_t patience = 5;
    double min_delta = 0;
    std::int64_t every_n_steps = 100;
    std::int64_t start_from_step = 0;
  };
  static constexpr auto about = belay::about(
      "early_stopping", "Stops the run when a tensor has not improved for some time",
      belay::option("tensor", &Options::tensor, "the scalar to watch"),
      belay::option("mode", &Options::mode, "whether smaller or larger values are better").choices("min", "max"),
      belay::option("patience", &Options::patience, "stop after so many looks without an improvement").min(1),
      belay::option("min_delta", &Options::min_delta, "an improvement is a change by more than this").min(0),
      belay::option("every_n_steps", &Options::every_n_steps, "look every so many steps").min(1),
      belay::option("start_from_step", &Options::start_from_step, "do not look before this global step").min(0));

  explicit EarlyStopping(const Options& o)
      : o_(o),
        timer_({}, o.every_n_steps),
        improvement_(o.mode == "min" ? belay::Improvement::Better::kSmaller : belay::Improvement::Better::kLarger,
                     o.min_delta) {}

  void begin(belay::Graph& graph) override {
    tensor_ = graph.fetch(graph.find(o_.tensor));
    if (tensor_.is_operation() || tensor_.rank() > 0 || tensor_.dtype() == belay::DType::kString)
      belay::fail(Code::kInvalidArgument, "early_stopping watches a scalar number, " + tensor_.text() + " is none");
    step_ = belay::GlobalStep(graph);
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step_.read(session)) timer_.reset();
    // A run that was stopped by this and is started again makes no step, unless it is given more patience.
    if (improvement_.looks_without() >= o_.patience) session.coordinator().request_stop(reason());
  }

  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch(), tensor_}; }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const std::int64_t predicted = step_.predicted(values);
    if (predicted < o_.start_from_step || !timer_.should_trigger_for_step(predicted, host())) return;
    const std::int64_t step = step_.read(run.session());
    if (step < o_.start_from_step || !timer_.should_trigger_for_step(step, host())) return;
    timer_.update_last_triggered_step(step, host().monotonic());
    const belay::TensorView value = values[tensor_];
    if (value.size() != 1)
      belay::fail(Code::kInvalidArgument, "early_stopping watches a scalar, " + tensor_.text() + " had the shape " +
                                              belay::dims_text(value.dims()));
    improvement_.look(value.number(0), step);
    if (improvement_.looks_without() >= o_.patience) run.request_stop(reason());
  }

  void save_state(belay::StateWriter& state) const override {
    improvement_.save(state);
    timer_.save(state, host().monotonic());
  }
  void load_state(const belay::StateReader& state) override {
    improvement_.load(state);
    timer_.load(state, host().monotonic());
  }

 private:
  std::string reason() const {
    std::string text =
        "'" + o_.tensor.string() + "' has not improved for " + std::to_string(improvement_.looks_without()) + " looks";
    if (improvement_.best())
      text += "; best " + number_text(*improvement_.best()) + " at step " + std::to_string(improvement_.best_step());
    return text + " (patience = " + std::to_string(o_.patience) + ")";
  }

  const Options o_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  belay::Output tensor_;
  belay::Improvement improvement_;
};

}  // namespace

BELAY_MODULE("1.0.0", EarlyStopping)
