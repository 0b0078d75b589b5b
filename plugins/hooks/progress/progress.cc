// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace {

using belay::Code;
using belay::DType;
using belay::Output;
using Seconds = std::chrono::duration<double>;

// How long the last runs took, without what happens now and then: the median, of means over short windows, so that the
// waits of an input that comes in bursts count.
class RunTimes {
 public:
  void add(double seconds) noexcept {
    window_seconds_ += seconds;
    ++window_runs_;
    if (window_seconds_ < kWindowSeconds) return;
    add_mean(window_seconds_ / static_cast<double>(window_runs_));
    window_seconds_ = 0;
    window_runs_ = 0;
  }
  void add_mean(double seconds) noexcept {
    seconds_[n_ % seconds_.size()] = seconds;
    ++n_;
  }
  bool empty() const noexcept { return n_ == 0; }
  double median() const noexcept {
    std::array<double, 64> sorted = seconds_;
    const std::size_t n = std::min(n_, sorted.size());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(n));
    return *middle;
  }

 private:
  static constexpr double kWindowSeconds = 0.05;
  std::array<double, 64> seconds_{};
  std::size_t n_ = 0;
  double window_seconds_ = 0;
  int window_runs_ = 0;
};

std::string one_decimal(double v) {
  char text[400];  // of the largest double
  return std::string(text, std::to_chars(text, text + sizeof(text), v, std::chars_format::fixed, 1).ptr);
}
// "0:42", "1:02:03", "2d 03:04:05"
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

constexpr belay::Str kLoss[] = {"loss"};

