#include <belay/plugin.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace {

using belay::Code;

std::string number_text(double v) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), v, std::chars_format::general, 6).ptr);
}

// Looks at a value every so many steps and counts the looks since it was best. NaN is never better.
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

  explicit EarlyStopping(const Options& o) : o_(o), timer_({}, o.every_n_steps) {}

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
    if (looks_without_ >= o_.patience) session.coordinator().request_stop(reason());
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
    look(value.number(0), step);
    if (looks_without_ >= o_.patience) run.request_stop(reason());
  }

  void save_state(belay::StateWriter& state) const override {
    state.put("looks_without", looks_without_);
    if (best_) {
      state.put("best", *best_);
      state.put("best_step", best_step_);
    }
    timer_.save(state, host().monotonic());
  }
  void load_state(const belay::StateReader& state) override {
    looks_without_ = state.integer("looks_without");
    best_.reset();
    if (state.has("best")) best_ = state.number("best");
    best_step_ = state.integer("best_step");
    timer_.load(state, host().monotonic());
  }

 private:
  void look(double value, std::int64_t step) {
    if (is_better(value)) {
      best_ = value;
      best_step_ = step;
      looks_without_ = 0;
    } else {
      ++looks_without_;
    }
  }
  bool is_better(double value) const {
    if (std::isnan(value)) return false;
    if (!best_) return true;
    return o_.mode == "min" ? value < *best_ - o_.min_delta : value > *best_ + o_.min_delta;
  }
  std::string reason() const {
    std::string text = "'" + o_.tensor.string() + "' has not improved for " + std::to_string(looks_without_) + " looks";
    if (best_) text += "; best " + number_text(*best_) + " at step " + std::to_string(best_step_);
    return text + " (patience = " + std::to_string(o_.patience) + ")";
  }

  const Options o_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  belay::Output tensor_;
  std::optional<double> best_;
  std::int64_t best_step_ = 0;
  std::int64_t looks_without_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", EarlyStopping)
