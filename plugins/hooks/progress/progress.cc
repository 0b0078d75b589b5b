// SPDX-License-Identifier: Apache-2.0
#include <belay/log_fields.h>
#include <belay/plugin.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "../training_scalars.h"
#include "pace.h"

namespace {

using belay::Code;
using belay::Output;
using Seconds = std::chrono::duration<double>;

std::string fixed_text(double v, int decimals) {
  char text[400];  // room for the largest double
  return std::string(text, std::to_chars(text, text + sizeof(text), v, std::chars_format::fixed, decimals).ptr);
}
// Returns "0:42", "1:02:03" or "2d 03:04:05".
std::string clock_text(double seconds) {
  constexpr double kForever = 1000.0 * 86400;
  const auto s = static_cast<long>(std::clamp(seconds, 0.0, kForever) + 0.5);
  char text[64];
  if (s >= 86400) {
    std::snprintf(text, sizeof(text), "%ldd %02ld:%02ld:%02ld", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
  } else if (s >= 3600) {
    std::snprintf(text, sizeof(text), "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  } else {
    std::snprintf(text, sizeof(text), "%ld:%02ld", s / 60, s % 60);
  }
  return text;
}
// Returns "[===>      ]".
std::string bar_text(double part) {
  constexpr std::size_t kCells = 10;
  const auto full = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kCells);
  std::string cells(full, '=');
  if (full < kCells) cells += '>';
  cells.resize(kCells, ' ');
  return "[" + cells + "]";
}

// Averages about the last hundred values; earlier ones count less. At the start it is the mean of all values.
class RunningAverage {
 public:
  void add(double v) noexcept {
    if (!std::isfinite(v)) return;
    sum_ = kKeep * sum_ + v;
    weight_ = kKeep * weight_ + 1;
  }
  bool known() const noexcept { return weight_ > 0; }
  double value() const noexcept { return sum_ / weight_; }
  void save(belay::StateWriter& state) const {
    if (!known()) return;
    state.put("loss_sum", sum_);
    state.put("loss_weight", weight_);
  }
  void load(const belay::StateReader& state) {
    sum_ = state.number("loss_sum");
    weight_ = state.number("loss_weight");
  }

 private:
  static constexpr double kKeep = 0.99;
  double sum_ = 0, weight_ = 0;
};

class Progress final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    std::int64_t max_steps = 0;
    double every_percent = 10;
    double every_secs = 60;
  };
  static constexpr auto about = belay::about(
      "progress", "Shows the progress of the run, as a live line on a terminal or as lines of the log",
      belay::option("tensors", &Options::tensors,
                    "scalars to show; if empty, the loss, the model's metrics and the learning rate")
          .watching(),
      belay::option("max_steps", &Options::max_steps, "step at which the run will end; 0 means not known")
          .min(0)
          .watching(),
      belay::option("every_percent", &Options::every_percent, "period of the log lines, in per cent of max_steps")
          .range(0.01, 100)
          .watching(),
      belay::option("every_secs", &Options::every_secs,
                    "seconds without a log line after which the next run writes one")
          .min(0.1)
          .watching());