class Progress final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors{kLoss};
    std::int64_t max_steps = 0;
  };
  static constexpr auto about = belay::about(
      "progress", "Shows how far the run is: a live line on a terminal, now and then a log line elsewhere",
      belay::option("tensors", &Options::tensors, "scalars to show; the default one only where the graph has it")
          .watching(),
      belay::option("max_steps", &Options::max_steps, "the step at which the run will end; 0: not known")
          .min(0)
          .watching());

  explicit Progress(const Options& o) : max_steps_(o.max_steps), given_(o.tensors.begin() != kLoss) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    tensors_.clear();
    for (const std::string& name : names_) {
      const Output output = given_ ? graph.find(name) : graph.find_if_exists(name);
      if (!output) continue;
      if (output.is_operation() || output.rank() > 0 || output.dtype() == DType::kString)
        belay::fail(Code::kInvalidArgument, "progress shows scalar numbers, '" + name + "' is none");
      tensors_.push_back({name, graph.fetch(output)});
    }
    if (graph.global_step_if_exists()) global_step_.emplace(graph);
  }

  void after_create_session(belay::Session& session) override {
    interactive_ = host().interactive();
    start_step_ = line_step_ = global_step_ ? global_step_->read(session) : runs_;
    start_ = line_time_ = last_run_end_ = host().monotonic();
    runs_ = start_step_;
    runs_since_line_ = runs_in_session_ = 0;
    saving_ = Seconds(0);
    save_start_.reset();
    shown_ = false;
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    note_save();
    belay::RunArgs args;
    due_ = line_is_due(last_run_end_ + last_run_time_);  // as if this run took as long as the last
    if (due_)
      for (const Shown& t : tensors_) args.fetch(t.output);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto now = host().monotonic();
    if (runs_in_session_ > 0)
      times_.add(Seconds(now - last_run_end_).count());  // the first is no measure of the others
    last_run_time_ = now - last_run_end_;
    last_run_end_ = now;
    values_text_.clear();
    const bool show_line = due_ && line_is_due(now);
    ++runs_, ++runs_since_line_, ++runs_in_session_;
    if (!show_line) return;
    const std::int64_t step = global_step_ ? global_step_->read(run.session()) : runs_;
    steps_per_run_ = std::max<std::int64_t>(1, (step - line_step_) / runs_since_line_);
    for (const Shown& t : tensors_) values_text_ += ", " + t.name + " " + value_text(values[t.output], t.name);
    show(line(step));
    line_step_ = step;
    line_time_ = now;
    runs_since_line_ = 0;
    shown_ = true;
  }

  // Saving takes time that no run shows: until after_save, or where the host writes beside the runs, until the next
  // one.
  void before_save(belay::Session&, std::int64_t) override { save_start_ = host().monotonic(); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    note_save();
    return false;
  }

  void end(belay::Session& session) override {
    if (interactive_) host().status_line("");
    const std::int64_t step = global_step_ ? global_step_->read(session) : runs_;
    const double seconds = Seconds(host().monotonic() - start_).count();
    std::string text = "ended at " + step_text(step) + " after " + one_decimal(earlier_seconds_ + seconds) + " s";
    if (seconds > 0) text += ", " + one_decimal(static_cast<double>(step - start_step_) / seconds) + " steps/s";
    host().info(text + values_text_);
  }

  void save_state(belay::StateWriter& state) const override {
    state.put("seconds", earlier_seconds_ + Seconds(host().monotonic() - start_).count());
    if (!times_.empty()) state.put("seconds_per_run", times_.median());
    if (!global_step_) state.put("runs", runs_);
  }
  void load_state(const belay::StateReader& state) override {
    earlier_seconds_ = state.number("seconds");
    if (times_.empty() && state.has("seconds_per_run")) times_.add_mean(state.number("seconds_per_run"));
    runs_ = state.integer("runs", runs_);
  }

 private:
  void note_save() {
    if (!save_start_) return;
    saving_ += host().monotonic() - *save_start_;
    save_start_.reset();
  }

  struct Shown {
    std::string name;
    Output output;
  };

  static std::string value_text(const belay::TensorView& value, const std::string& name) {
    if (value.size() != 1)
      belay::fail(Code::kInvalidArgument,
                  "progress shows scalar numbers, '" + name + "' had the shape " + belay::dims_text(value.dims()));
    return belay::rounded_text(value.number(0), 4);
  }

  // At the end of a run, before it is counted.
  bool line_is_due(std::chrono::nanoseconds now) const noexcept {
    if (!shown_) return true;
    const std::int64_t step = line_step_ + (runs_since_line_ + 1) * steps_per_run_;
    if (max_steps_ > 0 && step >= max_steps_) return true;  // probably the last run: its values end the log
    if (interactive_) return now - line_time_ >= std::chrono::milliseconds(100);
    return now - line_time_ >= std::chrono::seconds(10) && (step - line_step_) * 100 >= max_steps_;
  }

  std::string step_text(std::int64_t step) const {
    std::string text = "step " + std::to_string(step);
    if (max_steps_ > 0) text += "/" + std::to_string(max_steps_);
    return text;
  }
  std::string line(std::int64_t step) const {
    std::string text = step_text(step);
    if (max_steps_ > 0) text += " (" + std::to_string(std::min<std::int64_t>(100, step * 100 / max_steps_)) + "%)";
    const double seconds_per_run = times_.empty() ? 0 : times_.median();
    if (seconds_per_run > 0)
      text += ", " + one_decimal(static_cast<double>(steps_per_run_) / seconds_per_run) + " steps/s";
    if (seconds_per_run > 0 && step < max_steps_) {
      const double runs_left = static_cast<double>(max_steps_ - step) / static_cast<double>(steps_per_run_);
      const double saving_per_run = saving_.count() / static_cast<double>(runs_in_session_);
      text += ", ETA " + clock_text(runs_left * (seconds_per_run + saving_per_run));
    }
    return text + values_text_;
  }
  void show(const std::string& text) const {
    if (interactive_) {
      host().status_line(text);
    } else {
      host().info(text);
    }
  }

  std::vector<std::string> names_;
  const std::int64_t max_steps_;
  const bool given_;  // tensors: a name that is not in the graph is a mistake
  std::vector<Shown> tensors_;
  std::optional<belay::GlobalStep> global_step_;
  bool interactive_ = false;

  RunTimes times_;
  std::chrono::nanoseconds start_{}, last_run_end_{}, last_run_time_{};
  std::optional<std::chrono::nanoseconds> save_start_;  // of a save whose time is not counted yet
  Seconds saving_{0};
  double earlier_seconds_ = 0;  // of the attempts that this one goes on from
  std::int64_t start_step_ = 0;
  std::int64_t runs_ = 0;  // counts steps where the graph has no global step
  std::int64_t runs_in_session_ = 0;
  std::int64_t steps_per_run_ = 1;

  bool due_ = false;
  bool shown_ = false;  // a line, in this session
  std::chrono::nanoseconds line_time_{};
  std::int64_t line_step_ = 0;
  std::int64_t runs_since_line_ = 0;
  std::string values_text_;  // of the last run, if it was shown
};

}  // namespace

BELAY_MODULE("1.0.0", Progress)