  explicit Progress(const Options& o)
      : max_steps_(o.max_steps), every_percent_(o.every_percent), every_(Seconds(o.every_secs)) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    shown_scalars_ = names_.empty() ? training_scalars(graph) : named_scalars(graph, names_, "progress");
    for (const NamedScalar& s : shown_scalars_) graph.fetch(s.output);
    loss_ = Output();
    for (const NamedScalar& s : shown_scalars_)
      if (s.name == "loss") loss_ = s.output;
    examples_ = ExamplesPerStep(graph, host());
    if (graph.global_step_if_exists()) global_step_.emplace(graph);
  }

  void after_create_session(belay::Session& session) override {
    interactive_ = host().interactive();
    line_step_ = global_step_ ? global_step_->read(session) : runs_;
    runs_ = line_step_;
    line_time_ = look_time_ = host().monotonic();
    runs_since_line_ = runs_since_look_ = 0;
    runs_per_look_ = 1;
    first_look_ = true;
    shows_next_ = true;  // true: the first run of a session
    fetches_all_ = false;
    last_shown_ = -1;
    set_next_mark(line_step_);
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    fetches_all_ = shows_next_ || line_step_ + (runs_since_line_ + 1) * steps_per_run_ >= next_mark_;
    if (!fetches_all_) {
      if (loss_) args.fetch(loss_);
      return args;
    }
    for (const NamedScalar& s : shown_scalars_) args.fetch(s.output);
    if (examples_.tensor()) args.fetch(examples_.tensor());
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (loss_) {
      last_loss_ = number(values[loss_], "loss");
      average_.add(last_loss_);
    }
    ++runs_, ++runs_since_line_, ++runs_since_look_;
    if (runs_since_look_ >= runs_per_look_) look_at_clock();
    if (fetches_all_) show_line(global_step_ ? global_step_->read(run.session()) : runs_, &values);
  }

  void end(belay::Session& session) override {
    if (interactive_) host().status_line("");
    const std::int64_t step = global_step_ ? global_step_->read(session) : runs_;
    const bool shown = runs_since_line_ == 0;  // true: the last line is of this step
    if (shown && (!interactive_ || last_shown_ < 0)) return;
    look_at_clock();
    if (step != last_shown_) {
      values_text_ = loss_ && runs_since_line_ > 0 ? loss_text() : "";
      fields_ = belay::LogFields();
      if (loss_ && runs_since_line_ > 0) add_loss();
    }
    host().info(line(step) + fields_of(step));
  }

  void save_state(belay::StateWriter& state) const override {
    if (pace_.known()) state.put("seconds_per_run", pace_.median());
    average_.save(state);
    if (!global_step_) state.put("runs", runs_);
  }
  void load_state(const belay::StateReader& state) override {
    if (!pace_.known() && state.has("seconds_per_run")) pace_.add_mean(state.number("seconds_per_run"));
    average_.load(state);
    runs_ = state.integer("runs", runs_);
  }

 private:
  static double number(const belay::TensorView& value, const std::string& name) {
    if (value.size() != 1)
      belay::fail(Code::kInvalidArgument,
                  "progress shows scalar numbers, '" + name + "' had the shape " + belay::dims_text(value.dims()));
    return value.number(0);
  }

  // ---- when

  // Reads the clock only as often as lines in time need it.
  void look_at_clock() {
    constexpr double kLookSeconds = 0.05;
    const auto now = host().monotonic();
    const double seconds = Seconds(now - look_time_).count();
    const double per_run = seconds / static_cast<double>(std::max<std::int64_t>(1, runs_since_look_));
    if (!first_look_ && runs_since_look_ > 0) pace_.add(seconds, runs_since_look_);
    first_look_ = false;  // the first look covers the first run, which is no measure of the others
    const double runs = per_run > 0 ? kLookSeconds / per_run : 1e9;
    const auto most = static_cast<double>(2 * runs_per_look_);
    runs_per_look_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(runs, most)));
    look_time_ = now;
    runs_since_look_ = 0;
    constexpr auto kRedraw = std::chrono::milliseconds(100);
    shows_next_ = now - line_time_ >= (interactive_ ? Seconds(kRedraw) : every_);
  }
  // Finds the first step after `step` that has a line, whatever the time is.
  void set_next_mark(std::int64_t step) {
    next_mark_ = INT64_MAX;
    if (max_steps_ <= 0) return;
    const double part = every_percent_ / 100 * static_cast<double>(max_steps_);
    const auto mark =
        static_cast<std::int64_t>(std::ceil((std::floor(static_cast<double>(step) / part + 1e-9) + 1) * part - 1e-9));
    next_mark_ = std::max(step + 1, std::min(mark, std::max(max_steps_, step + 1)));
    if (interactive_) next_mark_ = std::max(max_steps_, step + 1);
  }

  // ---- what

  void show_line(std::int64_t step, const belay::RunValues* values) {
    steps_per_run_ = std::max<std::int64_t>(1, (step - line_step_) / std::max<std::int64_t>(1, runs_since_line_));
    values_text_.clear();
    fields_ = belay::LogFields();
    for (const NamedScalar& s : shown_scalars_) add_value(s.name, number((*values)[s.output], s.name));
    if (examples_.tensor()) examples_per_step_ = examples_.of(*values);
    if (interactive_) {
      host().status_line(live_line(step));
    } else {
      host().info(line(step) + fields_of(step));
    }
    line_step_ = last_shown_ = step;
    line_time_ = look_time_;
    runs_since_line_ = 0;
    shows_next_ = false;
    set_next_mark(step);
  }
  void add_value(const std::string& name, double value) {
    if (name == "loss") {
      values_text_ += loss_text();
      add_loss();
    } else {
      values_text_ += ", " + name + " " + belay::rounded_text(value, 4);
      fields_.add(name, value);
    }
  }
  std::string loss_text() const {
    std::string text = ", loss " + belay::rounded_text(last_loss_, 4);
    if (average_.known()) text += " (average " + belay::rounded_text(average_.value(), 4) + ")";
    return text;
  }
  void add_loss() {
    fields_.add("loss", last_loss_);
    if (average_.known()) fields_.add("loss_average", average_.value());
  }

  // Puts first the parts for which a terminal of 80 columns has room:
  // "[=>        ] 10%, ETA 0:22, 120.1 steps/s, loss 0.41 (average 0.43), accuracy 0.9, step 300/3000, 15373
  // examples/s"
  std::string live_line(std::int64_t step) const {
    const bool known = max_steps_ > 0;
    std::string text = known
                           ? bar_text(static_cast<double>(step) / static_cast<double>(max_steps_)) + " " + percent(step)
                           : "step " + std::to_string(step);
    if (const double left = seconds_left(step); left > 0) text += ", ETA " + clock_text(left);
    const double rate = steps_per_second();
    if (rate > 0) text += ", " + fixed_text(rate, 1) + " steps/s";
    text += values_text_;
    if (known) text += ", step " + std::to_string(step) + "/" + std::to_string(max_steps_);
    return text + examples_text(rate);
  }
  std::string percent(std::int64_t step) const {
    return std::to_string(std::min<std::int64_t>(100, step * 100 / max_steps_)) + "%";
  }
  std::string examples_text(double rate) const {
    if (!(rate > 0) || examples_per_step_ <= 0) return "";
    return ", " + fixed_text(rate * static_cast<double>(examples_per_step_), 0) + " examples/s";
  }
  // Returns "step 300/3000 (10%), loss 0.41 (average 0.43), accuracy 0.9, 120.1 steps/s, 15373 examples/s, ETA 0:22".
  std::string line(std::int64_t step) const {
    std::string text = "step " + std::to_string(step);
    if (max_steps_ > 0) text += "/" + std::to_string(max_steps_) + " (" + percent(step) + ")";
    text += values_text_;
    if (const double rate = steps_per_second(); rate > 0)
      text += ", " + fixed_text(rate, 1) + " steps/s" + examples_text(rate);
    if (const double left = seconds_left(step); left > 0) text += ", ETA " + clock_text(left);
    return text;
  }
  std::string fields_of(std::int64_t step) const {
    belay::LogFields fields = fields_;
    fields.add("step", step);
    if (max_steps_ > 0) fields.add("max_steps", max_steps_);
    if (const double rate = steps_per_second(); rate > 0) {
      fields.add("steps_per_sec", rate);
      if (examples_per_step_ > 0) fields.add("examples_per_sec", rate * static_cast<double>(examples_per_step_));
    }
    if (const double left = seconds_left(step); left > 0) fields.add("eta_secs", left);
    return fields.text();
  }
  double steps_per_second() const {
    const double seconds = pace_.known() ? pace_.median() : 0;
    return seconds > 0 ? static_cast<double>(steps_per_run_) / seconds : 0;
  }
  // Returns 0 if the time is not known, or if no step is left.
  double seconds_left(std::int64_t step) const {
    if (step >= max_steps_ || !pace_.known()) return 0;
    return static_cast<double>(max_steps_ - step) / static_cast<double>(steps_per_run_) * pace_.seconds_per_run();
  }

  std::vector<std::string> names_;
  const std::int64_t max_steps_;
  const double every_percent_;
  const Seconds every_;
  std::vector<NamedScalar> shown_scalars_;
  Output loss_;  // one of the scalars; each run fetches it for its average; empty: it is not shown
  ExamplesPerStep examples_;
  std::optional<belay::GlobalStep> global_step_;
  bool interactive_ = false;

  Pace pace_;
  RunningAverage average_;
  double last_loss_ = 0;
  std::int64_t runs_ = 0;  // counts steps if the graph has no global step
  std::int64_t steps_per_run_ = 1;
  std::int64_t examples_per_step_ = 0;  // 0: not known

  std::chrono::nanoseconds look_time_{}, line_time_{};
  std::int64_t runs_since_look_ = 0, runs_per_look_ = 1;
  bool first_look_ = true;
  bool shows_next_ = true;    // by the clock
  bool fetches_all_ = false;  // true: the current run fetches all
  std::int64_t line_step_ = 0, last_shown_ = -1, next_mark_ = 0;
  std::int64_t runs_since_line_ = 0;
  std::string values_text_;  // the values of the last line
  belay::LogFields fields_;
};

}  // namespace

BELAY_MODULE("1.0.0", Progress)
